/** Topics' shares over time and by group, where the documents have such columns. */

import { bars } from "../charts/bars.js";
import { curve } from "../charts/curve.js";
import { multiples } from "../charts/multiples.js";
import { dateOf, inWords, runs } from "../charts/time.js";
import { LEAST, trends } from "../data/trends.js";
import { h } from "../dom.js";
import { change, count, percent, percentTick, plural } from "../numbers.js";
import { address } from "../router.js";
import { app, label } from "../state.js";
import { figure } from "./figure.js";

const HIGHEST = 15; // groups in a chart
const FEW = 10; // documents, whose mean says little

/** The groups that have documents enough to be drawn; with fewer ones, if hardly one has. */
export function drawnGroups({ n_docs: n }) {
  const all = n.map((_, i) => i);
  const many = all.filter((i) => n[i] >= FEW);
  return many.length > 1 ? many : all.filter((i) => n[i] >= LEAST);
}

/** What shares are, once in a view. */
export function sharesNote() {
  if (!app.model.meta.shares) return null;
  return h(
    "div",
    { class: "note" },
    h("p", {}, "Percentages are shares of documents: at 10% of documents, a tenth of an average "
      + "document is about the topic. Long and short documents count the same."),
    h("details", {}, h("summary", {}, "How shares are computed"),
      h("p", {}, "Shares are corrected: the topic\u2019s part of the most likely mixture of all "
        + "words of the documents, with a 95% interval that takes the topics as given. Tables have "
        + "the mean of the documents\u2019 own mixtures too, as spreadsheets do; it is biased for "
        + "short documents.")),
  );
}

/** A bin or a group in words. */
const told = (name, { shares, low, high, means, n_docs }, i, k) =>
  `${name}: ${percent(shares[i][k])} (${percent(low[i][k])} to ${percent(high[i][k])}), `
    + `mean ${percent(means[i][k])}, of ${plural(n_docs[i], "document")}`;

/** The table of all bins or groups, for some topics. */
const table = (names, column, { shares, low, high, means, n_docs }, topics) => ({
  columns: ["topic", "label", column, "documents", "corrected share", "from", "to", "mean share"],
  rows: topics.flatMap((k) => names.map((name, i) => [k, label(k), name, n_docs[i], shares[i][k],
    low[i][k], high[i][k], means[i][k]])),
});

const leftOut = (n, name) => (n > 0 ? ` ${plural(n, name)} of too few documents left out.` : "");

const unitsLeft = ({ bins, drawn, unit }) => leftOut(bins.length - drawn.length, unit);

/** The bins of a topic that are drawn. */
const points = (time, topic) => time.drawn.map((i) => ({
  x: dateOf(time.bins[i]),
  y: time.shares[i][topic],
  low: time.low[i][topic],
  high: time.high[i][topic],
  mean: time.means[i][topic],
  href: address("documents", null, { topic, time: time.bins[i] }),
  title: told(inWords(time.bins[i], time.unit), time, i, topic),
}));

/** The topic over time, or null. */
export function timeFigure(topic) {
  const { time } = app.model.meta;
  if (!time) return null;
  return figure({
    title: "Over time",
    name: `topic-${topic}-over-time`,
    about: () => `Topic ${topic}, ${label(topic)}`,
    note: `Share of the documents of each ${time.unit}, with its 95% interval; dotted, the mean. `
      + `Lines are broken where there are no documents.${unitsLeft(time)}`,
    chart: curve(() => points(time, topic), {
      name: "Share of the topic over time",
      formatY: percentTick,
      gaps: time.gaps,
    }),
    data: () => table(time.bins, time.column, time, [topic]),
  });
}

const KINDS = { rising: "Rising", falling: "Falling", event: "Events", steady: "No clear trend" };
const SIGNS = { rising: "\u25b2", falling: "\u25bc", event: "\u25c6", steady: "\u2013" };

function moved({ kind, from, to, peak }, topic, time) {
  if (kind !== "event") return change(from, to);
  return `${percent(time.shares[peak][topic])}, ${inWords(time.bins[peak], time.unit)}`;
}

/** All topics over time in one picture; if `most` is given, at most so many. */
export function allOverTime({ title = "All topics over time", level = 2, most = Infinity } = {}) {
  const { time } = app.model.meta;
  const all = trends(time);
  const kinds = Object.keys(KINDS).map((kind) => all.filter((each) => each.kind === kind));
  const dates = time.drawn.map((i) => dateOf(time.bins[i]));
  const cells = () => kinds.flatMap((some) => some.map(({ topic, kind, ...rest }, i) => ({
    kind,
    heading: i ? null : `${SIGNS[kind]} ${KINDS[kind]} (${some.length})`,
    label: label(topic),
    href: address("topic", topic),
    told: moved({ kind, ...rest }, topic, time) + (app.model.varies(topic) ? " \u00b7 varies" : ""),
    lines: [{ runs: runs(points(time, topic), time.gaps) }],
    ends: [dates[0], dates.at(-1)],
  }))).slice(0, most);
  const key = `Under each name: share of the documents in the first third of the ${time.unit}s \u2192 `
    + `in the last third. In the chart: the highest ${time.unit}; each topic has its own scale.`
    + (all.some(({ topic }) => app.model.varies(topic)) ? " \u201cVaries\u201d marks topics that vary between runs." : "");
  return figure({
    title,
    level,
    name: "topics-over-time",
    caption: key,
    note: [key, h("details", {}, h("summary", {}, "Rising, falling, events"),
      h("p", {}, "A topic rises or falls where the 95% intervals of the two thirds do not overlap. "
        + `An event is one ${time.unit} with more than twice as much as all others. Bands are 95% `
        + `intervals.${unitsLeft(time)}`))],
    chart: multiples(cells, "Shares of all topics over time"),
    data: () => table(time.bins, time.column, time, all.map(({ topic }) => topic)),
  });
}

/** The topic by group, or null. */
export function groupFigure(topic) {
  const { groups } = app.model.meta;
  if (!groups) return null;
  const drawn = drawnGroups(groups);
  const rows = drawn.map((i) => ({
    label: `${groups.names[i]} (${count(groups.n_docs[i])})`,
    value: groups.shares[i][topic],
    href: address("documents", null, { topic, group: groups.names[i] }),
    number: `${percent(groups.shares[i][topic])}, mean ${percent(groups.means[i][topic])}`,
    title: told(groups.names[i], groups, i, topic),
  }));
  const order = [...rows].sort((a, b) => b.value - a.value).slice(0, HIGHEST);
  const more = rows.length > order.length
    ? ` The ${order.length} with the largest share, of ${rows.length} groups.` : "";
  const few = leftOut(groups.names.length - drawn.length, "group");
  const others = groups.n_others
    ? ` ${plural(groups.n_others, "smaller group")} not in the page.` : "";
  return figure({
    title: `By ${groups.column}`,
    name: `topic-${topic}-by-group`,
    about: () => `Topic ${topic}, ${label(topic)}`,
    note: `Share of the documents of each, and the mean.${more}${few}${others}`,
    chart: bars(() => order, { name: "Share of the topic by group" }),
    data: () => table(groups.names, groups.column, groups, [topic]),
  });
}
