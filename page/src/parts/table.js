/** Tables of plain values. */

import { bdi, h } from "../dom.js";
import { fixed } from "../numbers.js";

const MOST_ROWS = 200; // of the table behind a chart; its file has all

/** A value as a cell shows it. */
function shown(value) {
  if (typeof value !== "number") return bdi(value ?? "\u2013");
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 0.001 ? fixed(value, 4) : value.toExponential(2);
}

/**
 * A table that can be read and scrolled.
 * @param {{columns: string[], rows: any[][]}} data
 * @param {string} name what it is a table of
 */
export function table({ columns, rows }, name) {
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const head = columns.map((column, i) =>
    h("th", { scope: "col", class: numeric[i] && "number" }, column));
  const body = rows.slice(0, MOST_ROWS).map((row) =>
    h("tr", {}, row.map((value, i) => h("td", { class: numeric[i] && "number" }, shown(value)))));
  const more = rows.length - MOST_ROWS;
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)),
    more > 0 && h("p", { class: "note" }, `${more.toLocaleString("en")} more rows are in the CSV.`),
  );
}
