/** The keys that do things. */

import { h } from "../dom.js";
import { app } from "../state.js";

const KEYS = [
  ["/", "search topics, words and documents"],
  ["?", "this list"],
  ["[ ]", "topic or document before, after"],
  ["t", "light or dark"],
  ["\u2190 \u2191 \u2192 \u2193", "on the map: the next topic in that direction"],
  ["PgUp PgDn", "on the map: the next larger or smaller topic"],
  ["+ \u2212 0", "on the map: closer, further away, all of it"],
  ["Enter", "on the map: open the topic"],
  ["Esc", "close search, help, or a name that is being changed"],
];

/** Open the list in a dialog. */
export function openHelp() {
  const on = h("input", { type: "checkbox", checked: app.shortcuts });
  on.addEventListener("change", () => {
    app.shortcuts = on.checked;
  });
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": "Keys" },
    h("h2", {}, "Keys"),
    h("dl", {}, KEYS.map(([key, told]) => h("div", {}, h("dt", {}, h("kbd", {}, key)),
      h("dd", {}, told)))),
    h("p", { class: "note" }, "The map moves with the mouse or two fingers; Ctrl and the "
      + "wheel bring it closer."),
    h("label", { class: "check" }, on, "Enable single-key shortcuts (/ ? [ ] t)"),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
