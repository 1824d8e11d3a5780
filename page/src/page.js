/** The page: reads what Python wrote, and shows the view that the address names. */

import * as store from "./data/store.js";
import { h, nodes } from "./dom.js";
import { follow } from "./live.js";
import { header } from "./parts/header.js";
import { openHelp } from "./parts/help.js";
import { openSearch } from "./parts/search.js";
import { parse } from "./router.js";
import { app, take, titled } from "./state.js";
import { followSystem, toggleTheme } from "./theme.js";
import { about } from "./views/about.js";
import { compare } from "./views/compare.js";
import { document as documentView } from "./views/document.js";
import { documents } from "./views/documents.js";
import { groups } from "./views/groups.js";
import { live } from "./views/live.js";
import { missing } from "./views/missing.js";
import { overview } from "./views/overview.js";
import { paste } from "./views/paste.js";
import { time } from "./views/time.js";
import { topic } from "./views/topic.js";
import { topics } from "./views/topics.js";
import { word } from "./views/word.js";

const VIEWS = {
  "": overview,
  topics,
  topic,
  time,
  groups,
  about,
  documents,
  document: documentView,
  paste,
  compare,
  word,
  live,
};

const main = h("main", { id: "content" });
const places = new Map(); // where each address was left
let current = {};
let turn = 0;
let follows = false; // whether a link was followed, and not the way back
let isTouched = false; // the view, by somebody who would not want it changed

/** Show the view of the address. */
async function show({ first = false } = {}) {
  const mine = ++turn;
  const { hash } = location;
  const route = parse(hash);
  main.setAttribute("aria-busy", "true");
  const found = await viewOf(route);
  if (mine !== turn) return; // another one was asked for meanwhile
  current = found;
  isTouched = false;
  main.replaceChildren(...nodes(found.content));
  main.dataset.shown = hash;
  main.removeAttribute("aria-busy");
  top.mark(route.view);
  titled(route.view && found.title);
  if (first) return;
  main.querySelector("h1")?.focus({ preventScroll: true });
  scrollTo(0, follows ? 0 : (places.get(hash) ?? 0));
  follows = false;
}

async function viewOf(route) {
  try {
    if (!Object.hasOwn(VIEWS, route.view)) return missing("This view does not exist.");
    if (!app.model.size && route.view !== "live") {
      return missing("No documents were learned yet; reload this page later.", "No topics yet");
    }
    return await VIEWS[route.view](route);
  } catch (error) {
    console.error(error);
    return missing(`This view could not be shown: ${error.message}`);
  }
}

function key(event) {
  const typing = event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !app.shortcuts) return;
  const step = (to) => {
    if (!to) return;
    follows = true;
    location.hash = to;
  };
  const acts = {
    "/": openSearch,
    "?": openHelp,
    t: toggleTheme,
    "[": () => step(current.previous),
    "]": () => step(current.next),
  };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
}

take(store.readMeta());
followSystem();
const top = header();
const { version, live: isLive } = app.model.meta;
document.getElementById("app").replaceChildren(
  h("a", { class: "skip", href: "#content", on: { click: skip } }, "Skip to the content"),
  top,
  main,
  h("footer", {}, `Made by opelda ${version}. Topic numbers are the model\u2019s own.`),
);

function skip(event) {
  event.preventDefault(); // the address is the view's
  main.querySelector("h1")?.focus();
}

history.scrollRestoration = "manual";
addEventListener("hashchange", ({ oldURL }) => {
  places.set(new URL(oldURL).hash, scrollY);
  show();
});
addEventListener("keydown", key);
for (const kind of ["pointerdown", "keydown", "focusin"]) {
  main.addEventListener(kind, ({ target }) => {
    isTouched ||= target.tagName !== "H1"; // which gets the focus of every new view
  });
}
addEventListener("click", (event) => {
  if (event.target.closest?.("a")?.getAttribute("href")?.startsWith("#/")) follows = true;
}, true);
if (isLive) {
  if (!location.hash) history.replaceState(null, "", "#/live");
  follow((isChanged) => {
    if (current.refresh) current.refresh();
    else if (isChanged && !isTouched && !main.matches(":hover")) renew();
  });
}

/** Show the view anew in its place. */
async function renew() {
  main.style.minHeight = `${main.offsetHeight}px`; // until charts are drawn: nothing is to move
  await show({ first: true });
  requestAnimationFrame(() => setTimeout(() => {
    main.style.minHeight = "";
  }));
}
show({ first: true });
