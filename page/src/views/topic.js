/** One topic: its name, words, documents, trend and relatives. */

import { bars } from "../charts/bars.js";
import * as store from "../data/store.js";
import { bdi, h } from "../dom.js";
import { count, fixed, percent } from "../numbers.js";
import { card } from "../parts/document.js";
import { figure } from "../parts/figure.js";
import { STABILITY, variesMark } from "../parts/help.js";
import { editableLabel, labelFiles } from "../parts/labels.js";
import { groupFigure, sharesNote, timeFigure } from "../parts/shares.js";
import { table } from "../parts/table.js";
import { lambdaOf, wordsFigure } from "../parts/words.js";
import { address } from "../router.js";
import { app, label, titled } from "../state.js";
import { missing } from "./missing.js";

export function topic({ id, query }) {
  const { model } = app;
  const k = model.topicOf(id);
  if (k === null) return missing(`Topic ${id} does not exist; topic numbers are 0 to ${model.size - 1}.`);
  const files = labelFiles();
  const typical = h("div", { class: "cards" });
  fill(typical, k);
  const shares = [timeFigure(k), groupFigure(k)];
  const aside = [...shares, shares.some(Boolean) && sharesNote(), relatedFigure(k)];
  return {
    title: `Topic ${k}: ${label(k)}`,
    previous: k > 0 ? address("topic", k - 1) : null,
    next: k < model.size - 1 ? address("topic", k + 1) : null,
    content: [
      steps(k),
      editableLabel(k, () => {
        titled(`Topic ${k}: ${label(k)}`);
        files.refresh();
        fill(typical, k);
      }),
      facts(k),
      h(
        "div",
        { class: "columns" },
        wordsFigure({ topic: k, lambda: lambdaOf(query), level: 2 }),
        h("div", { class: "stack" }, aside),
      ),
      groupWords(k),
      h("section", {}, h("h2", {}, "Typical documents"), typical),
      files,
    ],
  };
}

function steps(k) {
  const { size } = app.model;
  const step = (to, text, name) => (to >= 0 && to < size
    ? h("a", { href: address("topic", to), "aria-label": name }, text)
    : h("span", {}, text));
  return h(
    "p",
    { class: "eyebrow steps" },
    step(k - 1, "\u2190", "Topic before"),
    `Topic ${k}`,
    step(k + 1, "\u2192", "Topic after"),
    h("a", { class: "aside", href: address("", null, { topic: k }) }, "on the map"),
  );
}

function facts(k) {
  const { model } = app;
  const { weight, coherence, stability } = model.topics[k];
  const rank = model.bySize.indexOf(k) + 1;
  const fact = (name, value, told) =>
    h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value), h("dd", {}, told));
  return h(
    "dl",
    { class: "tiles small" },
    weight != null && fact("Size", percent(model.share(k)),
      `of all ${model.whole}; number ${count(rank)} of ${count(model.size)} by size`
        + (model.meta.shares ? `. ${percent(weight)} of all words.` : "")),
    coherence != null && fact("Coherence", fixed(coherence), compared(k, "coherence")),
    stability != null && fact("Stability", fixed(stability), [STABILITY, " ", variesMark(k)]),
  );
}

function compared(k, name) {
  const values = app.model.topics.map((topic) => topic[name]).filter((value) => value != null);
  const below = values.filter((value) => value < app.model.topics[k][name]).length;
  return `how often its ten best words occur together; above ${count(below)} of ${count(values.length)} topics`;
}

function relatedFigure(k) {
  const related = app.model.topics[k].related ?? [];
  if (!related.length) return null;
  const rows = related.map(([topic, similarity]) => ({
    label: `${topic}  ${label(topic)}`,
    value: similarity,
    href: address("topic", topic),
  }));
  return figure({
    title: "Related topics",
    name: `topic-${k}-related`,
    about: () => `Topic ${k}, ${label(k)}`,
    note: "Topics with the most similar words.",
    chart: bars(() => rows, { name: "Similarity", most: 1, format: (value) => fixed(value) }),
    data: () => ({
      columns: ["topic", "label", "similarity"],
      rows: related.map(([topic, similarity]) => [topic, label(topic), similarity]),
    }),
  });
}

function groupWords(k) {
  const { column, rows } = app.model.meta.content ?? { rows: [] };
  const own = rows.filter(([topic, , words]) => topic === k && words).map((row) => row.slice(1));
  return own.length > 0 && h("section", {}, h("h2", {}, "Words by ", bdi(column)),
    h("p", { class: "note" }, "What each uses more than the others when it is about this topic."),
    table({ columns: [column, "words"], rows: own }, `Words by ${column}`));
}

async function fill(place, k) {
  const documents = await store.documents();
  if (!documents) {
    const why = app.model.meta.live ? "A live page has no documents." : "This page has no documents.";
    place.replaceChildren(h("p", { class: "note" }, why));
    return;
  }
  const cards = documents.typical(k).map((i) => card(documents, i, { topic: k }));
  const all = h("a", { class: "more", href: address("documents", null, { topic: k }) },
    "All documents with this topic");
  const none = h("p", { class: "note" }, "No document of the page has much of this topic.");
  place.replaceChildren(...(await Promise.all(cards)), cards.length ? all : none);
}
