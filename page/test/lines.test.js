/** Topics over time within groups. */

import assert from "node:assert/strict";
import test from "node:test";
import { gapsAfter, meansOf } from "../src/data/lines.js";

/** Documents with a share of topic 0 each. */
function documents(shares, group) {
  const mixture = (i) => (shares[i] ? [{ topic: 0, weight: shares[i] }] : []);
  return { size: shares.length, arrays: { group }, mixture };
}

test("means and intervals are those of the group's documents in the bin", () => {
  const shares = Array.from({ length: 40 }, (_, i) => ((i * 7) % 11) / 20);
  const [groups, bins] = [shares.map((_, i) => i % 2), shares.map((_, i) => (i % 3) - 1)];
  const found = meansOf(documents(shares, groups), bins, 1, 2);
  assert.deepEqual([...found.keys()], [0, 1]);
  for (const [bin, { n, of }] of found) {
    const own = shares.filter((_, i) => groups[i] === 1 && bins[i] === bin);
    const mean = own.reduce((sum, share) => sum + share, 0) / own.length;
    const variance = own.reduce((sum, share) => sum + (share - mean) ** 2, 0) / (own.length - 1);
    const half = 1.96 * Math.sqrt(variance / own.length);
    assert.equal(n, own.length);
    assert.ok(Math.abs(of(0).mean - mean) < 1e-12);
    assert.ok(Math.abs(of(0).high - Math.min(1, mean + half)) < 1e-12);
    assert.ok(Math.abs(of(0).low - Math.max(0, mean - half)) < 1e-12);
    assert.deepEqual(of(1), { mean: 0, low: 0, high: 0 });
  }
});

test("bins of few documents are left out", () => {
  const found = meansOf(documents(Array(9).fill(0.5), Array(9).fill(0)),
    [0, 0, 0, 0, 1, 1, 1, 1, 1], 0, 3);
  assert.deepEqual([...found.keys()], [1]);
});

test("a gap is longer than the usual step", () => {
  const dates = ["2021-01", "2021-02", "2021-03", "2021-05", "2021-06"].map((text) => new Date(text));
  assert.deepEqual(gapsAfter(dates, "month"), [3]);
  assert.deepEqual(gapsAfter(dates.slice(0, 3), "month"), []);
  const days = [1, 2, 5, 6, 7, 12].map((day) => new Date(2021, 0, day));
  assert.deepEqual(gapsAfter(days, "day"), [5]); // weekends are no gaps
});
