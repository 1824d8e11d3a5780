/** Topics of a stream now, and how they moved. */

/** How much a topic's share has changed, in its logarithm; small ones count less. */
const change = ({ now, before }) => Math.abs(Math.log((now + 1e-4) / (before + 1e-4)));

/**
 * The largest topics now, and among them the few others that changed most; the largest first.
 * @returns {{topic: number, now: number, before: number}[]}
 */
export function topicsNow({ shares, before }, shown = Infinity, moved = 3) {
  const rows = (shares ?? []).map((now, topic) => ({ topic, now, before: before?.[topic] ?? now }));
  rows.sort((a, b) => b.now - a.now || a.topic - b.topic);
  if (rows.length <= shown) return rows;
  const rest = rows.slice(shown - moved).sort((a, b) => change(b) - change(a) || b.now - a.now);
  const chosen = new Set([...rows.slice(0, shown - moved), ...rest.slice(0, moved)]);
  return rows.filter((row) => chosen.has(row));
}

/** The topic whose share grew most, or null. */
export function mostRising(stream) {
  const grown = topicsNow(stream).filter(({ now, before }) => now > before);
  return grown.sort((a, b) => b.now - b.before - (a.now - a.before))[0] ?? null;
}
