/** A stream while it is learned: topics now, what rises and fades, events, speed and score. */

import { curve } from "../charts/curve.js";
import { moves } from "../charts/moves.js";
import { mostRising, topicsNow } from "../data/moved.js";
import { bdi, h } from "../dom.js";
import { change, count, day, fixed, plural, size } from "../numbers.js";
import { figure } from "../parts/figure.js";
import { address } from "../router.js";
import { app, label } from "../state.js";
import { howItGoes, live as state } from "../live.js";
import { missing } from "./missing.js";

const SHOWN = 12;

export function live() {
  if (!app.model.meta.stream) return missing("This page is not live.", "Live");
  const facts = h("dl", { class: "tiles" });
  const events = h("ol", { class: "events" });
  const none = h("p", { class: "note" }, "None so far.");
  const soon = h("p", { class: "note" }, "Available after more documents.");
  const isHeld = (part) => part.contains(document.activeElement);
  const status = h("p", { class: "note", role: "status" });
  const stream = () => app.model.meta.stream;
  const shares = moves(() => topicsNow(stream(), SHOWN).map(named), "Topics now and before");
  const scores = curve(() => (stream().scores ?? []).map(([x, y]) => ({ x, y,
    title: `${plural(x, "document")}: ${fixed(y, 3)}` })),
  { name: "Score", formatX: short, formatY: (y) => fixed(y, 2) });
  const pause = h("button", { type: "button" }, "Pause");
  pause.addEventListener("click", () => {
    state.paused = !state.paused;
    pause.textContent = state.paused ? "Go on" : "Pause";
    say();
  });
  const say = () => {
    status.textContent = howItGoes();
  };
  const refresh = () => {
    facts.replaceChildren(...tiles(stream()));
    const all = stream().events ?? [];
    const newest = (topic) => all.find((each) => each.topic === topic); // of those first
    // whoever has the focus in a part keeps it
    if (!isHeld(events)) {
      events.replaceChildren(...all.map((each) => event(each, newest(each.topic) === each)));
    }
    none.hidden = events.hasChildNodes();
    soon.hidden = !!stream().shares;
    shares.hidden = !stream().shares;
    if (!isHeld(shares)) shares.redraw();
    scores.redraw();
    say();
  };
  refresh();
  return {
    title: "Live",
    refresh,
    content: [
      h("p", { class: "eyebrow" }, `Live \u00b7 since ${moment(stream().started)}`),
      h("h1", { tabindex: "-1" }, bdi(app.model.meta.title)),
      h("div", { class: "tools" }, pause, status),
      facts,
      h(
        "div",
        { class: "columns" },
        figure({
          title: "Topics now",
          level: 2,
          name: "topics-now",
          note: "Shares of the newest documents (dots) and before (rings): the largest topics, and "
            + "a few others that changed most.",
          chart: h("div", {}, soon, shares),
          data: () => ({
            columns: ["topic", "label", "share before", "share now"],
            rows: topicsNow(stream()).map(({ topic, before, now }) =>
              [topic, label(topic), before, now]),
          }),
        }),
        h(
          "div",
          { class: "stack" },
          figure({
            title: "Score",
            level: 2,
            name: "score",
            note: "Log probability of a word in documents before they are learned from. It falls "
              + "while new words are added: there are more to choose from.",
            chart: scores,
            data: () => ({ columns: ["documents", "score"], rows: stream().scores ?? [] }),
          }),
          h("section", {}, h("h2", {}, "Events"), events, none),
        ),
      ),
    ],
  };
}

const short = (n) => Intl.NumberFormat("en", { notation: "compact" }).format(n);

function moment(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : `${day(text)}, ${text.slice(11, 16)} UTC`;
}

const named = (row) => ({
  ...row,
  label: `${row.topic}  ${label(row.topic)}`,
  told: change(row.before, row.now),
  href: address("topic", row.topic),
});

function tiles(stream) {
  const tile = (name, value, told) =>
    h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value), h("dd", {}, told));
  const rising = mostRising(stream);
  return [
    tile("Documents", count(stream.n_docs), "learned from so far"),
    tile("Speed", count(stream.docs_per_second ?? 0), "documents a second"),
    stream.score != null && tile("Score", fixed(stream.score),
      "log probability of a word before it is learned from"),
    rising && tile("Rising", change(rising.before, rising.now),
      [`topic ${rising.topic}, `, bdi(label(rising.topic))]),
    stream.memory != null && tile("Memory", size(stream.memory), "of the process"),
  ].filter(Boolean);
}

/** Numbers are given to other themes: only a topic's newest event is about what it is now. */
function event({ topic, text }, isNewest) {
  const link = isNewest && topic != null
    ? [" ", h("a", { href: address("topic", topic) }, `Topic ${topic}`)]
    : null;
  return h("li", {}, h("p", {}, bdi(text), link));
}
