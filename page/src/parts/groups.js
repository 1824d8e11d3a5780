/** How groups differ: the topics of which each has more than all together. */

import { distinctive } from "../data/trends.js";
import { bdi, h } from "../dom.js";
import { count, percent, plural } from "../numbers.js";
import { address } from "../router.js";
import { saveTable } from "../save.js";
import { app, label } from "../state.js";
import { drawnGroups } from "./shares.js";

const TOPICS = 3; // told of each group

/** A table of the largest groups with the topics of each. */
export function groupTable(most = Infinity) {
  const { groups } = app.model.meta;
  const drawn = drawnGroups(groups);
  const found = new Map(drawn.map((i) => [i, distinctive(groups, i, app.model.meta.shares)]));
  const about = (i) => found.get(i).slice(0, TOPICS).map(({ topic, share, usual }) => h(
    "span",
    { class: "about" },
    h("a", { href: address("documents", null, { topic, group: groups.names[i] }) },
      bdi(label(topic))),
    ` ${percent(share)} `,
    h("span", { class: "few" }, `(all ${percent(usual)})`),
  ));
  const rows = drawn.slice(0, most).map((i) => h(
    "tr",
    {},
    h("th", { scope: "row" }, bdi(groups.names[i]),
      h("span", { class: "note" }, ` ${count(groups.n_docs[i])}`)),
    h("td", {}, found.get(i).length ? about(i) : h("span", { class: "few" }, "as all together")),
  ));
  const total = groups.names.length + groups.n_others;
  const save = () => saveTable("groups", {
    columns: [groups.column, "documents", "topic", "label", "corrected share", "share in all"],
    rows: drawn.flatMap((i) => found.get(i).map(({ topic, share, usual }) =>
      [groups.names[i], groups.n_docs[i], topic, label(topic), share, usual])),
  });
  return h(
    "div",
    {},
    h("table", { class: "groups" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, `${groups.column}, documents`),
        h("th", { scope: "col" }, `More there than in all: share of its documents (of all documents)`))),
      h("tbody", {}, rows)),
    rows.length < total && h("p", { class: "note" },
      `The ${rows.length} largest of ${plural(total, "group")}.`),
    h("div", { class: "files" }, h("button", { type: "button", on: { click: save },
      "aria-label": "CSV of groups" }, "CSV")),
  );
}
