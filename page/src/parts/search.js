/** Finding topics, words and documents from anywhere. */

import * as store from "../data/store.js";
import { bdi, h } from "../dom.js";
import { plural } from "../numbers.js";
import { address } from "../router.js";
import { app, label } from "../state.js";

const EACH = 6;

/** Open the search in a dialog. */
export function openSearch() {
  const input = h("input", {
    type: "search",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "found",
    "aria-autocomplete": "list",
    "aria-label": "Search topics, words and documents",
    placeholder: "Search topics, words and documents",
  });
  const list = h("div", { role: "listbox", id: "found", "aria-label": "Found" });
  const status = h("p", { class: "note", role: "status" });
  const dialog = h("dialog", { class: "search", "aria-label": "Search" }, input, list, status);
  let current = -1;
  const options = () => [...list.querySelectorAll("[role=option]")];
  const choose = (i) => {
    const all = options();
    if (!all.length) return;
    current = (i + all.length) % all.length;
    all.forEach((option, n) => option.setAttribute("aria-selected", String(n === current)));
    all[current].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", all[current].id);
  };
  const show = async () => {
    const wanted = input.value;
    const documents = await store.documents();
    if (wanted !== input.value) return;
    const groups = find(wanted, documents);
    list.replaceChildren(...groups.map(group));
    current = -1;
    input.removeAttribute("aria-activedescendant");
    if (options().length) choose(0);
    const offered = documents ? 1 : 0; // to search all texts, which is no result
    const n = options().length - offered;
    const none = "No topic, word or document name matches.";
    status.textContent = !wanted.trim() ? "" : n > 0 ? plural(n, "result") : none;
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(current + 1);
    else if (event.key === "ArrowUp") choose(current - 1);
    else if (event.key === "Enter") options()[current]?.click();
    else if (event.key === "Escape") dialog.close(); // browsers would empty the field first
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (!option) return;
    dialog.close();
    location.hash = option.dataset.to;
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
}

/** What matches: topics by label and words, words by beginning, documents by name. */
export function find(wanted, documents) {
  const text = wanted.trim().toLowerCase();
  if (!text) return [];
  const topics = topicsLike(text).slice(0, EACH);
  const words = wordsLike(text).slice(0, EACH);
  const docs = documents ? documents.named(text, EACH) : [];
  const query = { q: wanted.trim() };
  return [
    { name: "Topics", items: topics.map((k) => ({ to: address("topic", k), key: k,
      text: label(k) })) },
    { name: "Words", items: words.map((word) => ({ to: address("word", word), text: word })) },
    {
      name: "Documents",
      items: [
        ...docs.map((i) => ({ to: address("document", documents.number(i)),
          key: documents.number(i), text: documents.name(i) })),
        ...(documents ? [{ to: address("documents", null, query),
          text: `All documents with \u201c${wanted.trim()}\u201d` }] : []),
      ],
    },
  ].filter(({ items }) => items.length);
}

function topicsLike(text) {
  const words = text.split(/\s+/);
  const scored = app.model.bySize.map((k) => {
    const name = `${k} ${label(k)}`.toLowerCase();
    if (String(k) === text) return [k, 3];
    if (words.every((word) => name.includes(word))) return [k, 2];
    const more = `${name} ${app.model.wordsOf(k)}`;
    return [k, words.every((word) => more.includes(word)) ? 1 : 0];
  });
  return scored.filter(([, score]) => score).sort((a, b) => b[1] - a[1]).map(([k]) => k);
}

function wordsLike(text) {
  const { words, frequency } = app.model;
  const found = [];
  for (let id = 0; id < words.length; id++) {
    const word = words[id].toLowerCase();
    const at = word.indexOf(text);
    if (at >= 0) found.push([words[id], at === 0 ? (word === text ? 2 : 1) : 0, frequency[id]]);
  }
  return found.sort((a, b) => b[1] - a[1] || b[2] - a[2]).map(([word]) => word);
}

let serial = 0;

function group({ name, items }) {
  return h(
    "div",
    { role: "group", "aria-label": name },
    h("div", { class: "eyebrow", role: "presentation" }, name),
    items.map(({ to, key, text }) => h(
      "div",
      { role: "option", id: `found-${++serial}`, "aria-selected": "false", "data-to": to },
      key !== undefined && h("span", { class: "key" }, String(key)),
      bdi(text),
    )),
  );
}
