/** The table of all words' probabilities in all topics, as `topics` of the page holds it. */

import { texts } from "./decode.js";

const SMALLEST_PROBABILITY = 1e-15; // what is less counts as none, as in Python

export class WordTable {
  constructor({ header, arrays }) {
    this.n_topics = header.n_topics;
    this.low = header.low;
    this.step = header.step;
    this.arrays = arrays;
    this.words = texts(arrays.vocabulary, "\0");
  }

  /** The number of a word, or undefined. */
  column(word) {
    this.index ??= new Map(this.words.map((each, column) => [each, column]));
    return this.index.get(word);
  }

  /** A word's probability in every topic. */
  probabilities(column) {
    const { offsets, topic, value, rest } = this.arrays;
    const found = new Float64Array(this.n_topics).fill(counted(rest[column]));
    for (let i = offsets[column]; i < offsets[column + 1]; i++) {
      found[topic[i]] = counted(Math.exp(this.low + this.step * value[i]));
    }
    return found;
  }
}

function counted(probability) {
  return probability < SMALLEST_PROBABILITY ? 0 : probability;
}
