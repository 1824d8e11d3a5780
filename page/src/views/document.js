/** One document: its text with coloured words, its mixture, and what is proved about that. */

import { inWords } from "../charts/time.js";
import * as store from "../data/store.js";
import { bdi, h } from "../dom.js";
import { plural } from "../numbers.js";
import { bodyOf } from "../parts/document.js";
import { certainty, certificate, legend, mixtureFigure } from "../parts/mixture.js";
import { address } from "../router.js";
import { app } from "../state.js";
import { missing } from "./missing.js";

export async function document({ id }) {
  const all = await store.documents();
  const i = all && /^\d+$/.test(id ?? "") ? all.indexOf(Number(id)) : null;
  if (i === null) return missing(`Document ${id} is not in this page.`, "Documents");
  const mixture = all.mixture(i);
  const { body, colours, isEmpty } = await bodyOf(all, i);
  const before = i > 0 ? address("document", all.number(i - 1)) : null;
  const after = i < all.size - 1 ? address("document", all.number(i + 1)) : null;
  return {
    title: all.name(i),
    previous: before,
    next: after,
    content: [
      h(
        "p",
        { class: "eyebrow steps" },
        before && h("a", { href: before, "aria-label": "Document before" }, "\u2190"),
        `Document ${all.number(i)}`,
        after && h("a", { href: after, "aria-label": "Document after" }, "\u2192"),
      ),
      h("h1", { tabindex: "-1", class: "long" }, bdi(all.name(i))),
      h("p", { class: "note" }, facts(all, i)),
      h(
        "div",
        { class: "columns reading" },
        h("section", { "aria-label": "Text" }, !isEmpty && legend(mixture, colours, body), body),
        h(
          "div",
          { class: "stack" },
          mixtureFigure(mixture, colours, `document-${all.number(i)}`),
          h("p", { class: "note" }, certainty(mixture, all.mainProbability(i))),
          h("p", { class: "certificate" }, certificate(all.arrays.loss[i], all.arrays.tokens[i])),
        ),
      ),
    ],
  };
}

function facts(all, i) {
  const { time, groups } = app.model.meta;
  const at = time?.bins[all.arrays.time?.[i] ?? -1];
  const bin = at && inWords(at, time.unit);
  const group = groups?.names[all.arrays.group?.[i] ?? -1];
  const known = plural(Math.round(all.arrays.tokens[i]), "word");
  const parts = [`${known} that the model knows`, bin, group && bdi(group)].filter(Boolean);
  return parts.flatMap((part, n) => (n ? [" \u00b7 ", part] : [part]));
}
