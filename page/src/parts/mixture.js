/** A document's mixture: its topics with their shares, beside its coloured words. */

import { bars } from "../charts/bars.js";
import { bdi, h } from "../dom.js";
import { NEAR, factor, nats, percent } from "../numbers.js";
import { address } from "../router.js";
import { label } from "../state.js";
import { figure } from "./figure.js";
import { highlight } from "./coloured.js";

/** The shares of a document's topics as a chart with its table. */
export function mixtureFigure(mixture, colours, name) {
  const rows = mixture.map(({ topic, weight, low, high }) => ({
    label: `${topic}  ${label(topic)}`,
    value: weight,
    low,
    high,
    title: `${topic}  ${label(topic)}: ${percent(weight)}`
      + (high === undefined ? "" : `, 95% interval ${percent(low)} to ${percent(high)}`),
    href: address("topic", topic),
    colour: colours.has(topic) ? `colour-${colours.get(topic)}` : "plain",
  }));
  const hasIntervals = mixture[0]?.high !== undefined;
  const rest = 1 - mixture.reduce((sum, { weight }) => sum + weight, 0);
  if (rest > 0.005) rows.push({ label: "all others", value: rest, colour: "plain" });
  return figure({
    title: "Its topics",
    level: 2,
    name,
    chart: bars(() => rows, { name: "Shares of topics", most: 1 }),
    data: () => ({
      columns: ["topic", "label", "share", ...(hasIntervals ? ["low", "high"] : [])],
      rows: mixture.map(({ topic, weight, low, high }) =>
        [topic, label(topic), weight, ...(hasIntervals ? [low, high] : [])]),
    }),
  });
}

/** Buttons that show one topic's words alone, and numbers behind the words. */
export function legend(mixture, colours, body) {
  let only = null;
  const buttons = mixture.filter(({ topic }) => colours.has(topic)).map(({ topic }) => {
    const button = h(
      "button",
      { type: "button", "aria-pressed": "false", class: `chip colour-${colours.get(topic)}` },
      h("span", { class: "swatch", "aria-hidden": "true" }),
      `${topic} `,
      bdi(label(topic)),
    );
    button.addEventListener("click", () => {
      only = only === topic ? null : topic;
      highlight(body, only);
      for (const each of buttons) {
        each.setAttribute("aria-pressed", String(each === button && only !== null));
      }
    });
    return button;
  });
  const numbered = h("input", { type: "checkbox" });
  numbered.addEventListener("change", () => body.classList.toggle("numbered", numbered.checked));
  return h(
    "div",
    { class: "legend" },
    buttons,
    h("label", { class: "check" }, numbered, "Topic numbers in the text"),
  );
}

/** A narrow strip of a document's shares. */
export function strip(mixture, colours) {
  const told = mixture.map(({ topic, weight }) => `topic ${topic}: ${percent(weight)}`).join(", ");
  const parts = mixture.map(({ topic, weight }) => {
    const part = h("span", { class: `colour-${colours.get(topic) ?? "rest"}` });
    part.style.width = `${weight * 100}%`;
    return part;
  });
  return h("span", { class: "strip", role: "img", "aria-label": told, title: told }, parts);
}

/** How certain a document's shares are, in words. */
export function certainty(mixture, probability) {
  if (!mixture.length) return null;
  const { topic } = mixture[0];
  return [`Topic ${topic} `, bdi(label(topic)),
    ` has the largest share with a probability of ${percent(probability)}. `
      + "Lines are 95% credible intervals."];
}

/** What a mixture's certificate says, in words. */
export function certificate(loss, n_tokens) {
  if (!n_tokens) return "The document has no words of the vocabulary; its mixture equals the prior.";
  if (loss === null || Number.isNaN(loss)) return "The accuracy of this mixture is unknown.";
  const better = loss / n_tokens <= NEAR ? "noticeably better"
    : `better by more than ${percent(Math.expm1(loss / n_tokens))} a word`;
  return [
    h("strong", {}, "Proved: "),
    `no other mixture of these topics explains the document\u2019s words ${better}.`,
    h("details", {}, h("summary", {}, "In numbers"),
      `Another mixture makes the document\u2019s words at most ${factor(loss)} times as probable, `
        + `${percent(Math.expm1(loss / n_tokens))} a word: a log-likelihood of ${nats(loss)} nats.`),
  ];
}
