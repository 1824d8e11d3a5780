/** What the page remembers while it is open. */

import { Model } from "./data/model.js";

export const app = {
  /** @type {Model} */
  model: null,
  lambda: null, // of the slider, for all topics
  pasted: "", // the text of the user's own
  shortcuts: true, // whether single keys do things
};

/** Give the page's tab a title. */
export function titled(title) {
  const { title: page } = app.model.meta;
  document.title = title ? `${title} \u00b7 ${page}` : page;
}

const labels = new Map();

/** Take what Python wrote. */
export function take(meta) {
  app.model = new Model(meta);
}

/** What a topic is called: the user's own name, else the model's. */
export const label = (topic) => labels.get(topic) ?? app.model.topics[topic].label;

/** Rename a topic; nothing takes the name back. */
export function rename(topic, text) {
  const wanted = text.replace(/\s+/g, " ").trim();
  if (!wanted || wanted === app.model.topics[topic].label) labels.delete(topic);
  else labels.set(topic, wanted);
}

/** The topics that were renamed, by number. */
export const renamed = () => [...labels].sort(([a], [b]) => a - b);
