/** A matrix of shares as a picture: the darker, the larger. */

import { color } from "d3-color";
import { h } from "../dom.js";
import { responsive } from "../parts/figure.js";

const MARGIN = { top: 26, left: 40 };
const HIGHEST = 680;

/**
 * Draw a matrix.
 * @param {{rows: number[], columns: number[], value: (row: number, column: number) => number,
 *   name: string, told: (row: number, column: number) => string, onPick: Function}} options `rows`
 *   and `columns` are topic numbers in the order shown
 */
export function heat(options) {
  const status = h("p", { class: "note", "aria-live": "polite" }, options.hint);
  const chart = responsive((svg, width) => draw(svg, width, options, status), {
    "aria-label": options.name,
    class: "heat",
  });
  const redraw = () => {
    if (chart.isConnected) chart.redraw();
    else document.removeEventListener("themechange", redraw);
  };
  document.addEventListener("themechange", redraw);
  chart.append(status);
  return chart;
}

function draw(svg, width, { rows, columns, value, told, onPick }, status) {
  const across = width - MARGIN.left;
  const cell = Math.min(across / columns.length, HIGHEST / rows.length, 30);
  const [wide, high] = [cell * columns.length, cell * rows.length];
  svg.attr("width", width).attr("height", MARGIN.top + high + 2).selectAll("*").remove();
  svg.append("image")
    .attr("href", picture(rows, columns, value, getComputedStyle(svg.node()).color))
    .attr("x", MARGIN.left).attr("y", MARGIN.top).attr("width", wide).attr("height", high)
    .attr("preserveAspectRatio", "none");
  svg.append("rect").attr("class", "frame").attr("x", MARGIN.left).attr("y", MARGIN.top)
    .attr("width", wide).attr("height", high);
  numbered(svg, columns, cell, (i) => [MARGIN.left + (i + 0.5) * cell, MARGIN.top - 8, "middle"]);
  numbered(svg, rows, cell, (i) => [MARGIN.left - 6, MARGIN.top + (i + 0.5) * cell + 4, "end"]);
  const mark = svg.append("rect").attr("class", "mark").attr("width", cell).attr("height", cell)
    .attr("display", "none");
  const at = (event) => {
    const box = svg.node().getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - MARGIN.left) / cell);
    const row = Math.floor((event.clientY - box.top - MARGIN.top) / cell);
    return rows[row] === undefined || columns[column] === undefined ? null : [row, column];
  };
  svg.on("pointermove", (event) => {
    const found = at(event);
    mark.attr("display", found ? null : "none");
    if (!found) return;
    const [row, column] = found;
    mark.attr("x", MARGIN.left + column * cell).attr("y", MARGIN.top + row * cell);
    status.textContent = told(rows[row], columns[column]);
  });
  svg.on("click", (event) => {
    const found = at(event);
    if (found) onPick(rows[found[0]], columns[found[1]]);
  });
}

/** Numbers along a side, as many as there is room for. */
function numbered(svg, numbers, cell, place) {
  const each = Math.ceil(24 / cell);
  const some = numbers.map((number, i) => [number, place(i)]).filter((_, i) => i % each === 0);
  const texts = svg.append("g").selectAll("text").data(some).join("text");
  texts.attr("x", ([, [x]]) => x).attr("y", ([, [, y]]) => y).text(([number]) => number);
  texts.attr("text-anchor", ([, [, , anchor]]) => anchor);
}

/** The matrix as an image, a pixel a cell. */
function picture(rows, columns, value, ink) {
  const canvas = document.createElement("canvas");
  canvas.width = columns.length;
  canvas.height = rows.length;
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(columns.length, rows.length);
  const { r, g, b } = color(ink).rgb();
  let i = 0;
  for (const row of rows) {
    for (const column of columns) {
      pixels.data.set([r, g, b, Math.round(255 * value(row, column) ** 2)], i);
      i += 4;
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}
