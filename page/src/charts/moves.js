/** Shares then and now: a line from a ring to a dot for each topic. */

import { axisTop } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { percent, percentTick } from "../numbers.js";
import { responsive } from "../parts/figure.js";
import { fitted, widthOf } from "./labels.js";

const ROW = 28;
const TOP = 24;
const LETTERS = 14;

/** @param {() => {label: string, href: string, before: number, now: number}[]} rows */
export function moves(rows, name) {
  return responsive((svg, width) => draw(svg, width, rows()), {
    "aria-label": name,
    class: "moves",
  });
}

function draw(svg, width, rows) {
  svg.attr("width", width).attr("height", TOP + rows.length * ROW + 4).selectAll("*").remove();
  const longest = Math.max(0, ...rows.map(({ label }) => widthOf(label, LETTERS)));
  const left = Math.min(longest + 16, width * 0.5);
  const most = Math.max(1e-6, ...rows.flatMap(({ before, now }) => [before, now]));
  const x = scaleLinear([0, most], [left, width - 70]).nice(3);
  svg.append("g").attr("class", "axis x").attr("transform", `translate(0,${TOP - 4})`)
    .call(axisTop(x).ticks(3).tickFormat(percentTick).tickSize(-(rows.length * ROW)));
  svg.selectAll(".domain").remove();
  const lines = svg.selectAll("g.move").data(rows).join("g");
  lines.attr("class", ({ before, now }) => `move ${now >= before ? "rising" : "fading"}`);
  lines.attr("transform", (_, i) => `translate(0,${TOP + i * ROW})`);
  lines.append("title").text(({ label, before, now }) =>
    `${label}: ${percent(before)} before, ${percent(now)} now`);
  lines.append("a").attr("href", ({ href }) => href).append("text").attr("y", 18)
    .text(({ label }) => fitted(label, left - 14, LETTERS));
  lines.append("line").attr("x1", ({ before }) => x(before)).attr("x2", ({ now }) => x(now))
    .attr("y1", 14).attr("y2", 14);
  lines.append("circle").attr("class", "before").attr("cx", ({ before }) => x(before))
    .attr("cy", 14).attr("r", 4);
  lines.append("circle").attr("class", "now").attr("cx", ({ now }) => x(now)).attr("cy", 14)
    .attr("r", 5);
  lines.append("text").attr("class", "share").attr("x", width).attr("y", 18)
    .attr("text-anchor", "end")
    .text(({ before, now }) => `${now >= before ? "\u25b2" : "\u25bc"} ${percent(now)}`);
}
