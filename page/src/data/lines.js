/** Topics over time within groups: means of the documents' own mixtures, with intervals. */

import { LEAST } from "./trends.js";

const NORMAL = 1.96; // standard errors to each side of a 95% interval
const SHORT = ["minute", "hour", "day"];
const LONGER = { short: 3.3, long: 1.2 }; // than the usual step: a gap (months differ in length)

/**
 * The means of a group's documents by bin.
 * @param {Documents} documents
 * @param {ArrayLike<number>} bins the bin of each document; negative where it has none
 * @param {number} group
 * @param {number} size how many bins there are
 * @returns {Map<number, {n: number, of: (topic: number) => {mean: number, low: number,
 *   high: number}}>} by bins that have enough documents, in order
 */
export function meansOf(documents, bins, group, size) {
  const found = Array.from({ length: size }, () => ({ n: 0, sums: new Map() }));
  for (let i = 0; i < documents.size; i++) {
    if (documents.arrays.group[i] !== group || bins[i] < 0) continue;
    const bin = found[bins[i]];
    bin.n += 1;
    for (const { topic, weight } of documents.mixture(i)) {
      const [sum, squares] = bin.sums.get(topic) ?? [0, 0];
      bin.sums.set(topic, [sum + weight, squares + weight ** 2]);
    }
  }
  const of = ({ n, sums }) => (topic) => {
    const [mean, square] = (sums.get(topic) ?? [0, 0]).map((sum) => sum / n);
    const half = NORMAL * Math.sqrt(Math.max(0, square - mean ** 2) / (n - 1));
    return { mean, low: Math.max(0, mean - half), high: Math.min(1, mean + half) };
  };
  return new Map(found.flatMap((bin, i) => (bin.n < LEAST ? [] : [[i, { n: bin.n, of: of(bin) }]])));
}

/** The places of dates after a gap, which is longer than the usual step. */
export function gapsAfter(dates, unit) {
  const steps = dates.slice(1).map((date, i) => date - dates[i]);
  const usual = [...steps].sort((a, b) => a - b)[steps.length >> 1];
  const most = usual * (SHORT.includes(unit) ? LONGER.short : LONGER.long);
  return steps.flatMap((step, i) => (step > most ? [i + 1] : []));
}
