/** One word: which topics have it, and how much of it. */

import { bars } from "../charts/bars.js";
import * as store from "../data/store.js";
import { bdi, h } from "../dom.js";
import { perThousand, percent, plural } from "../numbers.js";
import { figure } from "../parts/figure.js";
import { address } from "../router.js";
import { app, label } from "../state.js";
import { missing } from "./missing.js";

const SHOWN = 15;
const LEAST = 0.005; // of the word's uses

export async function word({ id }) {
  const { model } = app;
  const found = await topicsOf(id);
  if (!found.length) {
    return missing(`The word \u201c${id}\u201d is unknown or too rare in every topic.`, "Word");
  }
  const number = model.wordId(id);
  const frequency = number === undefined
    ? found.reduce((sum, { topic, probability }) => sum + model.weight(topic) * probability, 0)
    : model.frequency[number];
  const rows = found.map(({ topic, probability }) => ({
    topic,
    probability,
    share: Math.min(1, (model.weight(topic) * probability) / frequency),
  })).sort((a, b) => b.share - a.share || a.topic - b.topic);
  const some = rows.filter(({ share }) => share >= LEAST);
  return {
    title: id,
    content: [
      h("p", { class: "eyebrow" }, "Word"),
      h("h1", { tabindex: "-1" }, bdi(id)),
      h("p", { class: "lede" }, `${perThousand(frequency)} of 1,000 words. `,
        `${percent(rows[0].share)} of its uses are in topic ${rows[0].topic}.`),
      h("div", { class: "columns" }, usesFigure(some, id), frequencyFigure(rows, id)),
      store.has("documents") && h("p", {}, h("a", { class: "more",
        href: address("documents", null, { q: id }) }, "Documents with this word")),
    ],
  };
}

/** The topics that have the word: all of them where the page holds the table of words. */
async function topicsOf(word) {
  const table = await store.wordTable();
  const column = table?.column(word);
  if (column === undefined) return app.model.topicsOfWord(word);
  const all = Array.from(table.probabilities(column), (probability, topic) => ({
    topic,
    probability,
  }));
  return all.filter(({ probability }) => probability > 0);
}

const lines = (rows, value) => rows.slice(0, SHOWN).map((row) => ({
  label: `${row.topic}  ${label(row.topic)}`,
  value: row[value],
  href: address("topic", row.topic),
}));

const data = (rows) => () => ({
  columns: ["topic", "label", "share of uses", "probability in topic"],
  rows: rows.map((row) => [row.topic, label(row.topic), row.share, row.probability]),
});

function usesFigure(rows, id) {
  return figure({
    title: "Where it is used",
    level: 2,
    name: `word-${id}-uses`,
    note: `Share of its uses that each topic explains, in ${plural(rows.length, "topic")} `
      + `with at least ${percent(LEAST)}.`,
    chart: bars(() => lines(rows, "share"), { name: "Share of uses by topic", most: 1 }),
    data: data(rows),
  });
}

function frequencyFigure(rows, id) {
  const order = [...rows].sort((a, b) => b.probability - a.probability || a.topic - b.topic);
  return figure({
    title: "Where it is frequent",
    level: 2,
    name: `word-${id}-frequency`,
    note: "Uses in 1,000 words of each topic.",
    chart: bars(() => lines(order, "probability"), { name: "Frequency", format: perThousand }),
    data: data(order),
  });
}
