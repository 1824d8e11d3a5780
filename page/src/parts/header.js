/** What stands above every view: the title, the views, search, light and dark. */

import * as store from "../data/store.js";
import { bdi, h } from "../dom.js";
import { address } from "../router.js";
import { app } from "../state.js";
import { theme, toggleTheme } from "../theme.js";
import { openHelp } from "./help.js";
import { openSearch } from "./search.js";

/** @returns {HTMLElement} with `mark(view)` */
export function header() {
  const { meta } = app.model;
  const views = [
    meta.live && ["live", "Live"],
    ["", "Overview"],
    ["topics", "Topics"],
    meta.time && ["time", "Over time"],
    meta.groups && ["groups", "Groups"],
    store.has("documents") && ["documents", "Documents"],
    store.has("topics") && ["paste", "Your text"],
    meta.compare && ["compare", "Two models"],
    ["about", "About"],
  ].filter(Boolean);
  const links = new Map(views.map(([view, name]) =>
    [view, h("a", { href: address(view) }, name)]));
  const list = h("ul", { id: "views" }, [...links.values()].map((link) => h("li", {}, link)));
  const menu = h("button", { type: "button", class: "menu", "aria-controls": "views" });
  const unfold = (isOpen) => {
    list.classList.toggle("open", isOpen);
    menu.setAttribute("aria-expanded", String(isOpen));
  };
  list.addEventListener("click", () => unfold(false));
  menu.addEventListener("click", () => unfold(!list.classList.contains("open")));
  const element = h(
    "header",
    { class: "top" },
    h("a", { class: "brand", href: "#/" }, bdi(meta.title)),
    h("nav", { "aria-label": "Views" }, menu, list),
    h(
      "div",
      { class: "actions" },
      h(
        "button",
        { type: "button", class: "find", "aria-label": "Search", on: { click: openSearch } },
        h("span", {}, "Search"),
        h("kbd", { "aria-hidden": "true" }, "/"),
      ),
      themeButton(),
      h("button", { type: "button", "aria-label": "Glossary and keys", title: "Glossary and keys", on: { click: () => openHelp() } },
        "?"),
    ),
  );
  const part = { topic: "topics", document: "documents", word: "topics" };
  element.mark = (view) => {
    menu.textContent = "Views";
    for (const [name, link] of links) {
      if (name === (part[view] ?? view)) {
        link.setAttribute("aria-current", "page");
        menu.textContent = link.textContent;
      } else link.removeAttribute("aria-current");
    }
    unfold(false);
  };
  return element;
}

function themeButton() {
  const button = h("button", { type: "button", on: { click: toggleTheme } });
  const show = () => {
    const other = theme() === "dark" ? "light" : "dark";
    button.textContent = other === "dark" ? "\u263e" : "\u2600\ufe0e";
    button.setAttribute("aria-label", `Change to ${other}`);
    button.title = `Change to ${other}`;
  };
  document.addEventListener("themechange", show);
  show();
  return button;
}
