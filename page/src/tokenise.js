/** Texts cut into words as Python cuts them (`opelda.corpus.text`), with their places. */

import { withoutMarkup } from "./markup.js";

// Rust's \w: letters, marks, digits, connectors, joiners
const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d";
const LETTER = /\p{L}/u;
// white space as str.split has it, which is not quite JavaScript's
const SPACE =
  "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

// scripts without spaces between words; the prolonged sound marks are of no script
const SCRIPTS = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"];
const UNSPACED = new RegExp(
  `[${SCRIPTS.map((name) => `\\p{Script=${name}}`).join("")}\\u30fc\\uff70]`, "u");

const KINDS = {
  default: { expression: () => new RegExp(`[${WORD}]{2,}`, "gu"), keep: (w) => LETTER.test(w) },
  // a run as long as it can be, so that one letter alone is none
  count_vectorizer: { expression: () => /[\p{L}\p{N}_]{2,}/gu, keep: () => true },
  whitespace: { expression: () => new RegExp(`[^${SPACE}]+`, "gu"), keep: () => true },
  regex: { expression: (pattern) => new RegExp(fromRust(pattern), "gu"), keep: (w) => w !== "" },
};

// Rust's classes know Unicode, JavaScript's do not: [outside brackets, inside]
const CLASSES = {
  w: [`[${WORD}]`, WORD],
  W: [`[^${WORD}]`, null],
  d: ["\\p{Nd}", "\\p{Nd}"],
  D: ["\\P{Nd}", "\\P{Nd}"],
  b: [`(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`, null],
  B: [`(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`, null],
};

const SETS = new Set(["[", "--", "&&", "~~"]); // Rust's within brackets

/** A regular expression of Rust's in JavaScript's spelling; throws where there is none. */
export function fromRust(pattern) {
  let inside = false;
  const spelled = pattern.replace(/^\(\?u\)/, "").replace(/\\.|[[\]]|--|&&|~~/gsu, (part) => {
    if (inside && SETS.has(part)) throw new SyntaxError(`${part} within brackets`);
    if (part === "[") inside = true;
    else if (part === "]") inside = false;
    else if (CLASSES[part[1]]) {
      const known = CLASSES[part[1]][inside ? 1 : 0];
      if (known === null) throw new SyntaxError(`${part} within brackets`);
      return known;
    }
    return part;
  });
  return spelled;
}

/**
 * Cut a text into words.
 * @param {string} text
 * @param {{kind: string, pattern: ?string, lower: boolean, ngrams: number[], stop_words: string[],
 *   phrases: ?string[], pairs: boolean, markup: ?Object}} settings
 * @returns {{word: string, start: number, end: number}[]} where each word stands in the text;
 *   pairs come after the words that they are made of
 */
export function tokenise(text, settings) {
  if (settings.markup) {
    const cleaned = withoutMarkup(text, settings.markup);
    const place = (i) => cleaned.places[i];
    return tokenise(cleaned.text, { ...settings, markup: null }).map(({ word, start, end }) => ({
      word,
      start: place(start),
      end: place(end),
    }));
  }
  const { expression, keep } = KINDS[settings.kind];
  const lowered = settings.lower ? text.toLowerCase() : text;
  const place = lowered.length === text.length ? (i) => i : places(text);
  const singles = [];
  const parts = settings.pairs && settings.kind === "default" ? inPairs : (run) => [[0, run.length]];
  for (const match of lowered.matchAll(expression(settings.pattern))) {
    for (const [begin, end] of parts(match[0])) {
      const word = match[0].slice(begin, end);
      if (!keep(word) || (parts === inPairs && [...word].length < 2)) continue;
      singles.push({ word, start: place(match.index + begin), end: place(match.index + end) });
    }
  }
  const [least, most] = settings.ngrams ?? [1, 1];
  const left = new Set(settings.stop_words);
  const kept = joined(singles.filter(({ word }) => !left.has(word)), settings.phrases ?? []);
  if (most === 1) return kept;
  const pairs = kept.slice(1).map((second, i) => ({
    word: `${kept[i].word} ${second.word}`,
    start: kept[i].start,
    end: second.end,
  }));
  return least === 1 ? [...kept, ...pairs] : pairs;
}

/** Words with phrases in the place of those that they are made of, from the left. */
function joined(words, phrases) {
  const known = new Set(phrases);
  if (!known.size) return words;
  const found = [];
  for (let i = 0; i < words.length; i++) {
    const word = i + 1 < words.length ? `${words[i].word} ${words[i + 1].word}` : null;
    if (known.has(word)) found.push({ word, start: words[i].start, end: words[++i].end });
    else found.push(words[i]);
  }
  return found;
}

/** Where a run has its words: pairs of characters of unspaced scripts, and what is between them. */
function inPairs(run) {
  const found = [];
  let letters = []; // where those of an unspaced part begin
  let part = 0;
  let unspaced = false;
  const close = (end) => {
    letters.slice(2).forEach((after, i) => found.push([letters[i], after]));
    if (part < end) found.push([letters.length > 1 ? letters.at(-2) : part, end]);
  };
  let at = 0;
  for (const character of run) {
    if (LETTER.test(character)) {
      if (UNSPACED.test(character) !== unspaced) {
        close(at);
        [part, unspaced, letters] = [at, !unspaced, []];
      }
      if (unspaced) letters.push(at);
    }
    at += character.length;
  }
  close(at);
  return found;
}

/** From places in the lower-cased text to those in the text: some letters become two. */
function places(text) {
  const found = [];
  let at = 0;
  for (const character of text) {
    for (let i = 0; i < character.toLowerCase().length; i++) found.push(at);
    at += character.length;
  }
  found.push(at);
  return (i) => found[i];
}

/** Count the words that a table has columns for; the others are counted together. */
export function count(tokens, table) {
  const counts = new Map();
  let unknown = 0;
  for (const { word } of tokens) {
    const column = table.column(word);
    if (column === undefined) unknown += 1;
    else counts.set(column, (counts.get(column) ?? 0) + 1);
  }
  const columns = [...counts.keys()].sort((a, b) => a - b);
  return { columns, counts: columns.map((column) => counts.get(column)), unknown };
}
