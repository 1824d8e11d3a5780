/**
 * The likeliest mixture of a document, with a proof: Newton's method with a barrier on a few
 * topics, to which the steepest of the others are added until none is too steep.
 */

import { bound, dot, largest, slopes, sum } from "./likelihood.js";

const LAST_BARRIER = 1e-13; // in parts of the tokens
const NO_SHARE = 1e-8; // the barrier holds a topic without a share at about its own size
const MOST_ROUNDS = 200;
const MOST_STEPS = 300;
const AT_A_TIME = 10;

/**
 * Find the most likely mixture.
 * @param {{d: number[], beta: Float64Array[], n_tokens: number}} document
 * @param {number} accuracy nats that any other mixture may be ahead
 * @param {Float64Array} [weight] of each topic's log theta_k in the objective: a prior, with which
 *   every topic has a share
 * @returns {{theta: Float64Array, loss: number}}
 */
export function climb(document, accuracy, weight = null) {
  const { d, beta, n_tokens } = document;
  const n_topics = beta[0].length;
  const all = Array.from({ length: n_topics }, (_, k) => k);
  if (weight) return { theta: spread(newton(d, beta, weight), all, n_topics), loss: 0 };
  let chosen = start(document, all);
  let theta = null;
  let loss = Infinity;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const few = beta.map((row) => Float64Array.from(chosen, (k) => row[k]));
    const shares = newton(d, few, new Float64Array(chosen.length));
    theta = spread(shares, chosen, n_topics);
    loss = bound(document, theta);
    if (loss <= accuracy) break;
    const steep = slopes(document, theta);
    const holds = chosen.filter((k) => theta[k] > 0);
    const outside = new Set(all);
    for (const k of chosen) outside.delete(k);
    const next = [...outside].filter((k) => steep[k] > n_tokens);
    if (!next.length) break; // as far as double precision goes
    next.sort((a, b) => steep[b] - steep[a]);
    chosen = [...holds, ...next.slice(0, Math.max(AT_A_TIME, holds.length))];
  }
  return { theta, loss };
}

/** Topics to begin with: the steepest from the middle, and one that has each word best. */
function start(document, all) {
  const steep = slopes(document, new Float64Array(all.length).fill(1 / all.length));
  const chosen = new Set(all.toSorted((a, b) => steep[b] - steep[a]).slice(0, 2 * AT_A_TIME));
  for (const row of document.beta) {
    if ([...chosen].some((k) => row[k] > 0)) continue; // no word may be impossible
    chosen.add(row.indexOf(largest(row)));
  }
  return [...chosen];
}

/**
 * Climb to the maximum of sum_j d_j log x_j + sum_k a_k log w_k over mixtures from inside, as a
 * primal-dual interior-point method does: along the maxima of the objective with a barrier,
 * mu sum_k log w_k - M sum_k w_k, while mu falls; z_k = M - G_k - a_k / w_k is topic k's slack.
 */
function newton(d, beta, weight) {
  const size = weight.length;
  const total = sum(d) + sum(weight);
  let w = new Float64Array(size).fill(1 / size);
  let z = new Float64Array(size).fill(total);
  let mu = total / size;
  for (let steps = 0; mu > LAST_BARRIER * total && steps < MOST_STEPS; steps++) {
    const a = weight.map((each) => each + mu);
    const { slope, step } = newtonStep(d, beta, { a, w, z, weight, total });
    const change = z.map((each, k) => mu / w[k] - each - (each / w[k]) * step[k]);
    const rise = dot(slope, step);
    const before = objective(d, beta, a, w, total);
    let length = inside(w, step);
    const moved = () => w.map((each, k) => each + length * step[k]);
    const ahead = () => objective(d, beta, a, moved(), total) - before;
    while (length > 1e-12 && !(ahead() >= 1e-4 * length * rise - 1e-12 * total)) length /= 2;
    w = moved();
    const along = inside(z, change);
    z = z.map((each, k) => each + along * change[k]);
    const fall = Math.min(length, along);
    mu = (dot(w, z) / size) * (fall > 0.9 ? 0.05 : fall > 0.5 ? 0.2 : 0.5);
  }
  return kept(w, weight);
}

/** How much of a step, at most all, keeps every value positive. */
function inside(values, step) {
  let length = 1;
  for (let k = 0; k < values.length; k++) {
    if (step[k] < 0) length = Math.min(length, (-0.99 * values[k]) / step[k]);
  }
  return length;
}

/**
 * Shares without those that are none. No word becomes impossible: the one topic that has it has a
 * share of at least its part of the tokens.
 */
function kept(w, weight) {
  const left = w.map((share, k) => (share >= NO_SHARE || weight[k] > 0 ? share : 0));
  const total = sum(left);
  return left.map((share) => share / total);
}

function objective(d, beta, a, w, total) {
  let value = -total * sum(w);
  for (let j = 0; j < d.length; j++) value += d[j] * Math.log(dot(beta[j], w));
  for (let k = 0; k < w.length; k++) value += a[k] * Math.log(w[k]);
  return value;
}

/**
 * The objective's slope and the step to where it vanishes; the curvature is diag((z + a / w) / w) +
 * sum_j d_j b_j b_j^T / x_j^2.
 */
function newtonStep(d, beta, { a, w, z, weight, total }) {
  const size = w.length;
  const slope = a.map((each, k) => each / w[k] - total);
  const curvature = Array.from({ length: size }, () => new Float64Array(size));
  for (let j = 0; j < d.length; j++) {
    const row = beta[j];
    const x = dot(row, w);
    const ratio = d[j] / x;
    for (let k = 0; k < size; k++) {
      if (row[k] === 0) continue;
      slope[k] += row[k] * ratio;
      const factor = (row[k] * ratio) / x;
      const line = curvature[k];
      for (let l = 0; l <= k; l++) line[l] += factor * row[l];
    }
  }
  for (let k = 0; k < size; k++) curvature[k][k] += (z[k] + weight[k] / w[k]) / w[k];
  return { slope, step: solve(curvature, slope) };
}

/** Solve a symmetric positive definite system by Cholesky's factors; the matrix is overwritten. */
function solve(matrix, right) {
  const size = right.length;
  const x = Float64Array.from(right);
  for (let k = 0; k < size; k++) {
    for (let l = 0; l <= k; l++) {
      let value = matrix[k][l];
      for (let i = 0; i < l; i++) value -= matrix[k][i] * matrix[l][i];
      matrix[k][l] = k === l ? Math.sqrt(Math.max(value, 1e-300)) : value / matrix[l][l];
    }
  }
  for (let k = 0; k < size; k++) {
    for (let i = 0; i < k; i++) x[k] -= matrix[k][i] * x[i];
    x[k] /= matrix[k][k];
  }
  for (let k = size - 1; k >= 0; k--) {
    for (let i = k + 1; i < size; i++) x[k] -= matrix[i][k] * x[i];
    x[k] /= matrix[k][k];
  }
  return x;
}

function spread(shares, chosen, n_topics) {
  const theta = new Float64Array(n_topics);
  chosen.forEach((k, i) => {
    theta[k] = shares[i];
  });
  return theta;
}
