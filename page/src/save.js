/** Files out of the page: tables as CSV, charts as SVG and PNG. */

import { fitted, widthOf } from "./charts/labels.js";
import { csv } from "./csv.js";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 16;

// what makes a shape look as it does: written onto it, since the file has no stylesheet
const LOOK = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity",
  "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor",
  "paint-order", "stroke-linejoin", "image-rendering"];
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

/** A chart as a file that needs nothing but itself: with its title, a caption and a margin. */
export function standalone(svg, { title, caption }) {
  const { width, height } = svg.getBoundingClientRect();
  const { color, fontFamily, backgroundColor } = getComputedStyle(document.body);
  const sheet = shape("svg", { xmlns: SVG, "font-family": fontFamily });
  const paper = sheet.appendChild(shape("rect", { fill: backgroundColor }));
  let y = MARGIN;
  const write = (text, size, weight) => {
    for (const line of lines(text, width, size, weight)) {
      const look = { fill: color, "font-size": size, "font-weight": weight };
      sheet.appendChild(shape("text", { x: MARGIN, y: y + size, ...look })).textContent = line;
      y += Math.round(1.4 * size);
    }
  };
  write(title, 16, "bold");
  write(caption, 12, "normal");
  y += MARGIN / 2;
  const chart = copied(svg);
  for (const [name, value] of Object.entries({ x: MARGIN, y, width, height })) {
    chart.setAttribute(name, value);
  }
  sheet.append(chart);
  const size = { width: width + 2 * MARGIN, height: y + height + MARGIN };
  for (const [name, value] of Object.entries(size)) {
    sheet.setAttribute(name, value);
    paper.setAttribute(name, value);
  }
  sheet.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  return { text: new XMLSerializer().serializeToString(sheet), ...size };
}

function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** A text in lines that are no wider than that. */
function lines(text, width, size, weight) {
  const found = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = found.length ? `${found.at(-1)} ${word}` : word;
    if (found.length && widthOf(longer, size, weight) <= width) found[found.length - 1] = longer;
    else found.push(fitted(word, width, size));
  }
  return found;
}

/** A copy of a chart with its looks written onto it. */
function copied(svg) {
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
  for (const link of copy.querySelectorAll("a")) link.removeAttribute("href");
  return copy;
}

/** Save a chart as SVG. */
export function saveSVG(name, svg, told) {
  download(`${name}.svg`, "image/svg+xml", standalone(svg, told).text);
}

/** Save a chart as PNG, twice as fine as on the screen. */
export async function savePNG(name, svg, told) {
  const { text, width, height } = standalone(svg, told);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
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
