/** Documents as cards and as coloured texts. */

import * as store from "../data/store.js";
import { bdi, h } from "../dom.js";
import { count, percent } from "../numbers.js";
import { address } from "../router.js";
import { app, label } from "../state.js";
import { tokenise } from "../tokenise.js";
import { coloured, marked, palette, topicOfWord } from "./coloured.js";
import { strip } from "./mixture.js";

const SHORT = 420; // characters of a card's text
const HALF = /[\ud800-\udbff]$/; // of a character that was cut in two

/** Whether texts can be cut into words here. */
export function canTokenise() {
  const { tokenizer } = app.model.meta;
  if (tokenizer.why_not) return false;
  try {
    tokenise("a word", tokenizer);
    return true;
  } catch {
    return false;
  }
}

/**
 * A document's text with coloured words, or its counted words, or a sentence that says why not.
 * @returns {{body: HTMLElement, colours: Map, isColoured: boolean}}
 */
export async function bodyOf(documents, i, cut = Infinity) {
  const mixture = documents.mixture(i);
  const table = await store.wordTable();
  const colours = palette(mixture);
  const text = documents.text(i);
  const counts = text === null ? documents.counts(i) : null;
  if (counts && table) return { body: counted(counts, table, mixture, colours, cut), colours };
  if (text === null) {
    const missing = "The text is not in this page; the overview lists what the page contains.";
    return { body: h("p", { class: "note" }, missing), colours, isEmpty: true };
  }
  const part = text.slice(0, cut).replace(HALF, "").trimEnd();
  const shown = text.length > cut ? `${part}\u2026` : text;
  const settings = app.model.meta.tokenizer;
  if (!table || !canTokenise()) {
    return { body: h("div", { class: "text", dir: "auto" }, shown), colours, isEmpty: true };
  }
  return { body: coloured(shown, { settings, table, mixture, colours }), colours };
}

/** The words of a document that is counts alone. */
function counted({ columns, counts }, table, mixture, colours, cut) {
  const order = Array.from(columns, (_, i) => i).sort((a, b) => counts[b] - counts[a]);
  const body = h("div", { class: "text counted" });
  for (const i of order.slice(0, cut === Infinity ? undefined : 40)) {
    const word = table.words[columns[i]];
    const times = counts[i] === 1 ? "" : `\u00d7${count(counts[i])}`;
    const found = topicOfWord(table.probabilities(columns[i]), mixture);
    const known = found && colours.has(found.topic);
    body.append(known ? marked(word, found, colours) : bdi(word), `${times} `);
  }
  return body;
}

/** A document in a list: its name, its topics, the beginning of its text. */
export async function card(documents, i, { topic = null } = {}) {
  const mixture = documents.mixture(i);
  const { body, colours, isEmpty } = await bodyOf(documents, i, SHORT);
  for (const word of body.querySelectorAll(".of")) {
    word.classList.toggle("main", Number(word.dataset.topic) === topic);
  }
  const number = documents.number(i);
  return h(
    "article",
    { class: "card" },
    h("h3", {}, h("a", { href: address("document", number) }, bdi(documents.name(i)))),
    h(
      "p",
      { class: "note" },
      topic !== null && `${percent(documents.share(i, topic))} topic ${topic} \u00b7 `,
      `document ${number}`,
    ),
    strip(mixture, colours),
    isEmpty && documents.text(i) === null ? null : body,
    h("p", { class: "swatches" }, mixture.filter((each) => colours.has(each.topic)).slice(0, 3)
      .map((each) => h("a", { class: `colour-${colours.get(each.topic)}`,
        href: address("topic", each.topic) },
      h("span", { class: "swatch", "aria-hidden": "true" }), `${each.topic} `,
      bdi(label(each.topic))))),
  );
}
