/** The documents of the page: names, heaviest topics, texts or counts, and finding some. */

import { texts } from "./decode.js";

/** Whether a document has that value, if one is wanted; -1 is one that no document has. */
const is = (values, i, wanted) => wanted === null || (wanted >= 0 && values[i] === wanted);

export class Documents {
  constructor({ header, arrays }) {
    this.size = header.n_docs;
    this.arrays = arrays;
    const names = texts(arrays.names, "\n");
    this.names = Array.from({ length: this.size }, (_, i) => names[i] ?? "");
    this.held = new Map(Array.from(arrays.text_of ?? [], (document, i) => [document, i]));
  }

  /** What a document is called; its number where it has no name. */
  name(i) {
    return this.names[i]?.trim() || `Document ${this.number(i)}`;
  }

  /** A document's number in the corpus, from 0 as in every table of opelda. */
  number(i) {
    return this.arrays.number[i];
  }

  /** The document of a number in the corpus, or null. */
  indexOf(number) {
    const list = this.arrays.number;
    if (list[number] === number) return number;
    const found = list.indexOf(number);
    return found < 0 ? null : found;
  }

  /** A document's heaviest topics, the heaviest first, with credible intervals of their shares. */
  mixture(i) {
    const { offsets, topic, weight, low, high } = this.arrays;
    const found = [];
    for (let j = offsets[i]; j < offsets[i + 1]; j++) {
      const [share, from, to] = [weight, low, high].map((values) => values[j] / 65535);
      found.push({ topic: topic[j], weight: share, low: from, high: to });
    }
    return found;
  }

  /** The probability that a document's heaviest topic has its largest share. */
  mainProbability(i) {
    return this.arrays.main[i] / 65535;
  }

  /** A document's share of a topic; none where it is not among its heaviest. */
  share(i, wanted) {
    const { offsets, topic, weight } = this.arrays;
    for (let j = offsets[i]; j < offsets[i + 1]; j++) {
      if (topic[j] === wanted) return weight[j] / 65535;
    }
    return 0;
  }

  /** A document's text, or null. */
  text(i) {
    return this.texts[this.held.get(i)] ?? null;
  }

  get texts() {
    this.allTexts ??= texts(this.arrays.texts ?? new Uint8Array(0), "\0");
    return this.allTexts;
  }

  /** A document's counts by column of the word table, or null. */
  counts(i) {
    const { count_offsets: offsets, count_words: words, counts } = this.arrays;
    const at = this.held.get(i);
    if (!offsets || at === undefined) return null;
    const part = [offsets[at], offsets[at + 1]];
    return { columns: words.subarray(...part), counts: counts.subarray(...part) };
  }

  /** A topic's typical documents, the best first. */
  typical(topic) {
    const { typical_offsets: offsets, typical } = this.arrays;
    return Array.from(typical.subarray(offsets[topic], offsets[topic + 1]));
  }

  /**
   * The documents of a bin of time and a group that have the topic among their heaviest and every
   * word of the query in their name or text; most of the topic first, or those with the words in
   * their names.
   */
  find({ topic = null, query = "", time = null, period = null, group = null } = {}) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (let i = 0; i < this.size; i++) {
      if (topic !== null && !this.share(i, topic)) continue;
      if (!is(this.arrays.time, i, time) || !is(this.arrays.group, i, group)
        || !is(this.arrays.period, i, period)) continue;
      if (words.every((word) => this.#has(i, word))) found.push(i);
    }
    const named = (i) => words.every((word) => this.#lowerNames[i].includes(word));
    const worth = topic === null ? named : (i) => this.share(i, topic);
    const worths = new Map(found.map((i) => [i, Number(worth(i))]));
    return found.sort((a, b) => worths.get(b) - worths.get(a) || a - b);
  }

  /** The documents whose names have every word of the query. */
  named(query, limit) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (let i = 0; i < this.size && found.length < limit; i++) {
      if (words.every((word) => this.#lowerNames[i].includes(word))) found.push(i);
    }
    return found;
  }

  #has(i, word) {
    const at = this.held.get(i);
    return this.#lowerNames[i].includes(word) || !!this.#lowerTexts[at]?.includes(word);
  }

  get #lowerNames() {
    this.namesInLower ??= this.names.map((name) => name.toLowerCase());
    return this.namesInLower;
  }

  get #lowerTexts() {
    this.textsInLower ??= this.texts.map((text) => text.toLowerCase());
    return this.textsInLower;
  }
}
