/** A topic's shares over time and by group, where the documents have such columns. */

import { bars } from "../charts/bars.js";
import { curve } from "../charts/curve.js";
import { percent, percentTick, plural } from "../numbers.js";
import { app } from "../state.js";
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

/** The topic over time, or null. */
export function timeFigure(topic) {
  const { time } = app.model.meta;
  if (!time || time.bins.length < 2) return null;
  const dates = time.bins.map(dateOf);
  const dated = dates.every((date) => date !== null && !Number.isNaN(date.getTime()));
  const seen = time.bins.map((_, i) => i).filter((i) => time.n_docs[i] > 0);
  const points = () => seen.map((i) => ({
    x: dated ? dates[i] : i,
    y: time.shares[i][topic],
    title: `${time.bins[i]}: ${percent(time.shares[i][topic])} of `
      + plural(time.n_docs[i], "document"),
  }));
  return figure({
    title: "Over time",
    name: `topic-${topic}-over-time`,
    note: `Mean share of the topic in the documents of each ${time.unit}.`,
    chart: curve(points, {
      name: "Share of the topic over time",
      formatX: dated ? null : (i) => time.bins[i] ?? "",
      formatY: percentTick,
      fromZero: true,
    }),
    data: () => ({
      columns: [time.column, "documents", "share"],
      rows: seen.map((i) => [time.bins[i], time.n_docs[i], time.shares[i][topic]]),
    }),
  });
}

/** The topic by group, or null. */
export function groupFigure(topic) {
  const { groups } = app.model.meta;
  if (!groups || groups.names.length < 2) return null;
  const rows = groups.names.map((name, i) => ({
    label: name,
    value: groups.shares[i][topic],
    title: `${name}: ${percent(groups.shares[i][topic])} of `
      + plural(groups.n_docs[i], "document"),
  }));
  const order = [...rows].sort((a, b) => b.value - a.value).slice(0, 15);
  const left = groups.n_others ? ` ${plural(groups.n_others, "small group")} left out.` : "";
  const more = rows.length > order.length ? ` The first ${order.length} of ${rows.length}.` : "";
  return figure({
    title: `By ${groups.column}`,
    name: `topic-${topic}-by-group`,
    note: `Mean share of the topic in the documents of each.${more}${left}`,
    chart: bars(() => order, { name: "Share of the topic by group" }),
    data: () => ({
      columns: [groups.column, "documents", "share"],
      rows: groups.names.map((name, i) => [name, groups.n_docs[i], groups.shares[i][topic]]),
    }),
  });
}
