/** Topics now: the largest, and what moved. */

import assert from "node:assert/strict";
import test from "node:test";
import { mostRising, topicsNow } from "../src/data/moved.js";

const shares = Array.from({ length: 30 }, (_, k) => (30 - k) / 465);
const numbers = (rows) => rows.map(({ topic }) => topic);

test("the largest topics are shown, however little they moved", () => {
  const before = shares.map((share, k) => (k > 20 ? share / 3 : share));
  const found = topicsNow({ shares, before }, 12);
  assert.equal(found.length, 12);
  assert.deepEqual(numbers(found).slice(0, 9), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(numbers(found).slice(9), [21, 22, 23]);
  assert.deepEqual(numbers(topicsNow({ shares, before })), shares.map((_, k) => k));
});

test("what rises is what grew most", () => {
  const before = [0.5, 0.02, 0.48];
  assert.equal(mostRising({ shares: [0.41, 0.05, 0.54], before }).topic, 2);
  assert.equal(mostRising({ shares: before, before }), null);
  assert.deepEqual(topicsNow({ shares: null, before: null }, 12), []);
});
