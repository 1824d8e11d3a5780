/** A topic's words by relevance, with the slider between frequent and distinctive ones. */

import { wordBars } from "../charts/words.js";
import { DEFAULT_LAMBDA } from "../data/model.js";
import { h, unique } from "../dom.js";
import { fixed } from "../numbers.js";
import { note } from "../router.js";
import { app, label } from "../state.js";
import { figure } from "./figure.js";

/** The slider's place: as an address says, else where it was left. */
export function lambdaOf(query) {
  const given = Number(query.lambda);
  if (query.lambda && given >= 0 && given <= 1) app.lambda = given;
  return app.lambda ?? DEFAULT_LAMBDA;
}

function slider(value, onInput) {
  const id = unique("lambda");
  const shown = h("output", { for: id }, fixed(value));
  const input = h("input", { id, type: "range", min: 0, max: 1, step: 0.05, value });
  input.addEventListener("input", () => {
    shown.textContent = fixed(Number(input.value));
    onInput(Number(input.value));
  });
  return h(
    "div",
    { class: "slider" },
    h("label", { for: id }, "Which words ", shown),
    h("div", { class: "ends" }, h("span", {}, "distinctive"), input, h("span", {}, "frequent")),
  );
}

/**
 * The words of a topic.
 * @param {{topic: number, lambda: number, n: number, level: number}} options
 * @returns {HTMLElement} with `show(topic, moving)`
 */
export function wordsFigure({ topic, lambda, n = 30, level = 3 }) {
  let current = topic;
  let value = lambda;
  const rows = () => app.model.rank(current, value, n);
  const chart = wordBars(rows, "Words of the topic");
  const made = figure({
    title: "Words",
    level,
    name: () => `topic-${current}-words`,
    about: () => `Topic ${current}, ${label(current)}`,
    caption: "Wide bars: how often among 1,000 words of the topic; thin ones: among 1,000 of all "
      + "documents. %: how many of the word\u2019s uses are in this topic.",
    note: h(
      "span",
      { class: "keys" },
      h("span", { class: "key inside" }, "in this topic"),
      h("span", { class: "key overall" }, "in all documents"),
      h("span", {}, "% of the word\u2019s uses that are here"),
    ),
    chart,
    data: () => ({
      columns: ["topic", "word", "probability in topic", "probability overall", "share of uses"],
      rows: rows().map((row) => [current, row.word, row.probability, row.frequency, row.share]),
    }),
  });
  const moved = slider(value, (now) => {
    value = now;
    app.lambda = now;
    note({ lambda: now === DEFAULT_LAMBDA ? null : now });
    chart.update(true);
  });
  made.querySelector("figcaption").append(moved);
  made.show = (wanted, moving) => {
    current = wanted;
    chart.update(moving);
  };
  return made;
}
