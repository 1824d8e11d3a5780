/** The topic map: circles placed by similarity, sized by weight. */

import { select } from "d3-selection";
import "d3-transition";
import { zoom, zoomIdentity } from "d3-zoom";
import { h, mayMove, unique } from "../dom.js";
import { percent } from "../numbers.js";
import { responsive } from "../parts/figure.js";
import { BUTTONS, placed } from "./labels.js";
import { spread } from "./places.js";

const COVERED = 0.16; // of the map's area, by all circles together
const EDGE = 12;
const CLOSEST = 16; // times as large as the whole
const DIRECTIONS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/**
 * Draw the map.
 * @param {{model: object, label: (topic: number) => string, selected: number,
 *   onSelect: (topic: number) => void, onHover: (topic: ?number) => void,
 *   onOpen: (topic: number) => void}} options
 * @returns {HTMLElement} with `choose(topic)`
 */
export function topicMap(options) {
  const map = new TopicMap(options);
  map.chart.choose = (topic) => map.choose(topic);
  return map.chart;
}

class TopicMap {
  constructor(options) {
    Object.assign(this, options);
    this.hovered = null;
    this.transform = zoomIdentity;
    this.prefix = unique("map");
    this.chart = responsive((svg, width) => this.draw(svg, width), {
      role: "listbox",
      tabindex: "0",
      class: "map",
      "aria-label": "Topic map. Arrow keys go from topic to topic, Enter opens one.",
    });
    this.svg = select(this.chart.querySelector("svg"));
    this.zoom = zoom()
      .scaleExtent([1, CLOSEST])
      .filter((event) => this.mayZoom(event))
      .on("zoom", ({ transform }) => this.moved(transform));
    this.svg.on("keydown", (event) => this.key(event));
    this.chart.append(this.buttons());
  }

  /** The wheel scrolls the page and one finger, too, unless somebody means the map. */
  mayZoom(event) {
    if (event.type === "wheel") return event.ctrlKey || event.metaKey;
    if (event.touches) return event.touches.length > 1;
    return !event.button;
  }

  buttons() {
    const button = (text, name, act) =>
      h("button", { type: "button", "aria-label": name, title: name, on: { click: act } }, text);
    return h(
      "div",
      { class: "zoom" },
      button("+", "Closer", () => this.scale(1.6)),
      button("\u2212", "Further away", () => this.scale(1 / 1.6)),
      button("\u21ba", "Whole map", () => this.whole()),
    );
  }

  scale(factor) {
    this.zoom.scaleBy(mayMove() ? this.svg.transition().duration(250) : this.svg, factor);
  }

  whole() {
    const target = mayMove() ? this.svg.transition().duration(250) : this.svg;
    this.zoom.transform(target, zoomIdentity);
  }

  draw(svg, width) {
    const height = Math.max(380, Math.min(width * 0.92, 660));
    Object.assign(this, { width, height });
    svg.attr("width", width).attr("height", height);
    this.zoom.extent([[0, 0], [width, height]]).translateExtent([[0, 0], [width, height]]);
    svg.call(this.zoom).on("dblclick.zoom", null);
    const unit = (COVERED * width * height) / Math.PI;
    const most = 0.13 * Math.min(width, height);
    const radius = (k) => Math.max(3, Math.min(most, Math.sqrt(this.model.extent(k) * unit)));
    this.spots = this.model.topics.map(({ x, y }, k) => ({ k, x, y, radius: radius(k) }));
    spread(this.spots, this, EDGE, BUTTONS);
    this.layers(svg);
    this.moved(this.transform);
  }

  layers(svg) {
    svg.selectAll("*").remove();
    this.links = svg.append("g").attr("class", "links").attr("role", "presentation");
    const heavyFirst = this.model.bySize.map((k) => this.spots[k]);
    this.circles = svg
      .append("g")
      .attr("role", "presentation")
      .selectAll("g")
      .data(heavyFirst)
      .join("g")
      .attr("class", "topic")
      .attr("role", "option")
      .attr("id", ({ k }) => `${this.prefix}-${k}`)
      .attr("aria-label", ({ k }) => this.described(k))
      .on("click", (_, { k }) => this.onSelect(k))
      .on("dblclick", (_, { k }) => this.onOpen(k))
      .on("pointerenter", (event, { k }) => event.pointerType === "mouse" && this.hover(k))
      .on("pointerleave", () => this.hover(null));
    this.circles.append("circle");
    this.circles.append("text").attr("class", "number").attr("y", 4).text(({ k }) => k);
    this.texts = svg.append("g").attr("class", "labels").attr("aria-hidden", "true");
  }

  described(k) {
    return `Topic ${k}: ${this.label(k)}, ${percent(this.model.share(k))} of all ${this.model.whole}`;
  }

  hover(k) {
    this.hovered = k;
    this.mark();
    this.onHover(k);
  }

  choose(k) {
    this.selected = k;
    if (!this.spots) return;
    const { x, y } = this.at(this.spots[k]);
    if (x < 0 || y < 0 || x > this.width || y > this.height) {
      this.zoom.translateTo(this.svg, this.spots[k].x, this.spots[k].y);
    }
    this.mark();
  }

  /** Where a topic is now, and how large. */
  at({ x, y, radius }) {
    const { k } = this.transform;
    return { x: this.transform.applyX(x), y: this.transform.applyY(y), radius: radius * k ** 0.5 };
  }

  moved(transform) {
    this.transform = transform;
    this.circles.each((spot) => Object.assign(spot, { now: this.at(spot) }));
    this.circles.attr("transform", ({ now }) => `translate(${now.x},${now.y})`);
    this.circles.select("circle").attr("r", ({ now }) => now.radius);
    this.circles
      .select(".number")
      .attr("display", ({ k, now }) => (now.radius > 4 + 4 * String(k).length ? null : "none"));
    this.mark();
  }

  mark() {
    const related = this.model.topics[this.selected].related;
    const near = new Map(related);
    this.circles
      .classed("selected", ({ k }) => k === this.selected)
      .classed("hovered", ({ k }) => k === this.hovered)
      .classed("related", ({ k }) => near.has(k))
      .attr("aria-selected", ({ k }) => String(k === this.selected));
    this.svg.attr("aria-activedescendant", `${this.prefix}-${this.selected}`);
    const from = this.spots[this.selected].now;
    this.links
      .selectAll("line")
      .data(related.map(([k, similarity]) => ({ to: this.spots[k].now, similarity })))
      .join("line")
      .attr("x1", from.x)
      .attr("y1", from.y)
      .attr("x2", ({ to }) => to.x)
      .attr("y2", ({ to }) => to.y)
      .attr("stroke-opacity", ({ similarity }) => 0.15 + 0.6 * similarity);
    this.write();
  }

  write() {
    const first = [this.hovered, this.selected].filter((k) => k !== null);
    const order = [...first, ...this.model.bySize.filter((k) => !first.includes(k))];
    const wanted = order.map((k) => ({ k, ...this.spots[k].now, text: this.label(k) }));
    this.texts
      .selectAll("text")
      .data(placed(wanted, this, first.length), ({ k }) => k)
      .join("text")
      .attr("class", ({ k }) => (first.includes(k) ? "label strong" : "label"))
      .attr("x", ({ left }) => left)
      .attr("y", ({ base }) => base)
      .text(({ shown }) => shown);
  }

  key(event) {
    const { key } = event;
    const at = this.model.bySize.indexOf(this.selected);
    const acts = {
      "+": () => this.scale(1.6),
      "=": () => this.scale(1.6),
      "-": () => this.scale(1 / 1.6),
      0: () => this.whole(),
      Enter: () => this.onOpen(this.selected),
      Home: () => this.onSelect(this.model.bySize[0]),
      End: () => this.onSelect(this.model.bySize.at(-1)),
      PageDown: () => this.onSelect(this.model.bySize[Math.min(at + 1, this.model.size - 1)]),
      PageUp: () => this.onSelect(this.model.bySize[Math.max(at - 1, 0)]),
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (DIRECTIONS[key]) this.onSelect(this.towards(DIRECTIONS[key]));
    else if (acts[key]) acts[key]();
    else return;
    event.preventDefault();
  }

  /** The next topic in a direction: near, and not far off to the side. */
  towards([right, down]) {
    const from = this.spots[this.selected].now;
    let best = this.selected;
    let least = Infinity;
    for (const { k, now } of this.spots) {
      const along = (now.x - from.x) * right + (now.y - from.y) * down;
      const aside = Math.abs((now.x - from.x) * down) + Math.abs((now.y - from.y) * right);
      if (k === this.selected || along <= 0 || along + 2 * aside >= least) continue;
      least = along + 2 * aside;
      best = k;
    }
    return best;
  }
}
