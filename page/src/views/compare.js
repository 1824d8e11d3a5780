/** Two models side by side: matched topics, those without a match, and all similarities. */

import { heat } from "../charts/heat.js";
import { numbers } from "../data/decode.js";
import { bdi, h } from "../dom.js";
import { fixed, percent, plural } from "../numbers.js";
import { figure } from "../parts/figure.js";
import { address, open } from "../router.js";
import { saveTable } from "../save.js";
import { app, label } from "../state.js";
import { missing } from "./missing.js";

const N_WORDS = 12;
const ALIKE = 0.3; // two topics that are less so are no match
const MOST_ALONE = 60;
const AT_A_TIME = 20;

export function compare() {
  const { compare: other, model } = app.model.meta;
  if (!other) {
    return missing("This page is about one model; a report can be written with a second one "
      + "to compare it with.", "Compare");
  }
  const matches = other.matches.filter(([, , value]) => value >= ALIKE);
  matches.sort((a, b) => b[2] - a[2]);
  const ours = new Set(matches.map(([a]) => a));
  const theirs = new Set(matches.map(([, b]) => b));
  const alone = app.model.topics.map((_, k) => k).filter((k) => !ours.has(k));
  const others = other.topics.map((_, k) => k).filter((k) => !theirs.has(k));
  const mean = matches.reduce((sum, [, , value]) => sum + value, 0) / (matches.length || 1);
  return {
    title: "Compare",
    content: [
      h("h1", { tabindex: "-1" }, "Two models"),
      h(
        "p",
        { class: "lede" },
        h("span", { class: "file" }, bdi(model.name)),
        ` with ${plural(app.model.size, "topic")} and `,
        h("span", { class: "file" }, bdi(other.name)),
        ` with ${plural(other.n_topics, "topic")}: ${plural(matches.length, "pair")} matched one `,
        `to one${matches.length ? `, ${fixed(mean)} similar on average` : ""}.`,
      ),
      matched(matches, alone, others, other),
      unmatched(`Only in ${model.name}`, alone, (k) => ourTopic(k)),
      unmatched(`Only in ${other.name}`, others, (k) => theirTopic(other, k)),
      heatFigure(matches, alone, others, other),
    ],
  };
}

function matched(matches, alone, others, other) {
  const list = h("ol", { class: "pairs" });
  const more = h("button", { type: "button", class: "more" }, "Show more");
  let shown = 0;
  const grow = () => {
    list.append(...matches.slice(shown, shown + AT_A_TIME).map((match) => pair(match, other)));
    shown += AT_A_TIME;
    more.hidden = shown >= matches.length;
  };
  more.addEventListener("click", grow);
  grow();
  const data = () => ({
    columns: ["topic", "label", "other topic", "other label", "similarity"],
    rows: [
      ...matches.map(([a, b, value]) => [a, label(a), b, other.topics[b].label, value]),
      ...alone.map((a) => [a, label(a), null, null, null]),
      ...others.map((b) => [null, null, b, other.topics[b].label, null]),
    ],
  });
  return h(
    "section",
    {},
    h(
      "div",
      { class: "heading" },
      h("h2", {}, "Matched topics"),
      h("button", { type: "button", on: { click: () => saveTable("matched-topics", data()) } },
        "CSV"),
    ),
    h("p", { class: "note" }, "The most similar first: cosine of their words\u2019 "
      + `probabilities, ${ALIKE} at least. Words that both have are underlined.`),
    list,
    more,
  );
}

function pair([a, b, value], other) {
  const shared = new Set(other.topics[b].words);
  const own = app.model.topWords(a, N_WORDS, 1);
  const both = new Set(own.filter((word) => shared.has(word)));
  const meter = h("span", { class: "meter", "aria-hidden": "true" }, h("span"));
  meter.firstChild.style.width = `${value * 100}%`;
  return h(
    "li",
    {},
    ourTopic(a, both),
    h("div", { class: "how" }, h("span", { class: "value" }, fixed(value)), meter),
    theirTopic(other, b, both),
  );
}

function ourTopic(k, both = new Set()) {
  const name = h("a", { href: address("topic", k) }, bdi(label(k)));
  return side(k, name, app.model.topics[k].weight, app.model.topWords(k, N_WORDS, 1), both);
}

function theirTopic(other, k, both = new Set()) {
  const { label: text, weight, words } = other.topics[k];
  return side(k, bdi(text), weight, words, both);
}

function side(k, name, weight, words, both) {
  const shown = words.flatMap((word, i) => [
    i ? ", " : "",
    both.has(word) ? h("u", {}, bdi(word)) : bdi(word),
  ]);
  const share = weight == null ? "" : ` \u00b7 ${percent(weight)} of all words`;
  return h(
    "div",
    { class: "side" },
    h("p", { class: "eyebrow" }, `Topic ${k}${share}`),
    h("p", { class: "name" }, name),
    h("p", { class: "few" }, shown),
  );
}

function unmatched(title, topics, draw) {
  if (!topics.length) return null;
  return h(
    "section",
    {},
    h("h2", {}, bdi(title)),
    h("p", { class: "note" }, plural(topics.length, "topic without a match",
      "topics without a match")),
    h("div", { class: "cards" }, topics.slice(0, MOST_ALONE).map((k) =>
      h("div", { class: "card" }, draw(k)))),
  );
}

function heatFigure(matches, alone, others, other) {
  const { columns, values } = other.similarity;
  const cells = numbers(values, "uint8");
  const value = (row, column) => cells[row * columns + column] / 255;
  const rows = [...matches.map(([a]) => a), ...alone];
  const across = [...matches.map(([, b]) => b), ...others];
  return figure({
    title: "All similarities",
    level: 2,
    name: "similarities",
    note: "Rows are topics of this model, columns those of the other, both in the order of their "
      + "matches; the stronger the colour, the more alike. What stands out away from the diagonal "
      + "was split or merged.",
    chart: heat({
      rows,
      columns: across,
      value,
      name: "Similarity of every two topics",
      hint: "Point at a cell to see which topics it is about.",
      told: (a, b) => `Topic ${a}, ${label(a)}, and topic ${b} of the other, `
        + `${other.topics[b].label}: ${fixed(value(a, b))}`,
      onPick: (a) => open("topic", a),
    }),
    data: () => ({
      columns: ["topic", ...across.map((b) => `other ${b}`)],
      rows: rows.map((a) => [a, ...across.map((b) => value(a, b))]),
    }),
  });
}
