/** Circles of a map: inside it, spread over it, none over another, neighbours still neighbours. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { spread } from "../src/charts/places.js";

const BOX = { width: 700, height: 600 };
const EDGE = 12;

/** Numbers between 0 and 1 that only look random. */
function numbers(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

function circles(n, seed, radius) {
  const next = numbers(seed);
  return Array.from({ length: n }, () => ({
    x: 2 * next() - 1,
    y: 0.6 * next() - 0.3,
    radius: radius * (0.3 + next()),
  }));
}

const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

test("circles are inside, and none is over another", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const n = 1 + (seed % 60);
    const found = circles(n, seed, 60 / Math.sqrt(n));
    spread(found, BOX, EDGE);
    for (const [i, a] of found.entries()) {
      assert.ok(a.x >= EDGE + a.radius - 1e-9 && a.x <= BOX.width - EDGE - a.radius + 1e-9);
      assert.ok(a.y >= EDGE + a.radius - 1e-9 && a.y <= BOX.height - EDGE - a.radius + 1e-9);
      for (const b of found.slice(0, i)) assert.ok(apart(a, b) > 0.95 * (a.radius + b.radius));
    }
  }
});

test("small circles stay where they were, spread over the map", () => {
  const before = circles(30, 7, 0.01);
  const after = before.map((each) => ({ ...each }));
  spread(after, BOX, EDGE);
  const range = (name) => [Math.min, Math.max].map((f) => f(...after.map((each) => each[name])));
  const [left, right] = range("x");
  const [top, bottom] = range("y");
  assert.ok(right - left > 0.9 * BOX.width && bottom - top > 0.5 * BOX.height);
  for (const [i, a] of before.entries()) {
    for (const [j, b] of before.entries()) {
      if (a.x < b.x) assert.ok(after[i].x < after[j].x);
      if (a.y < b.y) assert.ok(after[i].y > after[j].y); // up is a smaller y in the page
    }
  }
});

test("circles of one place are told apart", () => {
  const found = Array.from({ length: 5 }, () => ({ x: 0.2, y: 0.1, radius: 20 }));
  spread(found, BOX, EDGE);
  for (const [i, a] of found.entries()) {
    assert.ok(Number.isFinite(a.x) && Number.isFinite(a.y));
    for (const b of found.slice(0, i)) assert.ok(apart(a, b) > 1);
  }
});

test("a corner stays free", () => {
  const corner = { width: 50, height: 125 };
  for (let seed = 1; seed <= 20; seed++) {
    const found = circles(5 + seed, seed, 25);
    spread(found, { width: 358, height: 380 }, EDGE, corner);
    for (const { x, y, radius } of found) {
      assert.ok(x + radius <= 358 - corner.width + 1e-6 || y - radius >= corner.height - 1e-6);
    }
  }
});
