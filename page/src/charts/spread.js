/** A dot for each of many values, stacked where they are alike. */

import { axisBottom } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { responsive } from "../parts/figure.js";

const BOTTOM = 28;
const SIDE = 16;
const HIGHEST = 180;

/**
 * Draw the dots.
 * @param {() => {value: number}[]} values
 * @param {{name: string, told: Function, onPick: Function}} options
 */
export function spread(values, options) {
  return responsive((svg, width) => draw(svg, width, values(), options), {
    "aria-label": options.name,
    role: "img",
    class: "spread",
  });
}

function draw(svg, width, values, { told, onPick }) {
  const all = values.map(({ value }) => value);
  const x = scaleLinear([Math.min(0, ...all), Math.max(...all)], [SIDE, width - SIDE]).nice(5);
  // so small that the highest stack has room
  let size = 20;
  let dots = stacked(values, x, size);
  while (dots.highest * size > HIGHEST && size > 1.5) {
    size *= 0.85;
    dots = stacked(values, x, size);
  }
  const height = Math.max(90, dots.highest * size) + BOTTOM + 8;
  svg.attr("width", width).attr("height", height).selectAll("*").remove();
  const ticks = axisBottom(x).ticks(Math.max(3, Math.floor(width / 90))).tickSize(0);
  svg.append("g").attr("class", "axis x").attr("transform", `translate(0,${height - BOTTOM + 6})`)
    .call(ticks);
  svg.append("line").attr("class", "base").attr("x1", SIDE).attr("x2", width - SIDE)
    .attr("y1", height - BOTTOM).attr("y2", height - BOTTOM);
  svg.selectAll(".domain").remove();
  const circles = svg.append("g").selectAll("circle").data(dots.placed).join("circle");
  circles.attr("class", "pick").attr("cx", ({ bin }) => SIDE + (bin + 0.5) * size)
    .attr("cy", ({ level }) => height - BOTTOM - 2 - (level + 0.5) * size)
    .attr("r", Math.max(0.8, size / 2 - 0.75));
  circles.append("title").text(told);
  circles.on("click", (_, dot) => onPick(dot));
}

function stacked(values, x, size) {
  const levels = new Map();
  const placed = values.map((each) => {
    const bin = Math.floor((x(each.value) - SIDE) / size);
    const level = levels.get(bin) ?? 0;
    levels.set(bin, level + 1);
    return { ...each, bin, level };
  });
  return { placed, highest: Math.max(...levels.values()) };
}
