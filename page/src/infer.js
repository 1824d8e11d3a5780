/**
 * The topic mixture of a document, as `opelda.inference` infers it, and how far below
 * the optimum its likelihood can be. All in double precision.
 */

import { climb } from "./exact.js";
import { bound, dot, largest, logLikelihood, slopes, sum } from "./likelihood.js";

const SMALLEST = 1e-30;
const CLOSE = 1e-6; // nats to which the most likely mixture is found

/**
 * A document's words that some topic has: `beta` is word-major, n rows of K probabilities.
 * @returns {{d: number[], beta: Float64Array[], n_tokens: number}}
 */
export function documentOf({ columns, counts }, table) {
  const d = [];
  const beta = [];
  columns.forEach((column, i) => {
    const row = table.probabilities(column);
    if (!row.some((p) => p > 0)) return;
    d.push(counts[i]);
    beta.push(row);
  });
  return { d, beta, n_tokens: d.reduce((sum, each) => sum + each, 0) };
}

/**
 * Infer a document's mixture.
 * @param {{method: string, n_iter: number, n_kept: number, alpha: ArrayLike<number>}} settings
 * @returns {{theta: Float64Array, loss: number}} no mixture explains the words better by more than
 *   `loss` nats
 */
export function infer(document, settings) {
  const { alpha } = settings;
  if (!document.n_tokens) {
    const total = sum(alpha);
    return { theta: Float64Array.from(alpha, (a) => a / total), loss: 0 };
  }
  const exact = settings.method === "exact";
  if (isConcave(alpha)) {
    const weight = Float64Array.from(alpha, (a) => a - 1);
    const theta = exact ? climb(document, CLOSE, weight).theta : em(document, settings);
    return { theta, loss: lossInPosterior(document, theta, alpha) };
  }
  const best = climb(document, CLOSE);
  if (exact) return { theta: best.theta, loss: best.loss };
  const theta = em(document, settings);
  const behind = logLikelihood(document, best.theta) - logLikelihood(document, theta);
  return { theta, loss: Math.min(best.loss + Math.max(behind, 0), bound(document, theta)) };
}

/** Whether the prior bends the objective, and downwards: then f has a maximum. */
export function isConcave(alpha) {
  const known = Float32Array.from(alpha);
  return known.every((a) => a >= 1) && known.some((a) => a > 1);
}

/** EM on the few topics that explain most of the document (`opelda/inference/em.py`). */
export function em({ d, beta, n_tokens }, { alpha, n_iter, n_kept }) {
  const n_topics = alpha.length;
  const total = sum(alpha);
  const prior = beta.map((row) => dot(row, alpha));
  const first = new Float64Array(n_topics);
  beta.forEach((row, j) => {
    const ratio = d[j] / Math.max(prior[j], SMALLEST * total);
    for (let k = 0; k < n_topics; k++) first[k] += alpha[k] * row[k] * ratio;
  });
  const order = Array.from(first, (_, k) => k).sort((a, b) => first[b] - first[a] || a - b);
  const kept = order.slice(0, n_kept).sort((a, b) => a - b);
  const few = beta.map((row) => Float64Array.from(kept, (k) => row[k]));
  // n sums to N throughout: x is N + sum alpha times the words' probabilities
  let n = scaled(Float64Array.from(kept, (k) => first[k]), n_tokens);
  for (let t = 0; t < n_iter; t++) {
    const gains = new Float64Array(kept.length);
    few.forEach((row, j) => {
      const ratio = d[j] / Math.max(prior[j] + dot(row, n), SMALLEST * n_tokens);
      for (let i = 0; i < gains.length; i++) gains[i] += row[i] * ratio;
    });
    n = scaled(gains.map((gain, i) => (n[i] + alpha[kept[i]]) * gain), n_tokens);
  }
  const theta = Float64Array.from(alpha, (a) => a / (n_tokens + total));
  kept.forEach((k, i) => {
    theta[k] += n[i] / (n_tokens + total);
  });
  return theta;
}

/** The most that any mixture's posterior can be ahead, where that has a maximum. */
function lossInPosterior(document, theta, alpha) {
  const weight = document.n_tokens + sum(alpha) - alpha.length;
  const found = slopes(document, theta).map((g, k) => g + (alpha[k] - 1) / theta[k]);
  const gap = largest(found) - weight;
  return weight * Math.log1p(Math.max(gap, 0) / weight);
}

function scaled(values, to) {
  const factor = to / sum(values);
  return values.map((value) => value * factor);
}
