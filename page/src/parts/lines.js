/** Topics over time in two groups: two lines for each topic. */

import { multiples } from "../charts/multiples.js";
import { dateOf, inWords, runs } from "../charts/time.js";
import { gapsAfter, meansOf } from "../data/lines.js";
import * as store from "../data/store.js";
import { differences } from "../data/trends.js";
import { bdi, h } from "../dom.js";
import { percent, plural } from "../numbers.js";
import { address } from "../router.js";
import { app, label } from "../state.js";
import { figure } from "./figure.js";

const TOPICS = 12; // in the picture
const SIDES = ["solid", "dashed"];

/** The means of groups in bins; in longer periods if half of the bins have too few documents. */
function meansByTime(documents, chosen) {
  const { time } = app.model.meta;
  const units = [[time, documents.arrays.time], [time.periods, documents.arrays.period]];
  const all = units.map(([{ bins, unit }, places]) => ({ bins, unit,
    sides: chosen.map((group) => meansOf(documents, places, group, bins.length)) }));
  const isEnough = ({ bins, sides }) => sides.every(({ size }) => size > 1 && 2 * size >= bins.length);
  return all.find(isEnough) ?? all[1];
}

/** A figure with `show(chosen)`, which draws two groups; null without times. */
export function groupsOverTime() {
  const { time, groups } = app.model.meta;
  if (!time || !store.has("documents")) return null;
  let chosen = [0, 0];
  let found = null;
  const names = () => chosen.map((i) => groups.names[i]);
  const points = (side, topic) => [...found.sides[side]].map(([bin, { n, of }]) => {
    const { mean, low, high } = of(topic);
    const at = inWords(found.bins[bin], found.unit);
    return { x: dateOf(found.bins[bin]), y: mean, low, high, n, bin,
      title: `${names()[side]}, ${at}: ${percent(mean)} of ${plural(n, "document")}` };
  });
  const lines = (topic) => SIDES.map((kind, side) => {
    const all = points(side, topic);
    return { kind: `line-of ${kind}`, runs: runs(all, gapsAfter(all.map(({ x }) => x), found.unit)) };
  });
  const ends = () => {
    const bins = found.sides.flatMap((side) => [...side.keys()]);
    return [Math.min(...bins), Math.max(...bins)].map((i) => dateOf(found.bins[i]));
  };
  const isDrawn = () => found?.sides.every(({ size }) => size > 1);
  const topics = () => differences(groups, ...chosen).map(({ topic }) => topic);
  const cells = () => (isDrawn() ? topics().slice(0, TOPICS).map((topic) => ({
    label: label(topic), href: address("topic", topic), lines: lines(topic), ends: ends() })) : []);
  const key = h("div");
  const chart = multiples(cells, "Topics over time in two groups");
  const made = figure({
    title: "Both groups over time",
    level: 2,
    name: "groups-over-time",
    about: () => names().join(" and "),
    note: key,
    chart,
    data: () => ({
      columns: ["topic", "label", groups.column, time.column, "documents", "mean share", "from", "to"],
      rows: isDrawn() ? topics().flatMap((topic) => names().flatMap((name, side) =>
        points(side, topic).map(({ y, low, high, n, bin }) =>
          [topic, label(topic), name, found.bins[bin], n, y, low, high]))) : [],
    }),
  });
  made.show = async (wanted) => {
    const documents = await store.documents();
    chosen = wanted;
    found = meansByTime(documents, chosen);
    const n = app.model.meta.corpus.n_docs;
    const part = documents.size < n ? ` among the ${plural(documents.size, "document")} of this page` : "";
    key.replaceChildren(...(isDrawn() ? [
      ...SIDES.map((kind, side) => h("span", { class: `line-of ${kind}` }, h("span", { class: "stroke" }),
        bdi(names()[side]), side ? ". " : " ")),
      `Mean share of the documents of each ${found.unit}${part}, with its 95% interval. Compare the two `
        + "lines with each other: these means are not corrected as the shares above are.",
    ] : ["Too few documents have dates in one of the two groups."]));
    chart.redraw();
  };
  return made;
}
