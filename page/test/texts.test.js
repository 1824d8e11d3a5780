/** Texts that leave the page and come into it: cells, commands, addresses, patterns. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { csv, safeCell } from "../src/csv.js";
import { percent } from "../src/numbers.js";
import { dateOf } from "../src/charts/time.js";
import { address, parse } from "../src/router.js";
import { labelCommand, quoted } from "../src/shell.js";
import { fromRust, tokenise } from "../src/tokenise.js";

test("no cell is a formula", () => {
  for (const text of ["=1+1", "+1", "-1", "@x", "'x", "\t=1", "a\rb", "\u202ex"]) {
    assert.match(safeCell(text), /^'[^\t\r\u202e]+$/, JSON.stringify(text));
  }
  assert.equal(safeCell("a = b"), "a = b");
  assert.equal(safeCell("a\tb"), "'a\\u0009b");
});

test("tables are read back as they were", () => {
  const text = csv(["a", "b"], [['x "y", z', -1.5], [null, NaN]]);
  assert.equal(text, 'a,b\r\n"x ""y"", z",-1.5\r\n,\r\n');
});

test("a label can do no harm in a shell", () => {
  const label = "$(rm -rf /) `x` 'y' \"z\" !\n";
  assert.equal(quoted(label), "'$(rm -rf /) `x` '\\''y'\\'' \"z\" !\n'");
  assert.equal(labelCommand("-m.opelda", [[3, "health care"]]),
    "opelda topics ./-m.opelda --label '3=health care'");
  assert.equal(labelCommand("m.opelda", [[3, "law"]]), "opelda topics m.opelda --label 3=law");
});

test("addresses are read as they were written", () => {
  for (const id of ["court", "a/b?c&d", "100%", "\u0440\u0443\u0441", "#/x", "<script>"]) {
    const route = parse(address("word", id, { q: `${id} & =`, none: "" }));
    assert.deepEqual(route, { view: "word", id, query: { q: `${id} & =` } });
  }
  assert.deepEqual(parse(""), { view: "", id: null, query: {} });
  assert.deepEqual(parse("#/topic/17?lambda=0.4"), { view: "topic", id: "17",
    query: { lambda: "0.4" } });
  assert.equal(parse("#/word/%").id, "%");
});

test("patterns of Rust's know Unicode", () => {
  const settings = { kind: "regex", lower: false, ngrams: [1, 1] };
  const words = (text, pattern) => tokenise(text, { ...settings, pattern }).map(({ word }) => word);
  assert.deepEqual(words("\u00e9t\u00e9 a 42", "\\b\\w{3,}\\b"), ["\u00e9t\u00e9"]);
  assert.deepEqual(words("a-b c'd 1", "[\\w'-]+"), ["a-b", "c'd", "1"]);
  assert.throws(() => fromRust("[\\W]"));
  for (const set of ["[a-z--s]", "[a-z&&[^aeiou]]", "[a~~b]", "[[:alpha:]]"]) {
    assert.throws(() => fromRust(set)); // which JavaScript would read in another way
  }
  assert.deepEqual(words("a--b && c", "\\w(?:--\\w)?"), ["a--b", "c"]);
  assert.throws(() => new RegExp(fromRust("(?i)x"), "u"));
});

test("words stand where the text has them", () => {
  const settings = { kind: "default", lower: true, ngrams: [1, 1] };
  const text = "\u0130\u0130x ab \ud83d\ude00 Stra\u00dfe";
  const found = tokenise(text, settings).map(({ start, end }) => text.slice(start, end));
  assert.deepEqual(found, ["\u0130\u0130x", "ab", "Stra\u00dfe"]);
});

test("words stand where the text has them, also between mark-up", () => {
  const { markup } = JSON.parse(readFileSync(new URL("cases.json", import.meta.url), "utf8"));
  const settings = { kind: "default", lower: true, ngrams: [1, 1], markup };
  const text = "<b>\u0130x</b> Caf&eacute;&amp;nbsp;au lait: http://x.org @name \ud83d\ude00 end&eacute;";
  const found = tokenise(text, settings).map(({ start, end }) => text.slice(start, end));
  assert.deepEqual(found, ["\u0130x", "Caf&eacute;", "au", "lait", "end&eacute;"]);
});

test("shares are rounded to what is true", () => {
  assert.deepEqual([1, 0.9999, 0.5, 0.0123, 0.0004, 0.00001, 0, null].map(percent),
    ["100%", "99.9%", "50%", "1.2%", "0.04%", "<0.01%", "0%", "\u2013"]);
});

test("bins are dates", () => {
  const days = ["2007", "2007-04", "2007-04-12", "2007-Q2", "2007-04-12 13:05"].map((bin) =>
    dateOf(bin).toISOString().slice(0, 10));
  assert.deepEqual(days, ["2007-01-01", "2007-04-01", "2007-04-12", "2007-04-01", "2007-04-12"]);
  assert.equal(dateOf("spring"), null);
});
