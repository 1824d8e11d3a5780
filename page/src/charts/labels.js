/** Labels beside circles, as many as there is room for. */

const HEIGHT = 14;
const LONGEST = 34;
const EDGE = 5; // of the map, that no label touches
export const BUTTONS = { width: 50, height: 125 }; // in the map's corner
const MIDDLE = 0.65; // of a circle's radius
const AREA = 10_000; // of the map for each label, so that it stays calm

let measuring = null;

/** How wide a text is in the page's own letters, of so many pixels. */
export function widthOf(text, size = 12, weight = "normal") {
  measuring ??= {
    context: document.createElement("canvas").getContext("2d"),
    family: getComputedStyle(document.body).fontFamily,
  };
  measuring.context.font = `${weight} ${size}px ${measuring.family}`;
  return measuring.context.measureText(text).width;
}

/** A text of at most so many characters. */
export function short(text, longest = LONGEST) {
  const letters = [...text];
  if (letters.length <= longest) return text;
  return `${letters.slice(0, Math.max(1, longest - 1)).join("").trim()}\u2026`;
}

/** As much of a text as is so wide. */
export function fitted(text, width, size) {
  if (widthOf(text, size) <= width) return text;
  let [least, most] = [1, [...text].length];
  while (most - least > 1) {
    const middle = (least + most) >> 1;
    if (widthOf(short(text, middle), size) <= width) least = middle;
    else most = middle;
  }
  return short(text, least);
}

/**
 * Choose places for labels, the first ones first: under, over or beside its circle, where no label
 * is yet and few circles' middles are. The first `always` get one in any case.
 * @param {{k: number, x: number, y: number, radius: number, text: string}[]} wanted
 * @returns {{k: number, left: number, base: number, shown: string}[]}
 */
export function placed(wanted, { width, height }, always) {
  const most = Math.max(14, (width * height) / AREA);
  const boxes = [{ left: width - BUTTONS.width, top: 0, right: width, bottom: BUTTONS.height }];
  const found = [];
  for (const [i, spot] of wanted.entries()) {
    const { x, y, radius } = spot;
    if (x < 0 || y < 0 || x > width || y > height) continue;
    if (found.length >= most) break;
    const shown = short(spot.text);
    const wide = widthOf(shown, 12, i < always ? "bold" : "normal") + 4;
    const places = [
      [x - wide / 2, y + radius + 2],
      [x - wide / 2, y - radius - HEIGHT - 2],
      [x + radius + 3, y - HEIGHT / 2],
      [x - radius - wide - 3, y - HEIGHT / 2],
    ].map(([left, top]) => ({ left, top, right: left + wide, bottom: top + HEIGHT, k: spot.k }));
    const inside = places.map((box) => kept(box, width, height));
    const free = inside.filter((box) => !boxes.some((other) => overlap(box, other)));
    const clear = (part) => free.find((each) => !wanted.some((other) => covers(each, other, part)));
    const box = clear(1) ?? clear(MIDDLE) ?? (i < always ? inside[0] : null);
    if (!box) continue;
    boxes.push(box);
    found.push({ k: spot.k, left: box.left + 2, base: box.bottom - 3, shown });
  }
  return found;
}

/** A box moved into the map where it stands out to the side. */
function kept(box, width, height) {
  const aside = Math.max(0, EDGE - box.left) - Math.max(0, box.right + EDGE - width);
  const down = Math.max(0, EDGE - box.top) - Math.max(0, box.bottom + EDGE - height);
  return {
    left: box.left + aside,
    right: box.right + aside,
    top: box.top + down,
    bottom: box.bottom + down,
  };
}

const overlap = (a, b) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Whether a label would hide a part of a circle around its middle, where its number is. */
function covers(box, { x, y, radius }, part) {
  const size = Math.max(5, radius * part);
  return radius > 6 && box.left < x + size && box.right > x - size
    && box.top < y + size && box.bottom > y - size;
}
