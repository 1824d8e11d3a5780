/** The first view: what the collection is about, what changed, how groups differ, and the map. */

import { inWords } from "../charts/time.js";
import { bdi, h } from "../dom.js";
import { howItGoes } from "../live.js";
import { count, day, percent, plural } from "../numbers.js";
import { periodSentences } from "../parts/contrast.js";
import { explorer } from "../parts/explorer.js";
import { groupTable } from "../parts/groups.js";
import { variesMark } from "../parts/help.js";
import { allOverTime, sharesNote } from "../parts/shares.js";
import { address } from "../router.js";
import { app, label } from "../state.js";

const TOPICS = 12;
const TRENDS = 40;
const GROUPS = 6;

export function overview({ query }) {
  const { meta, size } = app.model;
  const { time, groups } = meta;
  const more = (view, text) => h("p", {}, h("a", { class: "more", href: address(view) }, text));
  return {
    title: "Overview",
    content: [
      h("p", { class: "eyebrow" }, `Topic report \u00b7 ${day(meta.created)}`),
      h("h1", { tabindex: "-1", class: meta.title.length > 40 && "long" }, bdi(meta.title)),
      lede(meta),
      sharesNote(),
      meta.live && h("p", { class: "note", role: "status" }, howItGoes()),
      h("section", { class: "first" },
        h("h2", {}, size > TOPICS ? `What it is about: the ${TOPICS} largest topics`
          : "What it is about"),
        h("p", { class: "note" }, `Bars: share of all ${app.model.whole}.`),
        h("ol", { class: "subjects" }, app.model.bySize.slice(0, TOPICS).map(subject)),
        size > TOPICS && more("topics", `All ${count(size)} topics`)),
      time && h("section", {}, h("h2", {}, "What changed"), periodSentences(time.periods),
        allOverTime({ title: "From the first to the last third", level: 3, most: TRENDS }),
        more("time", "All topics over time, and other periods")),
      groups && h("section", {}, h("h2", {}, "How groups differ"), groupTable(GROUPS),
        more("groups", `Compare two of ${plural(groups.names.length, "group")}`)),
      explorer(query),
    ],
  };
}

function lede({ model, corpus, time }) {
  const topics = h("a", { href: address("topics") }, plural(model.n_topics, "topic"));
  if (!corpus) {
    return h("p", { class: "lede" }, topics, ` over ${plural(model.n_words, "word")}, learned from `
      + `${plural(model.n_docs, "document")} so far.`);
  }
  const of = corpus.name && [" of ", h("span", { class: "file" }, bdi(corpus.name))];
  const [unit, ...ends] = time?.span ?? [];
  const [first, last] = ends.map((bin) => inWords(bin, unit));
  // (a document without words has no place in time, either)
  const dated = time ? time.n_docs.reduce((sum, n) => sum + n, 0) : 0;
  const few = dated < 0.95 * corpus.n_docs;
  return h("p", { class: "lede" }, plural(corpus.n_docs, "document"), of,
    first && `, ${first} to ${last}`, first && few && ` (${count(dated)} with a date)`,
    ", in ", topics, ".");
}

function subject(k) {
  const { model } = app;
  const { headline } = model.topics[k];
  const bar = h("span", { class: "minibar", "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.width = `${(model.extent(k) / model.extent(model.bySize[0])) * 100}%`;
  return h(
    "li",
    {},
    h("span", {}, h("a", { class: "name", href: address("topic", k) }, bdi(label(k))), " ",
      variesMark(k)),
    h("span", { class: "size" }, bar, percent(model.share(k))),
    headline
      ? h("a", { class: "typical", href: address("document", headline[0]) }, bdi(headline[1]))
      : h("span", { class: "few" }, bdi(model.topWords(k, 6).join(", "))),
  );
}
