/** The words of a topic: how frequent each is in it, and how frequent over all. */

import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import "d3-transition";
import { mayMove } from "../dom.js";
import { perThousand, percent } from "../numbers.js";
import { responsive } from "../parts/figure.js";
import { address } from "../router.js";
import { fitted, widthOf } from "./labels.js";

const ROW = 22;
const LETTERS = 14;
const TOP = 24;
const SHARE = 46; // for the number at the end

/**
 * Draw the words.
 * @param {() => {word: string, probability: number, frequency: number, share: number}[]} rows
 * @returns {HTMLElement} with `update(moving)`
 */
export function wordBars(rows, name) {
  let moving = false;
  const chart = responsive((svg, width) => draw(svg, width, rows(), moving), {
    "aria-label": name,
    class: "words",
  });
  chart.update = (now) => {
    moving = now && mayMove();
    chart.redraw();
    moving = false;
  };
  return chart;
}

function draw(svg, width, rows, moving) {
  const height = TOP + rows.length * ROW + 4;
  svg.attr("width", width).attr("height", height);
  const longest = Math.max(0, ...rows.map(({ word }) => widthOf(word, LETTERS)));
  const left = Math.min(longest + 12, width * 0.42);
  const most = Math.max(1e-12, ...rows.map((row) => Math.max(row.probability, row.frequency)));
  const x = scaleLinear([0, most], [0, Math.max(40, width - left - SHARE - 6)]);
  axis(svg, x, left, height);
  const soon = (selection) => (moving ? selection.transition().duration(350) : selection);
  const lines = svg
    .selectAll("g.word")
    .data(rows, ({ word }) => word)
    .join((enter) => entered(enter, left), (update) => update, (exit) => exit.remove());
  lines.select("title").text((row) => told(row));
  lines.select("a").attr("href", ({ word }) => address("word", word));
  lines.select("a text").text(({ word }) => fitted(word, left - 10, LETTERS));
  lines.selectAll("rect").attr("x", left);
  soon(lines).attr("transform", (_, i) => `translate(0,${TOP + i * ROW})`).attr("opacity", 1);
  soon(lines.select("rect.inside")).attr("width", (row) => Math.max(1, x(row.probability)));
  soon(lines.select("rect.overall")).attr("width", (row) => Math.max(1, x(row.frequency)));
  lines.select("text.share").attr("x", width).text(({ share }) => percent(share));
}

function entered(enter, left) {
  const line = enter.append("g").attr("class", "word").attr("opacity", 0);
  line.attr("transform", (_, i) => `translate(0,${TOP + i * ROW})`);
  line.append("title");
  line.append("a").append("text").attr("y", 15);
  line.append("rect").attr("class", "inside").attr("y", 4).attr("height", 10).attr("x", left);
  line.append("rect").attr("class", "overall").attr("y", 15).attr("height", 3).attr("x", left);
  line.append("text").attr("class", "share").attr("y", 15).attr("text-anchor", "end");
  return line;
}

function axis(svg, x, left, height) {
  const ticks = x.ticks(3).slice(1);
  svg
    .selectAll("g.tick")
    .data(ticks)
    .join((enter) => {
      const tick = enter.insert("g", "g.word").attr("class", "tick");
      tick.append("line");
      tick.append("text").attr("text-anchor", "middle").attr("y", 12);
      return tick;
    })
    .attr("transform", (value) => `translate(${left + x(value)},0)`)
    .each(function write(value, i) {
      const unit = i === ticks.length - 1 ? " per 1,000" : "";
      select(this).select("text").text(`${perThousand(value)}${unit}`);
      select(this).select("line").attr("y1", 18).attr("y2", height);
    });
}

function told({ word, probability, frequency, share }) {
  return `${word}: ${perThousand(probability)} of 1,000 words in this topic, `
    + `${perThousand(frequency)} overall; ${percent(share)} of its uses are in this topic`;
}
