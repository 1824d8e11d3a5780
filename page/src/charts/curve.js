/** A curve of numbers over numbers or times, with its axes. */

import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear, scaleUtc } from "d3-scale";
import { area, curveMonotoneX, line } from "d3-shape";
import { responsive } from "../parts/figure.js";

const GAP = 3; // times the usual step: no line is drawn over a longer one

/** The points in runs that a line may join: times without documents are left open. */
export function runs(points) {
  const steps = points.slice(1).map(({ x }, i) => x - points[i].x);
  const usual = [...steps].sort((a, b) => a - b)[steps.length >> 1];
  const found = points.length ? [[points[0]]] : [];
  for (const [i, step] of steps.entries()) {
    if (step > GAP * usual) found.push([]);
    found.at(-1).push(points[i + 1]);
  }
  return found;
}

const MARGIN = { top: 10, right: 14, bottom: 30, left: 52 };

/**
 * Draw a curve.
 * @param {() => {x: number|Date, y: number, title: string, href: ?string}[]} points
 * @param {{name: string, height: ?number, formatX: ?Function, formatY: ?Function,
 *   fromZero: ?boolean}} options
 */
export function curve(points, options) {
  return responsive((svg, width) => draw(svg, width, points(), options), {
    "aria-label": options.name,
    class: "curve",
  });
}

function draw(svg, width, points, options) {
  const { height = 220, formatX = null, formatY = null, fromZero = false } = options;
  svg.attr("width", width).attr("height", height).selectAll("*").remove();
  if (!points.length) return;
  const values = points.map(({ y }) => y);
  const times = points[0].x instanceof Date;
  const ends = [points[0].x, points.at(-1).x];
  const x = (times ? scaleUtc : scaleLinear)(ends, [MARGIN.left, width - MARGIN.right]);
  const low = fromZero ? 0 : Math.min(...values);
  const y = scaleLinear([low, Math.max(...values)], [height - MARGIN.bottom, MARGIN.top]).nice(4);
  const across = axisBottom(x).ticks(Math.max(2, Math.floor(width / 110))).tickSize(0);
  if (formatX) across.tickFormat(formatX);
  const up = axisLeft(y).ticks(4).tickSize(-(width - MARGIN.left - MARGIN.right));
  if (formatY) up.tickFormat(formatY);
  svg.append("g").attr("class", "axis y").attr("transform", `translate(${MARGIN.left},0)`).call(up);
  svg.append("g").attr("class", "axis x")
    .attr("transform", `translate(0,${height - MARGIN.bottom + 6})`).call(across);
  svg.selectAll(".domain").remove();
  const xOf = (point) => x(point.x);
  const yOf = (point) => y(point.y);
  const filled = area().x(xOf).y0(y(0)).y1(yOf).curve(curveMonotoneX);
  const path = line().x(xOf).y(yOf).curve(curveMonotoneX);
  for (const run of times ? runs(points) : [points]) {
    if (fromZero) svg.append("path").attr("class", "area").attr("d", filled(run));
    svg.append("path").attr("class", "line").attr("d", path(run));
  }
  // links are for pointers: what they lead to has ways of its own for keys
  const places = svg.append("g").selectAll("a").data(points).join("a").attr("tabindex", -1);
  places.attr("href", ({ href }) => href ?? null).attr("aria-label", ({ title }) => title);
  const dots = places.append("circle").attr("class", "dot").attr("cx", xOf).attr("cy", yOf);
  dots.attr("r", points.length > 60 ? 1.5 : 3).append("title").text(({ title }) => title);
}
