/** Rows with a bar each: shares of topics, of groups, of documents. */

import { scaleLinear } from "d3-scale";
import { creator } from "d3-selection";
import { percent } from "../numbers.js";
import { responsive } from "../parts/figure.js";
import { fitted, widthOf } from "./labels.js";

const ROW = 26;
const NUMBER = 56;
const LETTERS = 14;

/**
 * Draw bars.
 * @param {() => {label: string, value: number, href: ?string, colour: ?string, strong: ?boolean,
 *   title: ?string, number: ?string, low: ?number, high: ?number}[]} rows
 * @param {{name: string, most: ?number, format: ?(value: number) => string}} options `most` is what
 *   the whole width stands for
 */
export function bars(rows, { name, most = null, format = percent }) {
  return responsive((svg, width) => draw(svg, width, rows(), { most, format }), {
    "aria-label": name,
    class: "bars",
  });
}

function draw(svg, width, rows, { most, format }) {
  const height = rows.length * ROW;
  svg.attr("width", width).attr("height", Math.max(height, 1));
  const longest = Math.max(0, ...rows.map(({ label }) => widthOf(label, LETTERS)));
  const left = Math.min(longest + 14, width * 0.55);
  const whole = most ?? Math.max(1e-12, ...rows.map(({ value }) => value));
  const told = ({ value, number }) => number ?? format(value);
  const right = Math.max(NUMBER, ...rows.map((row) => widthOf(told(row), LETTERS) + 12));
  const x = scaleLinear([0, whole], [0, Math.max(20, width - left - right)]).clamp(true);
  const lines = svg.selectAll("g.bar").data(rows).join("g");
  lines.attr("class", ({ colour, strong }) => `bar ${colour ?? ""} ${strong ? "strong" : ""}`);
  lines.attr("transform", (_, i) => `translate(0,${i * ROW})`);
  lines.selectAll("*").remove();
  lines.append("title").text(({ label, value, title }) => title ?? `${label}: ${format(value)}`);
  const rest = lines.append(({ href }) => creator(href ? "a" : "g").call(svg.node()));
  rest.attr("href", ({ href }) => href ?? null);
  rest.append("text").attr("y", 17).text(({ label }) => fitted(label, left - 12, LETTERS));
  rest.append("rect").attr("class", "track").attr("x", left).attr("y", 8).attr("rx", 2)
    .attr("height", 10).attr("width", x.range()[1]);
  rest.append("rect").attr("class", "value").attr("x", left).attr("y", 8).attr("rx", 2)
    .attr("height", 10).attr("width", ({ value }) => Math.max(value > 0 ? 1.5 : 0, x(value)));
  rest.filter(({ high }) => high !== undefined).append("path").attr("class", "interval")
    .attr("d", ({ low, high }) => `M${left + x(low)},9v8m0,-4H${left + x(high)}m0,-4v8`);
  rest.append("text").attr("class", "share").attr("x", width).attr("y", 17)
    .attr("text-anchor", "end").text(told);
}
