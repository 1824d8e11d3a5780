/** Mark-up taken out of texts as Python does it (`opelda.corpus.text`), by Python's own patterns. */

/**
 * @param {string} text
 * @param {{ampersand: string, reference: string, entities: Object, removed: string}} markup
 * @returns {{text: string, places: number[]}} the text, and where each of its letters was before
 */
export function withoutMarkup(text, { ampersand, reference, entities, removed }) {
  let found = { text, places: Array.from({ length: text.length + 1 }, (_, i) => i) };
  found = replaced(found, ampersand, () => "&");
  found = replaced(found, reference, (one) => character(one, entities) ?? one);
  return replaced(found, removed, () => " ");
}

function replaced(given, pattern, by) {
  const places = [];
  let text = "";
  let last = 0;
  const keep = (end) => {
    for (let i = last; i < end; i++) places.push(given.places[i]);
    text += given.text.slice(last, end);
  };
  for (const { 0: match, index } of given.text.matchAll(new RegExp(pattern, "gu"))) {
    keep(index);
    const put = by(match);
    for (let i = 0; i < put.length; i++) places.push(given.places[index]);
    text += put;
    last = index + match.length;
  }
  keep(given.text.length);
  places.push(given.places.at(-1));
  return { text, places };
}

/** What a reference stands for; a space for what is no character, undefined for no name. */
function character(reference, entities) {
  const [, escaped, hexadecimal, decimal] =
    /^(?:\\u(.+)|&#[xX](.+);|&#([0-9]+);)$/u.exec(reference) ?? [];
  const digits = escaped ?? hexadecimal ?? decimal;
  if (digits === undefined) return entities[reference.slice(1, -1)];
  const point = parseInt(digits, decimal === undefined ? 16 : 10);
  const known = point > 0 && point < 0x110000 && (point < 0xd800 || point >= 0xe000);
  return known ? String.fromCodePoint(point) : " ";
}
