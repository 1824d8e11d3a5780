/** Tables as CSV that no spreadsheet takes for formulas. */

const UNSAFE = /^['=+\-@]|[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/;
const CONTROL = /[\\\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A text as a cell, as `safe_cell` of Python has it: one that could be a formula, or has control
 * characters, comes after an apostrophe, these then as \uXXXX.
 */
export function safeCell(text) {
  if (!UNSAFE.test(text)) return text;
  const spelled = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `'${text.replace(CONTROL, spelled)}`;
}

/** A value as it stands in a line: numbers as they are, nothing for what is missing. */
function field(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "number") return String(value);
  const cell = safeCell(String(value));
  return /[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/**
 * A table as CSV.
 * @param {string[]} columns
 * @param {any[][]} rows
 */
export function csv(columns, rows) {
  return [columns, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}
