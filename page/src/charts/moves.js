/** Shares of two sides: a line from a ring to a dot for each topic. */

import { axisTop } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { percentTick } from "../numbers.js";
import { responsive } from "../parts/figure.js";
import { fitted, widthOf } from "./labels.js";

const ROW = 28;
const TOP = 24;
const NARROW = 560; // where names and numbers are above the lines
const LETTERS = 14;

/**
 * @param {() => {label: string, href: string, before: number, now: number, told: string}[]} rows
 *   `told` are both numbers in words
 */
export function moves(rows, name) {
  return responsive((svg, width) => draw(svg, width, rows()), {
    "aria-label": name,
    class: "moves",
  });
}

function draw(svg, width, rows) {
  const isNarrow = width < NARROW;
  const row = isNarrow ? 2.4 * ROW : ROW;
  const middle = isNarrow ? row - 18 : 14;
  svg.attr("width", width).attr("height", TOP + rows.length * row + 4).selectAll("*").remove();
  const widest = (text) => Math.max(0, ...rows.map((each) => widthOf(text(each), LETTERS)));
  const right = isNarrow ? 8 : Math.min(widest(({ told }) => told) + 16, width * 0.4);
  const left = isNarrow ? 8 : Math.min(widest(({ label }) => label) + 16, width * 0.45);
  const most = Math.max(1e-6, ...rows.flatMap(({ before, now }) => [before, now]));
  const x = scaleLinear([0, most], [left, width - right]).nice(3);
  svg.append("g").attr("class", "axis x").attr("transform", `translate(0,${TOP - 4})`)
    .call(axisTop(x).ticks(3).tickFormat(percentTick).tickSize(-(rows.length * row)));
  svg.selectAll(".domain").remove();
  const lines = svg.selectAll("g.move").data(rows).join("g");
  lines.attr("class", ({ before, now }) => `move ${now >= before ? "rising" : "fading"}`);
  lines.attr("transform", (_, i) => `translate(0,${TOP + i * row})`);
  lines.append("title").text(({ label, told }) => `${label}: ${told}`);
  lines.append("a").attr("href", ({ href }) => href).append("text").attr("y", 18)
    .text(({ label }) => fitted(label, isNarrow ? width : left - 14, LETTERS));
  lines.append("line").attr("x1", ({ before }) => x(before)).attr("x2", ({ now }) => x(now))
    .attr("y1", middle).attr("y2", middle);
  lines.append("circle").attr("class", "before").attr("cx", ({ before }) => x(before))
    .attr("cy", middle).attr("r", 4);
  lines.append("circle").attr("class", "now").attr("cx", ({ now }) => x(now)).attr("cy", middle)
    .attr("r", 5);
  lines.append("text").attr("class", "share").attr("x", isNarrow ? 0 : width)
    .attr("y", isNarrow ? 36 : 18).attr("text-anchor", isNarrow ? "start" : "end")
    .text(({ told }) => fitted(told, isNarrow ? width : right, 13));
}
