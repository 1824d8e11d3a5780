/** All topics in a table that can be sorted and searched. */

import { bdi, h, settled } from "../dom.js";
import { fixed, percent, plural } from "../numbers.js";
import { topicData } from "../parts/explorer.js";
import { address, note } from "../router.js";
import { saveTable } from "../save.js";
import { app, label } from "../state.js";
import { labelFiles } from "../parts/labels.js";

const SORTS = {
  number: ["Number", (a, b) => a - b],
  weight: ["Size", (a, b) => app.model.extent(b) - app.model.extent(a)],
  coherence: ["Coherence", (a, b) => valueOf(b, "coherence") - valueOf(a, "coherence")],
  stability: ["Stability", (a, b) => valueOf(b, "stability") - valueOf(a, "stability")],
};

const valueOf = (topic, name) => app.model.topics[topic][name] ?? -Infinity;
const isKnown = (name) => app.model.topics.some((topic) => topic[name] != null);

export function topics({ query }) {
  const { model } = app;
  let sort = Object.hasOwn(SORTS, query.sort) ? query.sort : "number";
  let wanted = query.q ?? "";
  const body = h("tbody");
  const status = h("p", { class: "note", role: "status" });
  const columns = Object.keys(SORTS).filter((name) => name in { number: 1, weight: 1 }
    || isKnown(name));
  const heads = new Map(columns.map((name) => [name, sortHead(name)]));
  function sortHead(name) {
    const choose = () => {
      sort = name;
      note({ sort: name === "number" ? null : name });
      show();
    };
    const button = h("button", { type: "button", on: { click: choose } }, SORTS[name][0]);
    const kind = { number: null, weight: "number" }[name];
    return h("th", { scope: "col", class: kind === undefined ? "number second" : kind }, button);
  }
  const show = () => {
    const found = model.topics.map((_, k) => k).filter((k) => matches(k, wanted));
    found.sort(SORTS[sort][1]);
    body.replaceChildren(...found.map((k) => row(k, columns)));
    for (const [name, head] of heads) {
      const order = name === "number" ? "ascending" : "descending";
      if (name === sort) head.setAttribute("aria-sort", order);
      else head.removeAttribute("aria-sort");
    }
    status.textContent = found.length === model.size
      ? `${plural(found.length, "topic")}, numbered as in the model. Size: share of all ${model.whole}.`
      : `${plural(found.length, "topic")} of ${model.size}`;
  };
  const filter = h("input", { type: "search", id: "topic-filter", value: wanted });
  filter.addEventListener("input", settled(() => {
    wanted = filter.value;
    note({ q: wanted });
    show();
  }, 80));
  show();
  return {
    title: "Topics",
    content: [
      h("h1", { tabindex: "-1" }, "Topics"),
      h(
        "div",
        { class: "tools" },
        h("label", { for: "topic-filter" }, "Label or word", filter),
        h("button", { type: "button", on: { click: () => saveTable("topics", topicData()) } },
          "CSV"),
      ),
      status,
      h(
        "div",
        { class: "scroll wide", tabindex: "0", role: "region", "aria-label": "Topics" },
        h("table", { class: "topics" }, h("thead", {}, h("tr", {}, header(heads))), body),
      ),
      labelFiles(),
    ],
  };
}

function header(heads) {
  const plain = (name) => h("th", { scope: "col", class: name === "Words" && "few" }, name);
  const [number, ...numbers] = [...heads.values()];
  return [number, plain("Label"), ...numbers, plain("Words")];
}

function matches(topic, wanted) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return true;
  const text = `${topic} ${label(topic).toLowerCase()} ${app.model.wordsOf(topic)}`;
  return words.every((word) => text.includes(word));
}

function row(k, columns) {
  const { model } = app;
  const most = model.extent(model.bySize[0]);
  const bar = h("span", { class: "minibar", "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.width = `${(model.extent(k) / most) * 100}%`;
  const cells = {
    weight: () => h("td", { class: "number" }, bar, percent(model.share(k))),
    coherence: () => h("td", { class: "number second" }, fixed(model.topics[k].coherence)),
    stability: () => h("td", { class: "number second" }, fixed(model.topics[k].stability)),
  };
  const words = model.topWords(k, 10).join(", ");
  const name = h("a", { href: address("topic", k) }, bdi(label(k)));
  return h(
    "tr",
    {},
    h("td", { class: "key" }, String(k)),
    h("th", { scope: "row" }, name, h("span", { class: "below few" }, bdi(words))),
    columns.filter((column) => column in cells).map((column) => cells[column]()),
    h("td", { class: "few" }, bdi(words)),
  );
}
