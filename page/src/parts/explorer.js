/** The topic map with the words of the selected topic beside it. */

import { topicMap } from "../charts/map.js";
import { bdi, h } from "../dom.js";
import { count, percent } from "../numbers.js";
import { address, note, open } from "../router.js";
import { app, label } from "../state.js";
import { figure } from "./figure.js";
import { variesMark } from "./help.js";
import { lambdaOf, wordsFigure } from "./words.js";

const N_WORDS = 20;

/** @returns {HTMLElement} */
export function explorer(query) {
  const { model } = app;
  let selected = model.topicOf(query.topic) ?? model.bySize[0];
  const heading = h("div", { class: "selected-topic", "aria-live": "polite" });
  const words = wordsFigure({ topic: selected, lambda: lambdaOf(query), n: N_WORDS });
  const show = (topic, moving) => {
    heading.replaceChildren(...headed(topic));
    words.show(topic, moving);
  };
  const map = topicMap({
    model,
    label,
    selected,
    onSelect: (topic) => {
      selected = topic;
      map.choose(topic);
      note({ topic });
      show(topic, false);
    },
    onHover: (topic) => show(topic ?? selected, false),
    onOpen: (topic) => open("topic", topic),
  });
  heading.replaceChildren(...headed(selected));
  return h(
    "div",
    { class: "explorer" },
    figure({
      title: "Map of topics",
      level: 2,
      name: "topic-map",
      caption: `Near topics have similar words. Size: share of all ${model.whole}.`,
      note: `Near topics have similar words. Size: share of all ${model.whole}. Choose one to see `
        + "its words.",
      chart: map,
      data: topicData,
    }),
    h("section", { class: "panel", "aria-label": "Selected topic" }, heading, words),
  );
}

function headed(topic) {
  const { model } = app;
  const rank = model.bySize.indexOf(topic) + 1;
  return [
    h("p", { class: "eyebrow" }, `Topic ${topic}`),
    h("p", { class: "name" }, h("a", { href: address("topic", topic) }, bdi(label(topic)))),
    h(
      "p",
      { class: "note" },
      `${percent(model.share(topic))} of all ${model.whole}, number ${count(rank)} of ${count(model.size)} `,
      variesMark(topic),
    ),
  ];
}

/** All topics as a table. */
export function topicData() {
  const { model } = app;
  return {
    columns: ["topic", "label", `share of ${model.whole}`, "weight", "coherence", "stability", "x", "y", "words"],
    rows: model.topics.map((topic, k) => [
      k,
      label(k),
      model.share(k),
      topic.weight,
      topic.coherence,
      topic.stability,
      topic.x,
      topic.y,
      model.topWords(k, 10).join(" "),
    ]),
  };
}
