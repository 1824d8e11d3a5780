/** Words explained, and the keys that do things. */

import { h } from "../dom.js";
import { app } from "../state.js";

const KEYS = [
  ["/", "search topics, words and documents"],
  ["?", "this glossary"],
  ["[ ]", "topic or document before, after"],
  ["t", "light or dark"],
  ["\u2190 \u2191 \u2192 \u2193", "on the map: the next topic in that direction"],
  ["PgUp PgDn", "on the map: the next larger or smaller topic"],
  ["+ \u2212 0", "on the map: closer, further away, all of it"],
  ["Enter", "on the map: open the topic"],
  ["Esc", "close search, help, or a name that is being changed"],
];

/** What stability is, as docs/howto/journalist.md defines it. */
export const STABILITY = "How well a topic recurs in runs with other random numbers: 1 if all runs have "
  + "the topic, 0 if a single run has it. Prefer topics above 0.7.";

const GLOSSARY = [
  ["Topic", "words that tend to occur in the same documents. A document has several topics. The "
    + "names are the topics\u2019 own words unless somebody renamed them."],
  ["Share, size", "the topic\u2019s part of an average document, of all documents or of some, such "
    + "as those of a month. Without times and groups, its part of all words"],
  ["Interval, band", "where the share lies with 95% confidence if the topics are right"],
  ["Typical document", "one with much of the topic"],
  ["Distinctive, frequent", "words that are more frequent in the topic than elsewhere, or simply "
    + "frequent (relevance \u03bb = 0 to 1)"],
  ["Coherence", "how often a topic\u2019s ten best words share a document (NPMI): 1 always, 0 by chance"],
  ["Stability", `${STABILITY} Below 0.5, a topic is marked \u201cvaries between runs\u201d: read its `
    + "documents before you report it."],
  ["Diversity", "how many of the topics\u2019 best words are distinct"],
  ["Prediction", "among how many equally likely words the model must guess (perplexity)"],
  ["Guarantee", "a proof, for each document, of how much better another mixture could be"],
];

const list = (rows, kind) => h("dl", { class: kind }, rows.map(([name, told]) =>
  h("div", {}, h("dt", {}, kind ? name : h("kbd", {}, name)), h("dd", {}, told))));

/** A mark of a topic that other runs hardly have, which explains itself; or null. */
export const variesMark = (topic) => app.model.varies(topic) && h("button",
  { type: "button", class: "mark-of", on: { click: () => openHelp("Stability") } }, "varies between runs");

/** Open both in a dialog, at a term if one is given. */
export function openHelp(term = null) {
  const on = h("input", { type: "checkbox", checked: app.shortcuts });
  on.addEventListener("change", () => {
    app.shortcuts = on.checked;
  });
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": "Glossary and keys", tabindex: "0" },
    h("h2", {}, "Words of this page"),
    list(GLOSSARY, "glossary"),
    h("h2", {}, "Keys"),
    list(KEYS),
    h("p", { class: "note" }, "The map moves with the mouse or two fingers; Ctrl and the "
      + "wheel bring it closer."),
    h("label", { class: "check" }, on, "Enable single-key shortcuts (/ ? [ ] t)"),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  dialog.focus();
  dialog.scrollTop = 0; // opening goes to the first field
  const wanted = [...dialog.querySelectorAll("dt")].find(({ textContent }) => textContent === term);
  wanted?.parentNode.classList.add("wanted");
  wanted?.scrollIntoView({ block: "center" });
}
