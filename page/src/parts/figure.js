/** A chart with what belongs to it: a title, the table behind it, and files of both. */

import { select } from "d3-selection";
import { h } from "../dom.js";
import { savePNG, saveSVG, saveTable } from "../save.js";
import { table } from "./table.js";

/**
 * A chart that is drawn anew whenever its width changes.
 * @param {(svg: object, width: number) => void} draw sets the height itself
 * @returns {HTMLElement} with `redraw()`
 */
export function responsive(draw, properties = {}) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ role: "group", ...properties })) {
    svg.setAttribute(name, value);
  }
  const box = h("div", { class: "chart" }, svg);
  let width = 0;
  box.redraw = () => {
    if (!width) return;
    draw(select(svg), width);
    svg.setAttribute("viewBox", `0 0 ${width} ${svg.getAttribute("height")}`); // for paper
  };
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (!now || now === width) return;
    width = now;
    box.redraw();
  }).observe(box);
  return box;
}

/**
 * A chart with its title and its files.
 * @param {{title: string|Node, name: string|Function, chart: HTMLElement, note: ?(string|Node|Array),
 *   data: () => {columns: string[], rows: any[][]}, level: ?number, about: ?() => string,
 *   caption: ?string}} parts `about` is what the chart is of and `caption` what its marks are, for
 *   files, which stand alone; by default the note
 */
export function figure(parts) {
  const { title, name, chart, note = null, data, level = 3, about = null, caption = null } = parts;
  const behind = h("div", { class: "behind" });
  const shown = h("button", { type: "button", "aria-expanded": "false" }, "Table");
  shown.addEventListener("click", () => {
    const open = shown.getAttribute("aria-expanded") !== "true";
    shown.setAttribute("aria-expanded", String(open));
    behind.replaceChildren(...(open ? [table(data(), nameOf(title))] : []));
  });
  const svg = () => chart.querySelector("svg");
  const file = () => (typeof name === "function" ? name() : name);
  const told = () => ({
    title: about ? `${about()}: ${nameOf(title).toLowerCase()}` : nameOf(title),
    caption: caption ?? (note ? nameOf(note) : ""),
  });
  const named = (text) => ({ type: "button", "aria-label": `${text} of ${nameOf(title)}` });
  const button = (text, save) => h("button", { ...named(text), on: { click: save } }, text);
  shown.setAttribute("aria-label", `Table of ${nameOf(title)}`);
  return h(
    "figure",
    { class: "figure" },
    h("figcaption", {}, h(`h${level}`, {}, title), note && h("div", { class: "note" }, note)),
    chart,
    h(
      "div",
      { class: "files" },
      shown,
      button("CSV", () => saveTable(file(), data())),
      button("SVG", () => saveSVG(file(), svg(), told())),
      button("PNG", () => savePNG(file(), svg(), told())),
    ),
    behind,
  );
}

const nameOf = (title) => (typeof title === "string" ? title : title.textContent);
