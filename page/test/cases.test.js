/** The script beside numbers that Python made (tests/report/page_cases.py); CASES names others. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { documentOf, infer } from "../src/infer.js";
import { sum } from "../src/likelihood.js";
import { tokenise } from "../src/tokenise.js";

const path = process.env.CASES ?? new URL("cases.json", import.meta.url);
const { mixtures, texts, markup } = JSON.parse(readFileSync(path, "utf8"));

const near = (found, wanted, name) =>
  assert.ok(Math.abs(found - wanted) < 1e-3, `${name}: ${found}, not ${wanted}`);

for (const { settings, topics, counts, theta, loss } of mixtures) {
  const n_topics = topics.length;
  test(`${settings.method} with ${n_topics} topics, alpha ${settings.alpha[0].toFixed(2)}`, () => {
    const table = { probabilities: (j) => Float64Array.from(topics, (topic) => topic[j]) };
    counts.forEach((row, i) => {
      const columns = row.flatMap((n, j) => (n ? [j] : []));
      const document = documentOf({ columns, counts: columns.map((j) => row[j]) }, table);
      const found = infer(document, settings);
      near(found.loss, loss[i], "loss");
      near(sum(found.theta), 1, "sum");
      // there may be many best mixtures: that one is best is what its loss says
      if (settings.method === "em") theta[i].forEach((share, k) => near(found.theta[k], share, k));
    });
  });
}

for (const { settings, texts: each, counts } of texts) {
  const { kind, ngrams } = settings;
  test(`words: ${kind}, n-grams ${ngrams}, mark-up ${settings.markup ? "out" : "in"}`, () => {
    const how = { ...settings, markup: settings.markup ? markup : null };
    each.forEach((text, i) => {
      const found = {};
      for (const { word } of tokenise(text, how)) found[word] = (found[word] ?? 0) + 1;
      assert.deepEqual(sorted(found), sorted(counts[i]));
    });
  });
}

function sorted(counts) {
  return Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1));
}
