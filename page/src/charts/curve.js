/** A curve of numbers over numbers or times, with its axes. */

import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { responsive } from "../parts/figure.js";
import { areaPath, linePath, runs, timeTicks } from "./time.js";

const MARGIN = { top: 10, right: 14, bottom: 30, left: 52 };

/**
 * Draw a curve.
 * @param {() => {x: number|Date, y: number, title: string, href: ?string, low: ?number,
 *   high: ?number, mean: ?number}[]} points
 * @param {{name: string, height: ?number, formatX: ?Function, formatY: ?Function,
 *   gaps: ?number[]}} options `gaps` are the places of points after which a line goes on
 */
export function curve(points, options) {
  return responsive((svg, width) => draw(svg, width, points(), options), {
    "aria-label": options.name,
    class: "curve",
  });
}

function draw(svg, width, points, options) {
  const { height = 220, formatX = null, formatY = null, gaps = null } = options;
  svg.attr("width", width).attr("height", height).selectAll("*").remove();
  if (!points.length) return;
  const values = points.flatMap(({ y, high }) => (high === undefined ? [y] : [y, high]));
  const times = points[0].x instanceof Date;
  const ends = [points[0].x, points.at(-1).x];
  const x = scaleLinear(ends, [MARGIN.left, width - MARGIN.right]);
  const low = gaps ? 0 : Math.min(...values);
  const y = scaleLinear([low, Math.max(...values)], [height - MARGIN.bottom, MARGIN.top]).nice(4);
  const n = Math.max(2, Math.floor(width / 110));
  const across = axisBottom(x).ticks(n).tickSize(0);
  if (formatX) across.tickFormat(formatX);
  if (times) {
    const { ticks, format } = timeTicks(ends, n);
    across.tickValues(ticks).tickFormat((at) => format(new Date(at)));
  }
  const up = axisLeft(y).ticks(4).tickSize(-(width - MARGIN.left - MARGIN.right));
  if (formatY) up.tickFormat(formatY);
  svg.append("g").attr("class", "axis y").attr("transform", `translate(${MARGIN.left},0)`).call(up);
  svg.append("g").attr("class", "axis x")
    .attr("transform", `translate(0,${height - MARGIN.bottom + 6})`).call(across);
  svg.selectAll(".domain").remove();
  const xOf = (point) => x(point.x);
  const yOf = (name) => (point) => y(point[name]);
  const parts = runs(points, gaps ?? []);
  const shape = (kind, d) => svg.append("path").attr("class", kind).attr("d", d);
  if (gaps) {
    shape("area", areaPath(parts, xOf, yOf("low"), yOf("high")));
    shape("mean", linePath(parts, xOf, yOf("mean")));
  }
  shape("line", linePath(parts, xOf, yOf("y")));
  // links are for pointers: what they lead to has ways of its own for keys
  const places = svg.append("g").selectAll("a").data(points).join("a").attr("tabindex", -1);
  places.attr("href", ({ href }) => href ?? null).attr("aria-label", ({ title }) => title);
  const dots = places.append("circle").attr("class", "dot").attr("cx", xOf).attr("cy", yOf("y"));
  dots.attr("r", points.length > 60 ? 1.5 : 3).append("title").text(({ title }) => title);
}
