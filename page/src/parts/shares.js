/** A topic's shares over time and by group, where the documents have such columns. */

import { bars } from "../charts/bars.js";
import { curve } from "../charts/curve.js";
import { count, percent, percentTick, plural } from "../numbers.js";
import { address } from "../router.js";
import { app, label } from "../state.js";
import { figure } from "./figure.js";

/** A bin's beginning as a date: 2007, 2007-04, 2007-04-12, 2007-Q2, 2007-W15; or null. */
export function dateOf(bin) {
  const found = /^(\d{4})(?:-(?:Q([1-4])|W(\d\d)|(\d\d)(?:-(\d\d))?))?(?:[T ].*)?$/.exec(bin);
  if (!found) return null;
  const [, year, quarter, week, month, day] = found;
  if (quarter) return new Date(Date.UTC(year, 3 * (quarter - 1)));
  if (week) return new Date(Date.UTC(year, 0, 1 + 7 * (week - 1)));
  if (/[T ]/.test(bin)) return new Date(`${bin.replace(" ", "T")}Z`);
  return new Date(Date.UTC(year, (month ?? 1) - 1, day ?? 1));
}

const HIGHEST = 15; // groups in a chart
const FEW = 10; // documents, whose mean says little

/** Which bins or groups have documents enough to be drawn; all that have any, if hardly one. */
function enough(n_docs) {
  const all = n_docs.map((_, i) => i);
  const many = all.filter((i) => n_docs[i] >= FEW);
  return many.length > 1 ? many : all.filter((i) => n_docs[i] > 0);
}

const CORRECTED = "Corrected share: the topic\u2019s part of the likeliest mixture of all words of "
  + "these documents. Mean: of the documents\u2019 own mixtures, biased where these are short.";

/** A bin or a group in words. */
const told = (name, { shares, means, n_docs }, i, topic) =>
  `${name}: corrected share ${percent(shares[i][topic])}, mean share ${percent(means[i][topic])} of `
    + plural(n_docs[i], "document");

/** The table of all bins or groups. */
const table = (names, column, { shares, means, n_docs }, topic) => ({
  columns: [column, "documents", "corrected share", "mean share"],
  rows: names.map((name, i) => [name, n_docs[i], shares[i][topic], means[i][topic]]),
});

const leftOut = (n, name) => (n > 0
  ? ` ${plural(n, name)} of fewer than ${FEW} documents left out.` : "");

const AXIS = {
  year: { year: "numeric" },
  quarter: { month: "short", year: "numeric" },
  month: { month: "short", year: "numeric" },
  day: { day: "numeric", month: "short" },
};
const HOURS = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };

/** The topic over time, or null. */
export function timeFigure(topic) {
  const { time } = app.model.meta;
  if (!time || time.bins.length < 2) return null;
  const dates = time.bins.map(dateOf);
  const dated = dates.every((date) => date !== null && !Number.isNaN(date.getTime()));
  const seen = enough(time.n_docs);
  const some = time.n_docs.filter((n) => n > 0).length;
  const axis = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...AXIS[time.unit] ?? HOURS });
  const points = () => seen.map((i) => ({
    x: dated ? dates[i] : i,
    y: time.shares[i][topic],
    href: address("documents", null, { topic, time: time.bins[i] }),
    title: told(time.bins[i], time, i, topic),
  }));
  return figure({
    title: "Over time",
    name: `topic-${topic}-over-time`,
    about: () => `Topic ${topic}, ${label(topic)}`,
    note: CORRECTED
      + leftOut(some - seen.length, `${time.unit}`),
    chart: curve(points, {
      name: "Corrected share of the topic over time",
      formatX: dated ? (date) => axis.format(date) : (i) => time.bins[i] ?? "",
      formatY: percentTick,
      fromZero: true,
    }),
    data: () => table(time.bins, time.column, time, topic),
  });
}

/** The topic by group, or null. */
export function groupFigure(topic) {
  const { groups } = app.model.meta;
  if (!groups || groups.names.length < 2) return null;
  const drawn = enough(groups.n_docs);
  const rows = drawn.map((i) => ({
    label: `${groups.names[i]} (${count(groups.n_docs[i])})`,
    value: groups.shares[i][topic],
    href: address("documents", null, { topic, group: groups.names[i] }),
    number: `${percent(groups.shares[i][topic])}, mean ${percent(groups.means[i][topic])}`,
    title: told(groups.names[i], groups, i, topic),
  }));
  const order = [...rows].sort((a, b) => b.value - a.value).slice(0, HIGHEST);
  const more = rows.length > order.length
    ? ` The ${order.length} with most of it, of ${rows.length}.` : "";
  const few = leftOut(groups.names.length - drawn.length, "group");
  const others = groups.n_others
    ? ` ${plural(groups.n_others, "smaller group")} not in the page.` : "";
  return figure({
    title: `By ${groups.column}`,
    name: `topic-${topic}-by-group`,
    about: () => `Topic ${topic}, ${label(topic)}`,
    note: `${CORRECTED}${more}${few}${others}`,
    chart: bars(() => order, { name: "Corrected share of the topic by group" }),
    data: () => table(groups.names, groups.column, groups, topic),
  });
}
