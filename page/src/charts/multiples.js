/** All topics over time: a small picture for each, under headings. */

import { scaleLinear } from "d3-scale";
import { percent } from "../numbers.js";
import { responsive } from "../parts/figure.js";
import { fitted } from "./labels.js";
import { areaPath, endFormat, linePath } from "./time.js";

const WIDTH = 205; // of a picture, at least
const GAP = 24;
const ROW = 138;
const HEAD = 30;
const EDGE = 4;
const [TOP, BOTTOM] = [50, 108];

/**
 * @param {() => {heading: ?string, label: string, href: string, told: ?string, kind: ?string,
 *   lines: {kind: ?string, runs: {x: Date, y: number, low: number, high: number,
 *   title: string}[][]}[], ends: Date[]}[]} cells in order; the first one of each kind has a heading
 * @param {string} name
 */
export function multiples(cells, name) {
  return responsive((svg, width) => draw(svg, width, cells()), {
    "aria-label": name,
    class: "multiples",
  });
}

function draw(svg, width, cells) {
  const columns = Math.max(width < 480 ? 2 : 1, Math.floor((width + GAP) / (WIDTH + GAP)));
  const wide = (width - (columns - 1) * GAP) / columns;
  svg.attr("width", width).selectAll("*").remove();
  const rows = [];
  for (const cell of cells) {
    if (!rows.length || cell.heading || rows.at(-1).length === columns) rows.push([]);
    rows.at(-1).push(cell);
  }
  let y = 0;
  for (const row of rows) {
    y += row.some(({ heading }) => heading) ? HEAD : 0;
    row.forEach((cell, column) => {
      const g = svg.append("g").attr("class", cell.kind ?? null)
        .attr("transform", `translate(${column * (wide + GAP)},${y})`);
      if (cell.heading) g.append("text").attr("class", "head").attr("y", -8).text(cell.heading);
      one(g, cell, wide);
    });
    y += ROW;
  }
  svg.attr("height", Math.max(y, 1));
}

function one(g, { label, href, told = "", lines, ends }, width) {
  const points = lines.flatMap(({ runs }) => runs.flat());
  const most = Math.max(1e-9, ...points.map(({ high }) => high));
  const x = scaleLinear(ends, [EDGE, width - EDGE]);
  const y = scaleLinear([0, most], [BOTTOM, TOP]);
  const xOf = (point) => x(point.x);
  const yOf = (name) => (point) => y(point[name]);
  g.append("a").attr("href", href).append("text").attr("class", "name").attr("y", 14)
    .text(fitted(label, width, 14)).append("title").text(label);
  g.append("text").attr("class", "told").attr("y", 30).text(fitted(told, width, 14));
  g.append("line").attr("class", "base").attr("x2", width).attr("y1", BOTTOM).attr("y2", BOTTOM);
  for (const { kind, runs } of lines) {
    const own = g.append("g").attr("class", kind ?? null);
    own.append("path").attr("class", "area").attr("d", areaPath(runs, xOf, yOf("low"), yOf("high")));
    own.append("path").attr("class", "line").attr("d", linePath(runs, xOf, yOf("y")));
  }
  const peak = points.reduce((best, point) => (point.y > best.y ? point : best));
  const at = xOf(peak);
  g.append("text").attr("class", "peak").attr("x", Math.max(0, Math.min(width, at)))
    .attr("y", y(peak.high) - 4).text(percent(peak.y))
    .attr("text-anchor", at < 20 ? "start" : at > width - 20 ? "end" : "middle");
  const format = endFormat(ends);
  const marks = g.append("g").attr("class", "axis").selectAll("text").data(ends).join("text");
  marks.attr("y", BOTTOM + 14).text(format).attr("x", (_, i) => i * width)
    .attr("text-anchor", (_, i) => ["start", "end"][i]);
  const spots = new Map(); // one where the points of several lines are above each other
  for (const { x: date, title } of points) {
    spots.set(+date, [...(spots.get(+date) ?? []), title]);
  }
  const half = Math.max(2, width / spots.size / 2);
  g.append("g").selectAll("rect").data([...spots]).join("rect").attr("class", "spot")
    .attr("x", ([date]) => x(date) - half).attr("width", 2 * half)
    .attr("y", TOP).attr("height", BOTTOM - TOP)
    .append("title").text(([, titles]) => titles.join("\n"));
}
