/**
 * The log-likelihood of a document's words in its mixture, and how much any other can be ahead.
 *
 * A document is {d, beta, n_tokens}: counts of n words, their probabilities in the topics as n rows
 * of K, and the counts' sum.
 */

const SMALLEST = 1e-30;

/** sum_j d_j log x_j, x_j = sum_k theta_k beta_kj. */
export function logLikelihood({ d, beta }, theta) {
  return beta.reduce((sum, row, j) => sum + d[j] * Math.log(dot(row, theta)), 0);
}

/** N log(max_k G_k / N), G_k = sum_j d_j beta_kj / x_j: no mixture is ahead by more. */
export function bound(document, theta) {
  const steepest = largest(slopes(document, theta));
  return Math.max(0, document.n_tokens * Math.log(steepest / document.n_tokens));
}

/** G_k for every topic. */
export function slopes({ d, beta }, theta) {
  const found = new Float64Array(theta.length);
  beta.forEach((row, j) => {
    const ratio = d[j] / Math.max(dot(row, theta), SMALLEST);
    for (let k = 0; k < found.length; k++) found[k] += row[k] * ratio;
  });
  return found;
}

/** The sum of all values. */
export function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** The sum of products. */
export function dot(a, b) {
  let total = 0;
  for (let k = 0; k < a.length; k++) total += a[k] * b[k];
  return total;
}

/** The largest value. */
export function largest(values) {
  let found = -Infinity;
  for (const value of values) if (value > found) found = value;
  return found;
}
