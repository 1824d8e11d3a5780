/** Files out of the page: tables as CSV, charts as SVG and PNG. */

import { csv } from "./csv.js";

// what makes a shape look as it does: written onto it, since the file has no stylesheet
const LOOK = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "stroke-linejoin",
  "image-rendering"];
const PNG_SCALE = 2;

/** Offer a file for saving. */
export function download(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Save a table. */
export function saveTable(name, { columns, rows }) {
  // the mark at the beginning tells spreadsheets that this is UTF-8
  download(`${name}.csv`, "text/csv;charset=utf-8", `\ufeff${csv(columns, rows)}`);
}

/** A copy of a chart that needs nothing but itself. */
export function standalone(svg) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of LOOK) {
      const value = style.getPropertyValue(name);
      if (value) element.setAttribute(name, value);
    }
    for (const name of ["class", "style", "tabindex", "id"]) element.removeAttribute(name);
    if (style.display === "none") element.setAttribute("display", "none");
  });
  const { width, height } = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(paper);
  for (const link of copy.querySelectorAll("a")) link.removeAttribute("href");
  return new XMLSerializer().serializeToString(copy);
}

/** Save a chart as SVG. */
export function saveSVG(name, svg) {
  download(`${name}.svg`, "image/svg+xml", standalone(svg));
}

/** Save a chart as PNG, twice as fine as on the screen. */
export async function savePNG(name, svg) {
  const { width, height } = svg.getBoundingClientRect();
  const address = URL.createObjectURL(new Blob([standalone(svg)], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * PNG_SCALE;
  canvas.height = height * PNG_SCALE;
  const context = canvas.getContext("2d");
  context.scale(PNG_SCALE, PNG_SCALE);
  context.drawImage(image, 0, 0, width, height);
  URL.revokeObjectURL(address);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  download(`${name}.png`, "image/png", blob);
}
