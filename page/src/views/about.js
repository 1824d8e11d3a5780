/** About the model: each measure in a sentence with a scale, and how the model was made. */

import { curve } from "../charts/curve.js";
import { spread } from "../charts/spread.js";
import { bdi, h } from "../dom.js";
import { NEAR, count, day, fixed, nats, percent, plural } from "../numbers.js";
import { figure } from "../parts/figure.js";
import { STABILITY } from "../parts/help.js";
import { open } from "../router.js";
import { app, label } from "../state.js";

const STABLE = 0.7;

export function about() {
  const { meta } = app.model;
  const measured = measures(meta);
  const figures = [curveFigure(meta), spreadFigure(meta)].filter(Boolean);
  return {
    title: "About this model",
    content: [
      h("h1", { tabindex: "-1" }, "About this model"),
      h("p", { class: "lede" }, "How far to trust the topics. None of these numbers says whether "
        + "a topic is meaningful: read its typical documents."),
      measured.length > 0 && h("dl", { class: "measures" }, measured),
      figures.length > 0 && h("section", {}, h("h2", {}, "In detail"),
        h("div", { class: "grid" }, figures)),
      h("section", {}, h("h2", {}, "How it was made"), made(meta)),
      meta.live ? null : held(meta),
    ],
  };
}

/** A measure: its name and value, what it says, and where it lies between two ends. */
function measure(name, value, told, [at, low, high], more) {
  const mark = h("span", { class: "mark" });
  mark.style.left = `${Math.max(0, Math.min(1, at)) * 100}%`;
  return h("div", { class: "measure" }, h("dt", {}, name), h("dd", { class: "value" }, value),
    h("dd", {}, h("div", { class: "scale", "aria-hidden": "true" }, mark),
      h("div", { class: "ends" }, h("span", {}, low), h("span", {}, high)),
      h("p", {}, told),
      h("details", {}, h("summary", {}, "How it is measured"), more)));
}

const listed = (within) => within.map(([limit, share]) => `${limit} in ${percent(share)}`).join(", ");

/** The sentence of the first limit that a value does not reach. */
const verdict = (value, steps) => steps.find(([limit]) => value < limit)[1];

function measures({ score, coherence, diversity, guarantee, topics, stability }) {
  const stable = topics.map((topic) => topic.stability).filter((value) => value != null);
  const n = stable.filter((value) => value > STABLE).length;
  const mean = stable.reduce((sum, value) => sum + value, 0) / stable.length;
  const ratio = score && score.unigram / score.perplexity;
  return [
    coherence && measure("Do the words of a topic belong together?", fixed(coherence.mean),
      `${fixed(coherence.mean)}: ${verdict(coherence.mean, [
        [0, "low, as in titles and tweets, whose words rarely meet. Check each topic"],
        [0.1, "modest: typical for short texts; some topics may have no theme"],
        [0.3, "typical for news, posts and abstracts"],
        [Infinity, "high"]])}. Higher is more coherent.`,
      [(coherence.mean + 0.1) / 0.6, "\u22120.1 unrelated", "0.5 always together"],
      "Coherence: mean over the topics of the NPMI (normalised pointwise mutual information) of "
        + `their ten best words in ${coherence.of}.`),
    diversity != null && measure("Do topics differ from each other?", percent(diversity),
      `${percent(diversity)} of their best words are distinct: ${verdict(diversity, [
        [0.4, "many topics overlap; fewer topics may do"],
        [0.65, "usual, related topics share words"],
        [Infinity, "the topics overlap little"]])}.`,
      [diversity, "all the same", "all different"],
      "Diversity: distinct words among the 25 best of all topics."),
    stable.length > 0 && measure("Would others find the same topics?",
      fixed(mean),
      `Stability: ${STABILITY[0].toLowerCase()}${STABILITY.slice(1)} The mean is ${fixed(mean)}; `
        + `${plural(n, "topic")} of ${count(stable.length)} ${n === 1 ? "is" : "are"} above ${STABLE}.`,
      [mean, "0 in one run", "1 in all runs"],
      `The share of its twenty best words that a topic has in common with its match in runs with ${
        stability ?? "other random numbers"}.`),
    score && measure("How well are words predicted?", `1 in ${count(score.perplexity)}`,
      `A hidden word is as hard to guess as one of ${count(score.perplexity)} equally likely `
        + `words; ${ratio > 0 ? `without topics, one of ${count(score.unigram)}: `
          + `${verdict(ratio, [[1.1, "the topics hardly help"], [1.5, "the topics help a little"],
            [Infinity, `${fixed(ratio, 1)} times easier with topics`]])}.` : "fewer is better."}`,
      [ratio ? (ratio - 1) / 4 : 0, "1 no help", "5 times easier"],
      `Perplexity; log predictive probability (LPP) ${fixed(score.lpp)}`
        + `${score.error ? ` \u00b1 ${fixed(score.error)}` : ""} per word of `
        + `${plural(score.n_docs, "document")}`
        + (score.held_out ? " held out." : ", some of which the model may have learned from.")),
    guarantee && measure("Are the topics of a document the right ones?",
      percent(guarantee.near[1]),
      `For ${guarantee.near[1] === 1 ? "each document" : `${percent(guarantee.near[1])} of the `
        + "documents"}, no other mixture of these topics explains its words noticeably better.`,
      [guarantee.near[1], "no document", "all"],
      `Proved for each document. Noticeably: by more than ${percent(Math.expm1(NEAR))} a word `
        + `(${NEAR} nats). For a whole document, another mixture gains at most `
        + `${nats(guarantee.mean)} nats on average and ${nats(guarantee.max)} at worst; at most `
        + `${listed(guarantee.within)} of the documents.`),
  ].filter(Boolean);
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
