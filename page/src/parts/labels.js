/** Names that people give to topics: changed in place, taken away as a file or a command. */

import { bdi, h } from "../dom.js";
import { plural } from "../numbers.js";
import { download } from "../save.js";
import { labelCommand } from "../shell.js";
import { app, label, rename, renamed } from "../state.js";

/**
 * A topic's name as a heading that can be changed.
 * @param {number} topic
 * @param {() => void} onChange
 */
export function editableLabel(topic, onChange) {
  const heading = h("h1", { tabindex: "-1" });
  const box = h("div", { class: "editable" }, heading);
  const show = () => {
    const edit = h("button", { type: "button", class: "edit", on: { click: change } }, "Rename");
    heading.replaceChildren(bdi(label(topic)));
    box.replaceChildren(heading, edit);
    return edit;
  };
  const change = () => {
    const input = h("input", { type: "text", value: label(topic), "aria-label": "Name" });
    const done = (keep) => {
      if (keep) rename(topic, input.value);
      show().focus();
      onChange();
    };
    const form = h("form", { class: "rename" }, input,
      h("button", { type: "submit" }, "Keep"),
      h("button", { type: "button", on: { click: () => done(false) } }, "Cancel"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      done(true);
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") done(false);
    });
    box.replaceChildren(form);
    input.focus();
    input.select();
  };
  show();
  return box;
}

/** How to take the names that were given out of the page. */
export function labelFiles() {
  const box = h("section", { class: "label-files" });
  const show = () => {
    const labels = renamed();
    if (!labels.length) {
      box.replaceChildren(
        h("p", { class: "note" }, "Topics can be renamed on their own pages. Names last while this "
          + "page is open; take them with you as a file, or into the model with a command."),
      );
      return;
    }
    const command = labelCommand(app.model.meta.model.name, labels);
    const copied = h("span", { role: "status", class: "note" });
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(command);
        copied.textContent = "Copied.";
      } catch {
        copied.textContent = "Select the command and copy it.";
      }
    };
    box.replaceChildren(
      h("h2", {}, "Your topic names"),
      h("p", {}, `${plural(labels.length, "topic")} renamed. They last while this page is open; `
        + "this command puts them into the model:"),
      h("pre", { tabindex: "0" }, h("code", {}, command)),
      h(
        "div",
        { class: "tools" },
        h("button", { type: "button", on: { click: copy } }, "Copy the command"),
        h("button", { type: "button", on: { click: () => save(labels) } }, "Labels as JSON"),
        copied,
      ),
    );
  };
  show();
  box.refresh = show;
  return box;
}

function save(labels) {
  const content = JSON.stringify(Object.fromEntries(labels), null, 1);
  download("labels.json", "application/json", content);
}
