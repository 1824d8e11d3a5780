/** What changed: trends of topics over time, and the differences of two periods or groups. */

/** The part of bins or groups of a topic: its share, with the limits of its interval. */
function pooled({ n_docs: n, shares, low, high }, places, k) {
  const all = places.reduce((sum, i) => sum + n[i], 0);
  const mean = (rows) => places.reduce((sum, i) => sum + n[i] * rows[i][k], 0) / all;
  return { share: mean(shares), low: mean(low), high: mean(high) };
}

export const LEAST = 5; // documents of which something is said
const MORE = 1.2; // times as much: less is no change, however sure
const EVENT = 2; // times as much as in all other bins

/**
 * How each topic moved between the first and the last third of the bins that are drawn, those that
 * moved most first. A change is one where the intervals of the two are apart.
 * @returns {{topic: number, kind: "rising"|"falling"|"event"|"steady", from: number, to: number,
 *   peak: number}[]} `peak` is the bin with the largest share
 */
export function trends(time) {
  const { drawn, shares, low, ends } = time;
  return shares[0].map((_, topic) => {
    const [from, to] = [0, 1].map((i) => pooled(ends, [i], topic));
    const peak = drawn.reduce((best, i) => (shares[i][topic] > shares[best][topic] ? i : best));
    const others = drawn.filter((i) => i !== peak);
    const rest = others.length ? pooled(time, others, topic) : to;
    const [high, change] = [shares[peak][topic] - rest.share, Math.abs(to.share - from.share)];
    // at an end it may as well be a trend
    const isEvent = low[peak][topic] > EVENT * rest.high && high > change
      && peak !== drawn[0] && peak !== drawn.at(-1);
    const kind = Math.min(...ends.n_docs) < LEAST ? "steady" : isEvent ? "event" : to.low > from.high && to.share > MORE * from.share ? "rising"
      : to.high < from.low && from.share > MORE * to.share ? "falling" : "steady";
    const size = isEvent ? high : change;
    return { topic, kind, from: from.share, to: to.share, peak, size };
  }).sort((a, b) => b.size - a.size);
}

/**
 * How topics differ between two bins or groups, those that differ most first.
 * @returns {{topic: number, before: number, now: number, isSure: boolean}[]} sure where the
 *   intervals are apart and neither has too few documents
 */
export function differences({ shares, low, high, n_docs: n }, a, b) {
  const isEnough = Math.min(n[a], n[b]) >= LEAST;
  return shares[a].map((before, topic) => ({
    topic,
    before,
    now: shares[b][topic],
    isSure: isEnough && (low[b][topic] > high[a][topic] || high[b][topic] < low[a][topic]),
  })).sort((x, y) => Math.abs(y.now - y.before) - Math.abs(x.now - x.before));
}

/**
 * The topics of which a group has surely more than all documents, the most telling first.
 * @returns {{topic: number, share: number, usual: number}[]}
 */
export function distinctive(groups, i, all) {
  return groups.shares[i].map((share, topic) => ({ topic, share, usual: all[topic] }))
    .filter(({ topic, share, usual }) => groups.low[i][topic] > usual && share > MORE * usual)
    .sort((a, b) => worth(b) - worth(a));
}

const worth = ({ share, usual }) => share * Math.log(share / Math.max(usual, 1e-4));
