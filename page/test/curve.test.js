/** Curves: where a line is drawn. */

import assert from "node:assert/strict";
import test from "node:test";
import { runs } from "../src/charts/curve.js";

const at = (...days) => days.map((day) => ({ x: new Date(Date.UTC(1987, 0, day)), y: 1 }));
const lengths = (points) => runs(points).map((run) => run.length);

test("no line is drawn over months without documents", () => {
  assert.deepEqual(lengths(at(1, 2, 3, 6, 7, 90, 91, 200)), [5, 2, 1]);
  assert.deepEqual(runs(at(1, 2, 90, 91)).flat(), at(1, 2, 90, 91));
});

test("steps that are alike are no gaps, however long", () => {
  assert.deepEqual(lengths(at(1, 32, 60, 91)), [4]);
  assert.deepEqual(lengths(at(1, 300)), [2]);
  assert.deepEqual([lengths(at(1)), lengths([])], [[1], []]);
});
