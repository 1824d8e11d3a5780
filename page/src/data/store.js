/** The page's data elements, each decoded once, when somebody asks. */

import { unpack } from "./decode.js";
import { Documents } from "./documents.js";
import { WordTable } from "./words.js";

const kept = new Map();

/** Whether the page holds documents, or the table of words. */
export const has = (id) => kept.has(id) || document.getElementById(id) !== null;

function once(id, make) {
  const element = document.getElementById(id);
  if (!kept.has(id) && element) {
    kept.set(id, unpack(element.textContent.trim()).then(make));
    element.remove(); // megabytes that nobody needs twice
  }
  return kept.get(id) ?? Promise.resolve(null);
}

/** @returns {Promise<Documents|null>} */
export const documents = () => once("documents", (parts) => new Documents(parts));

/** @returns {Promise<WordTable|null>} */
export const wordTable = () => once("topics", (parts) => new WordTable(parts));

/** What the first view needs. */
export const readMeta = () => JSON.parse(document.getElementById("meta").textContent);
