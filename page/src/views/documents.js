/** The documents: found by topic and by words. */

import { inWords } from "../charts/time.js";
import * as store from "../data/store.js";
import { bdi, h, settled } from "../dom.js";
import { count, nats, percent, plural } from "../numbers.js";
import { strip } from "../parts/mixture.js";
import { address, note } from "../router.js";
import { saveTable } from "../save.js";
import { app, label } from "../state.js";
import { missing } from "./missing.js";

const AT_A_TIME = 40;

const SORTS = {
  "": "Best match",
  number: "Number",
  tokens: "Longest",
  loss: "Least certain",
};

export async function documents({ query }) {
  const all = await store.documents();
  if (!all) {
    return missing(app.model.meta.live
      ? "A live page has no documents; open the overview, the map or the words."
      : "This page was written without documents.", "Documents");
  }
  const { q = "", sort = "", time = "", group = "" } = query;
  const wanted = { topic: app.model.topicOf(query.topic), q, sort, time, group };
  const list = h("ol", { class: "documents" });
  const status = h("p", { class: "note", role: "status" });
  const more = h("button", { type: "button", class: "more" }, "Show more");
  let found = [];
  let shown = 0;
  const grow = () => {
    const some = found.slice(shown, shown + AT_A_TIME);
    list.append(...some.map((i) => item(all, i, wanted.topic)));
    shown += some.length;
    more.hidden = shown >= found.length;
  };
  const show = () => {
    found = sorted(all, all.find({
      topic: wanted.topic,
      query: wanted.q,
      time: wanted.time === "" ? null : app.model.meta.time?.bins.indexOf(wanted.time),
      group: wanted.group === "" ? null : app.model.meta.groups?.names.indexOf(wanted.group),
    }), wanted.sort);
    shown = 0;
    list.replaceChildren();
    grow();
    status.textContent = told(all, found, wanted);
  };
  const change = (part) => {
    Object.assign(wanted, part);
    note(wanted);
    show();
  };
  more.addEventListener("click", grow);
  show();
  return {
    title: "Documents",
    content: [
      h("h1", { tabindex: "-1" }, "Documents"),
      tools(wanted, change, () => saveTable("documents", data(all, found))),
      status,
      list,
      more,
    ],
  };
}

/** How many were found, and among which: of large collections a part is in the page. */
function told(all, found, { q, topic }) {
  const n = app.model.meta.corpus.n_docs;
  const whole = all.size < n ? ` of the ${count(all.size)} in this page, which are of ${count(n)}`
    : found.length < all.size ? ` of ${count(all.size)}` : "";
  const texts = all.held.size < all.size || !all.texts.length
    ? `. The texts of ${all.texts.length ? count(all.held.size) : "none"} are in this page: others `
      + "are found by their names alone"
    : "";
  const of = topic === null ? "" : " with this topic among their main ones";
  return `${plural(found.length, "document")}${whole}${of}${q.trim() && texts}`;
}

/** A choice of one of some values, or of all. */
function selected(id, name, all, values, wanted, onChange, written = (value) => value) {
  const option = (value, text) => h("option", { value, selected: value === wanted }, text);
  const select = h("select", { id }, option("", all),
    values.map((value) => option(value, written(value))));
  select.addEventListener("change", () => onChange(select.value));
  return h("label", { for: id }, name, select);
}

function tools(wanted, change, save) {
  const { time, groups } = app.model.meta;
  const words = h("input", { type: "search", id: "q", value: wanted.q });
  words.addEventListener("input", settled(() => change({ q: words.value }), 120));
  const topic = h(
    "select",
    { id: "topic" },
    h("option", { value: "" }, "any topic"),
    app.model.topics.map((_, k) =>
      h("option", { value: k, selected: k === wanted.topic }, `${k}  ${label(k)}`)),
  );
  topic.addEventListener("change", () => change({ topic: app.model.topicOf(topic.value) }));
  const sort = h("select", { id: "sort" }, Object.entries(SORTS).map(([value, name]) =>
    h("option", { value, selected: value === wanted.sort }, name)));
  sort.addEventListener("change", () => change({ sort: sort.value }));
  return h(
    "div",
    { class: "tools" },
    h("label", { for: "q", class: "grow" }, "Words in title or text", words),
    h("label", { for: "topic" }, "Topic", topic),
    time && selected("time", time.column, `any ${time.unit}`, time.bins, wanted.time,
      (value) => change({ time: value }), (bin) => inWords(bin, time.unit)),
    groups && selected("group", groups.column, "all", groups.names, wanted.group,
      (value) => change({ group: value })),
    h("label", { for: "sort" }, "Order", sort),
    h("button", { type: "button", on: { click: save } }, "CSV"),
  );
}

function sorted(all, found, sort) {
  const { tokens, loss, number } = all.arrays;
  if (sort === "number") return found.sort((a, b) => number[a] - number[b]);
  if (sort === "tokens") return found.sort((a, b) => tokens[b] - tokens[a]);
  if (sort === "loss") return found.sort((a, b) => (loss[b] || 0) - (loss[a] || 0));
  return found;
}

function item(all, i, topic) {
  const mixture = all.mixture(i);
  const best = topic ?? mixture[0]?.topic;
  const { time } = app.model.meta;
  const bin = time?.bins[all.arrays.time?.[i] ?? -1];
  return h(
    "li",
    {},
    h("a", { class: "name", href: address("document", all.number(i)) }, bdi(all.name(i))),
    best === undefined ? null : strip(mixture, new Map([[best, "main"]])),
    h(
      "span",
      { class: "note" },
      best === undefined ? "no words" : [`${percent(all.share(i, best))} `,
        h("a", { href: address("topic", best) }, `${best} `, bdi(label(best))), " \u00b7 "],
      `${plural(Math.round(all.arrays.tokens[i]), "word")} \u00b7 document ${all.number(i)}`
        + (bin ? ` \u00b7 ${inWords(bin, time.unit)}` : ""),
    ),
  );
}

function data(all, found) {
  const most = Math.max(0, ...found.map((i) => all.mixture(i).length));
  const each = Array.from({ length: most }, (_, n) => [`topic ${n + 1}`, `label ${n + 1}`,
    `share ${n + 1}`]);
  const { time, groups } = app.model.meta;
  const columns = [
    time && [time.column, time.bins, all.arrays.time],
    groups && [groups.column, groups.names, all.arrays.group],
  ].filter(Boolean);
  return {
    columns: ["document", "name", ...columns.map(([name]) => name), "words", "loss in nats", ...each.flat()],
    rows: found.map((i) => [
      all.number(i),
      all.name(i),
      ...columns.map(([, names, places]) => names[places[i]] ?? null),
      all.arrays.tokens[i],
      Number.isNaN(all.arrays.loss[i]) ? null : Number(nats(all.arrays.loss[i]).replace("<", "")),
      ...all.mixture(i).flatMap(({ topic, weight }) => [topic, label(topic), weight]),
    ]),
  };
}
