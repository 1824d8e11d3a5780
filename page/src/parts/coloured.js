/** Texts whose words have the colours of their topics. */

import { h } from "../dom.js";
import { percent } from "../numbers.js";
import { label } from "../state.js";
import { tokenise } from "../tokenise.js";

export const N_COLOURS = 6;
const LEAST = 0.02; // a share that is worth a colour

/** The colours of a document's heaviest topics: from a topic to a number from 0. */
export function palette(mixture) {
  const shown = mixture.filter(({ weight }) => weight >= LEAST).slice(0, N_COLOURS);
  return new Map(shown.map(({ topic }, i) => [topic, i]));
}

/** The topic that most probably gave a word in a mixture: p(t|w) = theta_t beta_tw / x_w. */
export function topicOfWord(probabilities, mixture) {
  let best = null;
  let most = 0;
  let total = 0;
  for (const { topic, weight } of mixture) {
    const part = weight * probabilities[topic];
    total += part;
    if (part > most) [best, most] = [topic, part];
  }
  return total > 0 ? { topic: best, share: most / total } : null;
}

/**
 * A text with coloured words.
 * @param {string} text
 * @param {{settings: object, table: object, mixture: {topic: number, weight: number}[],
 *   colours: Map<number, number>}} how
 * @returns {HTMLElement}
 */
export function coloured(text, { settings, table, mixture, colours }) {
  const known = new Map();
  const topicOf = (column) => {
    if (!known.has(column)) {
      known.set(column, topicOfWord(table.probabilities(column), mixture));
    }
    return known.get(column);
  };
  const body = h("div", { class: "text", dir: "auto" });
  const pieces = [];
  let at = 0;
  for (const { word, start, end } of tokenise(text, settings).sort(byPlace)) {
    const column = start < at ? undefined : table.column(word);
    const found = column === undefined ? null : topicOf(column);
    if (!found || !colours.has(found.topic)) continue;
    pieces.push(text.slice(at, start), marked(text.slice(start, end), found, colours));
    at = end;
  }
  body.append(...pieces, text.slice(at));
  return body;
}

const byPlace = (a, b) => a.start - b.start || b.end - a.end;

/** A word with its colour, and its topic's number for who does not see that. */
export function marked(text, { topic, share }, colours) {
  const sure = share >= 0.5 ? "" : " unsure";
  return h(
    "span",
    {
      class: `of colour-${colours.get(topic)}${sure}`,
      "data-topic": topic,
      title: `Topic ${topic} (${label(topic)}), ${percent(share)} sure`,
    },
    text,
  );
}

/** Show the words of one topic alone, or all. */
export function highlight(body, topic) {
  body.classList.toggle("dimmed", topic !== null);
  for (const word of body.querySelectorAll(".of")) {
    word.classList.toggle("lit", topic !== null && Number(word.dataset.topic) === topic);
  }
}
