/** The model: its topics, their words and their labels. Topic numbers are the model's own. */

import { numbers } from "./decode.js";

export const DEFAULT_LAMBDA = 0.6;
const SMALLEST = 1e-30;
const UNSTABLE = 0.5; // fewer of its best words recur in other runs

export class Model {
  constructor(meta) {
    this.meta = meta;
    this.topics = meta.topics;
    this.words = meta.words;
    this.frequency = numbers(meta.frequency, "float32");
    this.offsets = numbers(meta.ranked.offsets, "uint32");
    this.ids = numbers(meta.ranked.words, "uint32");
    this.probability = numbers(meta.ranked.probability, "float32");
  }

  /** How many topics there are. */
  get size() {
    return this.topics.length;
  }

  /** A topic's share of the tokens; alike where it is not known. */
  weight(topic) {
    return this.topics[topic].weight ?? 1 / this.size;
  }

  /** A topic's share of all documents; of all words where that is not known; or null. */
  share(topic) {
    return this.meta.shares?.[topic] ?? this.topics[topic].weight;
  }

  /** Whether other runs hardly have a topic; false where that is not known. */
  varies(topic) {
    return (this.topics[topic].stability ?? 1) < UNSTABLE;
  }

  /** What shares are of. */
  get whole() {
    return this.meta.shares ? "documents" : "words";
  }

  /** A topic's share, as a size to draw: alike where it is not known. */
  extent(topic) {
    return this.share(topic) ?? 1 / this.size;
  }

  /** The topics' numbers, the largest first. */
  get bySize() {
    this.ordered ??= this.topics.map((_, k) => k).sort((a, b) => this.extent(b) - this.extent(a));
    return this.ordered;
  }

  /** The topic of a number in an address, or null. */
  topicOf(text) {
    return /^\d+$/.test(text ?? "") && Number(text) < this.size ? Number(text) : null;
  }

  /**
   * A topic's best words by relevance: lambda log p(w|t) + (1 - lambda) log(p(w|t) / p(w)); of
   * equals the one that comes first in the vocabulary.
   * `share` is the part of the word's uses that the topic explains.
   */
  rank(topic, lambda = DEFAULT_LAMBDA, n = 30) {
    const rows = [];
    const weight = this.weight(topic);
    for (let i = this.offsets[topic]; i < this.offsets[topic + 1]; i++) {
      const id = this.ids[i];
      const probability = this.probability[i];
      const frequency = this.frequency[id];
      const log = Math.log(Math.max(probability, SMALLEST));
      const relevance = log - (1 - lambda) * Math.log(Math.max(frequency, SMALLEST));
      const share = Math.min(1, (weight * probability) / Math.max(frequency, SMALLEST));
      rows.push({ id, word: this.words[id], probability, frequency, share, relevance });
    }
    rows.sort((a, b) => b.relevance - a.relevance || a.id - b.id);
    return rows.slice(0, n);
  }

  /** A topic's best words alone. */
  topWords(topic, n, lambda = DEFAULT_LAMBDA) {
    return this.rank(topic, lambda, n).map((row) => row.word);
  }

  /** A topic's best words in lower case as one text, for searching. */
  wordsOf(topic) {
    this.searched ??= new Map();
    if (!this.searched.has(topic)) {
      this.searched.set(topic, this.topWords(topic, 20).join(" ").toLowerCase());
    }
    return this.searched.get(topic);
  }

  /** The number of a word among `words`, or undefined. */
  wordId(word) {
    this.index ??= new Map(this.words.map((each, id) => [each, id]));
    return this.index.get(word);
  }

  /** The topics that have a word among their best, with its probability in each. */
  topicsOfWord(word) {
    const id = this.wordId(word);
    const found = [];
    if (id === undefined) return found;
    for (let topic = 0; topic < this.size; topic++) {
      for (let i = this.offsets[topic]; i < this.offsets[topic + 1]; i++) {
        if (this.ids[i] === id) found.push({ topic, probability: this.probability[i] });
      }
    }
    return found.sort((a, b) => b.probability - a.probability);
  }
}
