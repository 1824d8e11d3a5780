/** Axes of time: round ticks, and lines that leave gaps open. */

import assert from "node:assert/strict";
import test from "node:test";
import { areaPath, inWords, linePath, runs, timeTicks } from "../src/charts/time.js";

const DAY = 86_400_000;
const day = (text) => new Date(`${text}Z`);

test("no line is drawn over a gap", () => {
  const items = [0, 1, 2, 7, 9, 10];
  assert.deepEqual(runs(items, [3, 4]), [[0, 1, 2], [7], [9, 10]]);
  assert.deepEqual(runs(items, []), [items]);
  const same = (at) => at;
  assert.equal(linePath(runs(items, [3, 4]), same, same), "M0,0L1,1L2,2M5,7L9,7M9,9L10,10");
  assert.equal(areaPath([[1, 2]], same, () => 0, same), "M1,1L2,2L2,0L1,0Z");
});

test("ticks are round, in order, between the ends, and as few as wanted", () => {
  const first = day("1987-02-23");
  for (const days of [0.01, 0.4, 1, 3, 10, 29, 40, 200, 365, 1500, 9000, 60_000]) {
    for (const n of [2, 5, 9]) {
      const last = new Date(first.getTime() + days * DAY);
      const { ticks, format } = timeTicks([first, last], n);
      assert.ok(ticks.length <= n + 1, `${days} days, ${n}: ${ticks.length}`);
      assert.ok(ticks.every((at) => at >= first && at <= last));
      assert.ok(ticks.slice(1).every((at, i) => at > ticks[i]));
      assert.equal(new Set(ticks.map(format)).size, ticks.length);
      if (days > 60) assert.ok(ticks.every((at) => at.getUTCDate() === 1));
    }
  }
  const years = timeTicks([day("1987-02-23"), day("2004-03-01")], 5);
  assert.deepEqual(years.ticks.map(years.format), ["1990", "1995", "2000"]);
});

test("bins are written in words", () => {
  assert.equal(inWords("1987-03-02", "week"), "week of 2 March 1987");
  assert.equal(inWords("1987-03", "month"), "March 1987");
  assert.equal(inWords("1987-Q2", "quarter"), "1987 Q2");
  assert.equal(inWords("1987", "year"), "1987");
  assert.equal(inWords("spring", "month"), "spring");
});
