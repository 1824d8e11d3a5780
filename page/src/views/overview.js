/** The first view: the model in a sentence, its map, and how good it is. */

import { bars } from "../charts/bars.js";
import { curve } from "../charts/curve.js";
import { spread } from "../charts/spread.js";
import { bdi, h } from "../dom.js";
import { howItGoes } from "../live.js";
import { COHERENCE, count, day, factor, fixed, nats, percent, plural } from "../numbers.js";
import { explorer } from "../parts/explorer.js";
import { figure } from "../parts/figure.js";
import { address, open } from "../router.js";
import { app, label } from "../state.js";

export function overview({ query }) {
  const { meta } = app.model;
  return {
    title: "Overview",
    content: [
      h("p", { class: "eyebrow" }, `Topic report \u00b7 ${day(meta.created)}`),
      h("h1", { tabindex: "-1", class: meta.title.length > 40 && "long" }, bdi(meta.title)),
      lede(meta),
      meta.live && h("p", { class: "note", role: "status" }, howItGoes()),
      tiles(meta),
      explorer(query),
      measures(meta),
      h("section", {}, h("h2", {}, "How it was made"), made(meta)),
      meta.live ? null : held(meta),
    ],
  };
}

function lede({ model, corpus }) {
  const of = corpus
    ? [", and what they say about ", plural(corpus.n_docs, "document"),
      corpus.name && [" of ", h("span", { class: "file" }, bdi(corpus.name))]]
    : `, learned from ${plural(model.n_docs, "document")} so far`;
  const topics = h("a", { href: address("topics") }, plural(model.n_topics, "topic"));
  return h("p", { class: "lede" }, topics, ` over ${plural(model.n_words, "word")}`, of, ".");
}

function tiles({ score, coherence, diversity, guarantee }) {
  const tile = (value, name, told, title) =>
    h("div", { class: "tile", title }, h("dt", {}, name), h("dd", {}, value), h("dd", {}, told));
  return h(
    "dl",
    { class: "tiles" },
    score && tile(
      `1 in ${count(score.perplexity)}`,
      "Prediction",
      "A hidden word of a document is as hard to guess as one of "
        + `${count(score.perplexity)} equally likely words. Fewer is better.`,
      `Perplexity; log predictive probability (LPP) ${fixed(score.lpp)}`
        + `${score.error ? ` \u00b1 ${fixed(score.error)}` : ""} per word of `
        + `${plural(score.n_docs, "document")}`
        + (score.held_out ? " held out." : ", some of which the model may have learned from."),
    ),
    coherence && tile(
      fixed(coherence.mean),
      "Coherence",
      "How often the ten best words of a topic occur in the same document: 1 always, 0 by chance.",
      `${COHERENCE} Mean over the topics, in ${coherence.of}.`,
    ),
    diversity !== null && diversity !== undefined && tile(
      percent(diversity),
      "Diversity",
      "of the topics\u2019 best words are distinct; the others repeat in several topics.",
      "Topic diversity: distinct words among the 25 top words of all topics.",
    ),
    guarantee && tile(
      `${factor(guarantee.mean)}\u00d7`,
      "Guarantee",
      "No other mixture of topics makes a document\u2019s words more than this many times as "
        + "probable. Each document has its own proof; this is their average.",
      `The log-likelihood is at most ${nats(guarantee.mean)} nats below its maximum, on average.`,
    ),
  );
}

function measures(meta) {
  const found = [guaranteeFigure(meta), curveFigure(meta), spreadFigure(meta)].filter(Boolean);
  if (!found.length) return null;
  return h("section", {}, h("h2", {}, "How good it is"), h("div", { class: "grid" }, found));
}

function guaranteeFigure({ guarantee }) {
  if (!guarantee) return null;
  const rows = guarantee.within.map(([limit, share]) => ({
    label: `at most ${factor(limit)}\u00d7`,
    value: share,
  }));
  return figure({
    title: "The guarantee",
    name: "guarantee",
    note: "Each document\u2019s mixture comes with a proof: no other mixture of these topics makes "
      + "its words more probable than by this factor. "
      + `On average ${factor(guarantee.mean)}\u00d7, at worst ${factor(guarantee.max)}\u00d7, `
      + `over ${plural(guarantee.n_docs, "document")}.`,
    chart: bars(() => rows, { name: "Share of documents by distance from the optimum", most: 1 }),
    data: () => ({ columns: ["loss in nats", "share of documents"], rows: guarantee.within }),
  });
}

function curveFigure({ curve: learned }) {
  if (!learned?.points?.length) return null;
  const points = () => learned.points.map(([x, y]) => ({
    x,
    y,
    title: `after ${plural(x, "document")} seen: ${fixed(y, 3)}`,
  }));
  return figure({
    title: "Learning",
    name: "learning-curve",
    note: `How well the words of ${learned.of} are predicted (mean log probability of a word), by `
      + "documents seen. A document counts in each pass.",
    chart: curve(points, { name: "Learning curve", formatX: short, formatY: (y) => fixed(y, 2) }),
    data: () => ({ columns: ["documents seen", "score"], rows: learned.points }),
  });
}

const short = (n) => Intl.NumberFormat("en", { notation: "compact" }).format(n);

function spreadFigure({ topics }) {
  const known = topics.flatMap(({ coherence }, k) =>
    (coherence === null || coherence === undefined ? [] : [{ topic: k, value: coherence }]));
  if (known.length < 2) return null;
  return figure({
    title: "Coherence of topics",
    name: "coherence",
    note: "One dot per topic. Topics with low coherence often have no theme; check them before you name them.",
    chart: spread(() => known, {
      name: "Coherence of topics",
      told: ({ topic, value }) => `Topic ${topic}, ${label(topic)}: ${fixed(value)}`,
      onPick: ({ topic }) => open("topic", topic),
    }),
    data: () => ({
      columns: ["topic", "label", "coherence"],
      rows: known.map(({ topic, value }) => [topic, label(topic), value]),
    }),
  });
}

function made({ model, corpus, version, created }) {
  const facts = [
    ["Model", [bdi(model.name), `, ${model.learner}`]],
    ["Learned from", plural(model.n_docs, "document")],
    ...model.settings.map(([name, value]) => [name, bdi(value)]),
    ...(corpus ? lookedAt(corpus) : []),
    ["Written by", `opelda ${version}, ${day(created)}`],
  ];
  return h("dl", { class: "facts" }, facts.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function lookedAt(corpus) {
  return [
    ["Looked at", [corpus.name && [bdi(corpus.name), ", "], plural(corpus.n_docs, "document")]],
    ["Words in them", tokens(corpus)],
    corpus.n_empty && ["Documents without known words", count(corpus.n_empty)],
    corpus.n_skipped && ["Documents that could not be read", count(corpus.n_skipped)],
  ].filter(Boolean);
}

function tokens({ n_tokens, n_unknown_tokens: unknown }) {
  const known = `${count(n_tokens)} that the model knows`;
  return unknown ? `${known}, ${count(unknown)} that it does not` : known;
}

function held({ sampled }) {
  return h(
    "section",
    { class: "held" },
    h("h2", {}, "Contents of this page"),
    sampled?.length
      ? h("ul", {}, sampled.map((sentence) => h("li", {}, bdi(sentence))))
      : h("p", {}, "Every document and every topic."),
    h("p", { class: "note" }, "It is one file and needs no network."),
  );
}
