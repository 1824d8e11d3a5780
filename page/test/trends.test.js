/** What changed: trends, differences of two bins, and what is distinctive of a group. */

import assert from "node:assert/strict";
import test from "node:test";
import { differences, distinctive, trends } from "../src/data/trends.js";

/** Facts of bins: a row of shares each, with intervals of so much to both sides. */
function facts(shares, half, n = 100) {
  const moved = (by) => shares.map((row) => row.map((share) => share + by));
  return { shares, low: moved(-half), high: moved(half), n_docs: shares.map(() => n) };
}

/** Shares over time of a topic for each list, and its first and last third. */
function times(lists, half = 0.01) {
  const shares = lists[0].map((_, i) => lists.map((list) => list[i]));
  const n = Math.max(1, Math.floor(shares.length / 3));
  const mean = (rows) => rows[0].map((_, k) => rows.reduce((s, row) => s + row[k], 0) / rows.length);
  const ends = facts([mean(shares.slice(0, n)), mean(shares.slice(-n))], half);
  return { ...facts(shares, half), drawn: shares.map((_, i) => i), ends };
}

test("topics rise, fall, have an event or none of these", () => {
  const found = trends(times([
    [0.1, 0.1, 0.15, 0.2, 0.25, 0.25],
    [0.3, 0.28, 0.2, 0.15, 0.1, 0.1],
    [0.05, 0.05, 0.4, 0.05, 0.05, 0.05],
    [0.2, 0.21, 0.2, 0.205, 0.2, 0.21],
  ]));
  const kinds = Object.fromEntries(found.map(({ topic, kind }) => [topic, kind]));
  assert.deepEqual(kinds, { 0: "rising", 1: "falling", 2: "event", 3: "steady" });
  assert.equal(found[0].topic, 2); // moved most
  assert.equal(found[0].peak, 2);
});

test("a trend that is steep at the end is no event", () => {
  const [{ kind }] = trends(times([[0.02, 0.02, 0.02, 0.03, 0.1, 0.4], [0.9, 0.9, 0.9, 0.9, 0.9, 0.6]]));
  assert.equal(kind, "rising");
});

test("what the interval explains is no change", () => {
  const lists = [[0.1, 0.1, 0.2, 0.2], [0.2, 0.4, 0.2, 0.2]];
  assert.deepEqual(trends(times(lists, 0.2)).map(({ kind }) => kind), ["steady", "steady"]);
  const two = facts([[0.1, 0.5], [0.14, 0.3]], 0.03);
  const rows = differences(two, 0, 1);
  assert.deepEqual(rows.map(({ topic, isSure }) => [topic, isSure]), [[1, true], [0, false]]);
  assert.deepEqual(differences(two, 1, 1).map(({ isSure }) => isSure), [false, false]);
  const few = { ...two, n_docs: [100, 4] };
  assert.deepEqual(differences(few, 0, 1).map(({ isSure }) => isSure), [false, false]);
});

test("a group's topics are those of which it has surely more than all", () => {
  const groups = facts([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.1, 0.35, 0.55]], 0.05);
  const all = [0.8, 0.95, 1.25].map((sum) => sum / 3);
  assert.deepEqual(distinctive(groups, 0, all).map(({ topic }) => topic), [0]);
  assert.deepEqual(distinctive(groups, 1, all).map(({ topic }) => topic), [2]);
  const [{ share, usual }] = distinctive(groups, 0, all);
  assert.ok(usual === all[0] && share === 0.6);
});
