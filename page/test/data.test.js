/** Numbers out of the file: containers, ranking, documents. */

import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { numbers, texts, unpack } from "../src/data/decode.js";
import { Documents } from "../src/data/documents.js";
import { Model } from "../src/data/model.js";
import { WordTable } from "../src/data/words.js";
import { topicOfWord } from "../src/parts/coloured.js";

const base64 = (array) => Buffer.from(array.buffer).toString("base64");
const letters = (text) => new TextEncoder().encode(text);
const NAMES = { Uint8Array: "uint8", Uint16Array: "uint16", Uint32Array: "uint32" };

function container(header, arrays) {
  const listed = Object.entries(arrays).map(([name, array]) =>
    [name, NAMES[array.constructor.name] ?? "float32", array.length]);
  const head = JSON.stringify({ ...header, arrays: listed });
  const length = new TextEncoder().encode(head).length;
  const parts = [letters(head + " ".repeat((8 - ((length + 1) % 8)) % 8) + "\n")];
  for (const array of Object.values(arrays)) {
    parts.push(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    parts.push(new Uint8Array((8 - (array.byteLength % 8)) % 8));
  }
  return gzipSync(Buffer.concat(parts)).toString("base64");
}

test("numbers come out as they went in", () => {
  assert.deepEqual([...numbers(base64(Float32Array.of(0.5, -2)), "float32")], [0.5, -2]);
  assert.deepEqual([...numbers(base64(Uint32Array.of(7, 4e9)), "uint32")], [7, 4e9]);
  assert.deepEqual([...numbers(null, "float32")], []);
});

test("a container of arrays of any length is read", async () => {
  const [a, b, c] = [letters("na\u00efve\nx"), Uint16Array.of(1, 2, 3), Float32Array.of(1.5)];
  const { header, arrays: found } = await unpack(container({ n: 3, name: "\u00e9" }, { a, b, c }));
  assert.equal(header.n, 3);
  assert.deepEqual(texts(found.a, "\n"), ["na\u00efve", "x"]);
  assert.deepEqual([...found.b, ...found.c], [1, 2, 3, 1.5]);
});

function model(weights = [0.75, 0.25]) {
  return new Model({
    topics: weights.map((weight) => ({ label: "", weight })),
    words: ["the", "court", "game"],
    frequency: base64(Float32Array.of(0.5, 0.3, 0.2)),
    ranked: {
      offsets: base64(Uint32Array.of(0, 2, 4)),
      words: base64(Uint32Array.of(0, 1, 0, 2)),
      probability: base64(Float32Array.of(0.5, 0.4, 0.5, 0.5)),
    },
  });
}

test("words are ranked by relevance", () => {
  const words = (lambda) => model().rank(0, lambda).map(({ word }) => word);
  assert.deepEqual(words(1), ["the", "court"]);
  assert.deepEqual(words(0), ["court", "the"]);
  // log .5 - (1 - lambda) log .5 = log .4 - (1 - lambda) log .3
  const equal = 1 - Math.log(0.5 / 0.4) / Math.log(0.5 / 0.3);
  assert.deepEqual(words(equal + 0.01), ["the", "court"]);
  assert.deepEqual(words(equal - 0.01), ["court", "the"]);
});

test("a word's uses are shared out by weight", () => {
  const [court] = model().rank(0, 0);
  assert.ok(Math.abs(court.share - 1) < 1e-6); // .75 * .4 / .3
  const [game] = model().rank(1, 0);
  assert.ok(Math.abs(game.share - 0.625) < 1e-6);
  assert.deepEqual(model().topicsOfWord("the").map(({ topic }) => topic), [0, 1]);
  assert.deepEqual(model().topicsOfWord("nowhere"), []);
});

test("topics keep the model's numbers", () => {
  assert.deepEqual(model([0.2, 0.8]).bySize, [1, 0]);
  assert.equal(model().topicOf("1"), 1);
  for (const text of ["2", "-1", "x", "1.5", "", undefined]) {
    assert.equal(model().topicOf(text), null);
  }
});

test("probabilities of words are as fine as their steps", () => {
  const table = new WordTable({
    header: { n_topics: 3, low: Math.log(1e-4), step: 1e-3 },
    arrays: {
      vocabulary: letters("a\0b"),
      offsets: Uint32Array.of(0, 2, 3),
      topic: Uint16Array.of(0, 2, 1),
      value: Uint16Array.of(0, 1000, 5),
      rest: Float32Array.of(1e-6, 1e-20),
    },
  });
  const [first, rest, last] = table.probabilities(0);
  assert.ok(Math.abs(first - 1e-4) < 1e-9 && Math.abs(last / first - Math.E) < 1e-6);
  assert.equal(rest, Math.fround(1e-6));
  assert.equal(table.probabilities(1)[0], 0);
  assert.equal(table.column("b"), 1);
  assert.equal(table.column("constructor"), undefined);
});

function documents() {
  return new Documents({
    header: { n_docs: 3 },
    arrays: {
      names: letters("Red Fox\n\nhen"),
      number: Uint32Array.of(4, 7, 9),
      offsets: Uint32Array.of(0, 2, 3, 4),
      topic: Uint16Array.of(1, 0, 0, 1),
      weight: Uint16Array.of(40000, 20000, 65535, 60000),
      low: Uint16Array.of(30000, 0, 0, 50000),
      high: Uint16Array.of(50000, 30000, 65535, 65535),
      main: Uint16Array.of(60000, 65535, 60000),
      typical_offsets: Uint32Array.of(0, 1, 3),
      typical: Uint32Array.of(1, 2, 0),
      text_of: Uint32Array.of(0, 2),
      texts: letters("The red fox\0A hen, red"),
    },
  });
}

test("documents are found by number, topic and words", () => {
  const all = documents();
  assert.equal(all.name(1), "Document 7"); // numbers count from 0
  assert.equal(all.indexOf(9), 2);
  assert.deepEqual([0, 1, 2].map((i) => all.indexOf(all.number(i))), [0, 1, 2]);
  assert.equal(all.indexOf(3), null);
  assert.equal(all.text(2), "A hen, red");
  assert.equal(all.text(1), null);
  assert.deepEqual(all.find(), [0, 1, 2]);
  assert.deepEqual(all.find({ topic: 1 }), [2, 0]);
  assert.deepEqual(all.find({ query: "RED" }), [0, 2]);
  assert.deepEqual(all.find({ query: "red hen" }), [2]);
  assert.deepEqual(all.find({ topic: 0, query: "fox" }), [0]);
  assert.deepEqual(all.typical(1), [2, 0]);
  assert.deepEqual(all.mixture(1), [{ topic: 0, weight: 1, low: 0, high: 1 }]);
  assert.equal(all.mainProbability(1), 1);
});

test("one document without a name is a document", () => {
  const { arrays } = documents();
  const all = new Documents({ header: { n_docs: 1 }, arrays: { ...arrays, names: letters("") } });
  assert.deepEqual(all.find({ query: "fox" }), [0]);
  assert.deepEqual(all.named("fox", 9), []);
});

test("a word is the topic's that most probably gave it", () => {
  const mixture = [{ topic: 0, weight: 0.9 }, { topic: 1, weight: 0.1 }];
  const { topic, share } = topicOfWord([0.1, 0.2], mixture);
  assert.equal(topic, 0);
  assert.ok(Math.abs(share - 9 / 11) < 1e-12);
  assert.equal(topicOfWord([0.1, 0.9], mixture).topic, 0);
  assert.equal(topicOfWord([0.1, 1], mixture).topic, 1);
  assert.equal(topicOfWord([0, 0], mixture), null);
});

test("documents of counts have their words", () => {
  const { arrays } = documents();
  const counts = { count_offsets: Uint32Array.of(0, 2, 3), count_words: Uint32Array.of(0, 1, 1) };
  const all = new Documents({
    header: { n_docs: 3 },
    arrays: { ...arrays, texts: undefined, ...counts, counts: Float32Array.of(1, 2, 3) },
  });
  assert.equal(all.text(0), null);
  assert.deepEqual([...all.counts(2).columns, ...all.counts(2).counts], [1, 3]);
  assert.equal(all.counts(1), null);
});
