/** Two periods or two groups: what changed in a sentence, a picture and typical documents. */

import { moves } from "../charts/moves.js";
import { inWords } from "../charts/time.js";
import * as store from "../data/store.js";
import { LEAST, differences } from "../data/trends.js";
import { bdi, h } from "../dom.js";
import { change, percent, plural } from "../numbers.js";
import { address, note } from "../router.js";
import { app, label } from "../state.js";
import { card } from "./document.js";
import { figure } from "./figure.js";

const SHOWN = 12; // topics in the picture
const TOLD = 3; // in the sentence, of each direction
const CARDS = 3; // of each side
const FEW = 10; // documents

const link = (k) => h("a", { href: address("topic", k) }, bdi(label(k)));

/** A list in words: a, b and c. */
const listed = (parts) => parts.flatMap((part, i) =>
  [i && (i === parts.length - 1 ? " and " : ", "), part].filter(Boolean));

/** The document with most of a topic, of the first few one whose text is in the page. */
function best(documents, wanted) {
  const found = documents.find(wanted).slice(0, 10);
  return [found.find((i) => documents.held.has(i)) ?? found[0]].filter((i) => i !== undefined);
}

const moved = (verb) => ({ topic, before, now }, i) =>
  [link(topic), i ? " " : ` ${verb} `, `from ${percent(before)} to ${percent(now)}`,
    i ? "" : " of documents"];

/** What there is more of in one than in the other, with the share of the one first. */
const more = (one, other, some, ends) => some.length > 0 && ["More in ", bdi(one), " than in ",
  bdi(other), ": ", listed(some.map((row, i) => {
    const [high, low] = ends.map((end) => percent(row[end]));
    return [link(row.topic), ` (${high}${i ? "" : " of documents"} against ${low})`];
  }))];

const TELL = {
  period: (first, second, less, greater) => ["Between ", bdi(first), " and ", bdi(second), ", ",
    listed([...greater.map(moved("rose")), ...less.map(moved("fell"))])],
  group: (first, second, less, greater) => [more(first, second, less, ["before", "now"]),
    less.length > 0 && greater.length > 0 && ". ",
    more(second, first, greater, ["now", "before"])],
};

/** How two differ, in sentences. */
function sentences(kind, all, names, n) {
  const scarce = n[0] < n[1] ? 0 : 1;
  if (n[scarce] < LEAST) {
    return [h("p", { class: "lede" }, bdi(names[scarce]), ` has ${plural(n[scarce], "document")}, `
      + `which is too few to compare; it takes ${LEAST}.`)];
  }
  const sure = all.filter(({ isSure }) => isSure);
  const less = sure.filter(({ now, before }) => now < before).slice(0, TOLD);
  const greater = sure.filter(({ now, before }) => now > before).slice(0, TOLD);
  const rest = sure.length - less.length - greater.length;
  const none = ["Between ", bdi(names[0]), " and ", bdi(names[1]),
    ", no topic differs by more than its margin of error"];
  return [
    h("p", { class: "lede" }, sure.length ? TELL[kind](...names, less, greater) : none, "."),
    h(
      "p",
      { class: "note" },
      rest > 0 ? `${plural(rest, "more topic")} differ by more than the margin of error; the others do not. `
        : sure.length > 0 && "The other topics do not differ by more than the margin of error. ",
      n[scarce] < FEW && `One side has fewer than ${FEW} documents: do not rely on this.`,
    ),
  ];
}

/** The two largest periods that follow each other. */
export function usualPeriods({ n_docs: n }) {
  const sizes = n.slice(1).map((size, i) => Math.min(size, n[i]));
  const first = sizes.indexOf(Math.max(...sizes));
  return [first, first + 1];
}

/** What changed between these, in sentences. */
export function periodSentences(periods) {
  const chosen = usualPeriods(periods);
  return sentences("period", differences(periods, ...chosen),
    chosen.map((i) => inWords(periods.bins[i], periods.unit)), chosen.map((i) => periods.n_docs[i]));
}

/**
 * A choice of two, and how they differ.
 * @param {{names: string[], n_docs: number[], shares: number[][]}} facts of bins or groups
 * @param {{kind: "period"|"group", written: (name: string) => string, title: string,
 *   usual: number[], query: object, between: ?HTMLElement}} how `usual` are chosen at first;
 *   `between` stands before the typical documents, and may have `show(chosen)`
 */
export function contrast(facts, { kind, written, title, usual, query, between }) {
  const { names, n_docs: n } = facts;
  const chosen = [query.from, query.to].map((name, i) =>
    (names.includes(name) ? names.indexOf(name) : usual[i]));
  const answer = h("div", { class: "contrast", "aria-live": "polite" });
  const key = h("span");
  const cards = h("div", { class: "cards" });
  const named = (side) => written(names[chosen[side]]);
  const select = (side, text) => {
    const id = `${kind}-${side}`;
    const options = names.map((name, i) => h("option", { value: i, selected: i === chosen[side] },
      `${written(name)} (${plural(n[i], "document")})`));
    const element = h("select", { id }, options);
    element.addEventListener("change", () => {
      chosen[side] = Number(element.value);
      note({ from: names[chosen[0]], to: names[chosen[1]] });
      show();
    });
    return h("label", { for: id }, text, element);
  };
  const rows = () => differences(facts, ...chosen);
  const shown = () => {
    const all = rows();
    const sure = all.filter(({ isSure }) => isSure);
    return (sure.length ? sure : all).slice(0, SHOWN).map((row) => ({
      ...row,
      label: label(row.topic),
      told: kind === "period" ? change(row.before, row.now)
        : `${named(0)} ${percent(row.before)}, ${named(1)} ${percent(row.now)}`,
      href: address("topic", row.topic),
    }));
  };
  const chart = moves(shown, title);
  const picture = figure({
    title: "Topics that differ most",
    name: `${kind}s-compared`,
    about: () => `${named(0)} and ${named(1)}`,
    note: key,
    chart,
    data: () => ({
      columns: ["topic", "label", names[chosen[0]], names[chosen[1]], "intervals apart"],
      rows: rows().map(({ topic, before, now, isSure }) =>
        [topic, label(topic), before, now, isSure ? "yes" : "no"]),
    }),
  });
  const show = () => {
    const all = rows();
    key.textContent = `Shares of documents. Ring: ${named(0)}; dot: ${named(1)}.`;
    answer.replaceChildren(...sentences(kind, all, [named(0), named(1)], chosen.map((i) => n[i])));
    chart.redraw();
    picture.hidden = Math.min(...chosen.map((i) => n[i])) < LEAST;
    typical(all);
    between?.show?.([...chosen]);
  };
  async function typical(all) {
    const mine = chosen.join();
    const documents = await store.documents();
    if (!documents || mine !== chosen.join()) return;
    const of = async (side, some) => {
      const found = some.slice(0, CARDS).flatMap(({ topic }) =>
        best(documents, { topic, [kind]: chosen[side] }).map((i) => ({ i, topic })));
      return Promise.all(found.map(({ i, topic }) => card(documents, i, { topic })));
    };
    const sure = all.filter(({ isSure }) => isSure);
    const made = [
      [0, sure.filter(({ now, before }) => now < before)],
      [1, sure.filter(({ now, before }) => now > before)],
    ];
    const parts = await Promise.all(made.map(async ([side, some]) => [side, await of(side, some)]));
    if (mine !== chosen.join()) return;
    if (kind === "period") parts.reverse(); // the newest first
    cards.replaceChildren(...parts.flatMap(([side, some]) => (some.length
      ? [h("h3", { class: "whole" }, "Typical of ", bdi(named(side))), ...some] : [])));
  }
  show();
  return [
    h(
      "section",
      {},
      h("h2", {}, title),
      h("div", { class: "tools pair" }, select(0, kind === "period" ? "From" : "One"),
        select(1, kind === "period" ? "To" : "The other")),
      answer,
      picture,
    ),
    between,
    h("section", { class: "of-both" }, cards),
  ];
}
