/** A text of the user's own: its mixture is inferred here, as Python would infer it. */

import { numbers } from "../data/decode.js";
import * as store from "../data/store.js";
import { h, settled } from "../dom.js";
import { documentOf, infer } from "../infer.js";
import { plural } from "../numbers.js";
import { coloured, palette } from "../parts/coloured.js";
import { canTokenise } from "../parts/document.js";
import { certificate, legend, mixtureFigure } from "../parts/mixture.js";
import { app } from "../state.js";
import { count, tokenise } from "../tokenise.js";
import { missing } from "./missing.js";

const SHOWN = 8; // topics
const LONGEST = 20_000; // characters that are coloured, as of the page's documents

export async function paste() {
  const { tokenizer, inference } = app.model.meta;
  const title = "Your text";
  if (!store.has("topics")) return missing("This page has no vocabulary for inference.", title);
  if (!canTokenise()) {
    return missing(tokenizer.why_not ?? "The tokenizer uses a pattern that browsers do not support.",
      title);
  }
  const table = await store.wordTable();
  const alpha = Float64Array.from(numbers(inference.alpha, "float32"));
  const result = h("div", { class: "result", "aria-live": "polite" });
  const input = h("textarea", { id: "text", rows: 7, dir: "auto", spellcheck: "false" });
  input.value = app.pasted;
  const show = () => {
    app.pasted = input.value;
    result.replaceChildren(...answer(input.value, table, { ...inference, alpha }));
  };
  input.addEventListener("input", settled(show, 150));
  show();
  return {
    title,
    content: [
      h("h1", { tabindex: "-1" }, title),
      h("p", { class: "lede" }, "Type or paste a text and see its topics. It stays in this page."),
      h("label", { for: "text" }, "Text"),
      input,
      h("div", { class: "tools" }, h("button", { type: "button", on: { click: example } },
        "Try a document of the page")),
      inference.says && h("p", { class: "note" }, inference.says),
      result,
    ],
  };

  async function example() {
    const all = await store.documents();
    const held = all?.texts ?? [];
    if (!held.length) return;
    input.value = held[Math.floor(Math.random() * held.length)];
    show();
  }
}

function answer(text, table, inference) {
  if (!text.trim()) return [];
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}\u2026` : text;
  const tokens = tokenise(text, app.model.meta.tokenizer);
  const counted = count(tokens, table);
  const document = documentOf(counted, table);
  const { theta, loss } = infer(document, inference);
  const all = Array.from(theta, (weight, topic) => ({ topic, weight }));
  const mixture = all.sort((a, b) => b.weight - a.weight || a.topic - b.topic);
  const top = mixture.slice(0, SHOWN);
  const colours = palette(top);
  const settings = app.model.meta.tokenizer;
  const body = coloured(shown, { settings, table, mixture, colours });
  const known = plural(document.n_tokens, "word");
  if (!document.n_tokens) return [h("p", { class: "certificate" }, certificate(loss, 0))];
  const unknown = counted.unknown ? `, ${plural(counted.unknown, "other")} it does not` : "";
  const figure = mixtureFigure(top, colours, "your-text");
  figure.dataset.theta = JSON.stringify(Array.from(theta, (p) => Number(p.toPrecision(7))));
  figure.dataset.loss = loss;
  return [
    h("p", { class: "note" }, `${known} that the model knows${unknown}.`),
    h(
      "div",
      { class: "columns reading" },
      h("section", { "aria-label": "Text with topics" }, legend(top, colours, body), body),
      h(
        "div",
        { class: "stack" },
        figure,
        h("p", { class: "certificate" }, certificate(loss, document.n_tokens)),
      ),
    ),
  ];
}
