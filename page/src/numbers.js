/** Numbers and dates as people read them. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const MINUS = "\u2212";

const signed = (text) => text.replace("-", MINUS);

/** 123456 as 123,456. */
export const count = (n) => signed(whole.format(n));

/** A number with so many digits after the point; a dash where it is not known. */
export const fixed = (value, digits = 2) =>
  value === null || value === undefined || Number.isNaN(value)
    ? "\u2013"
    : signed(value.toFixed(digits));

/** A share as a percentage, with more digits where it is small. */
export function percent(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "\u2013";
  const hundred = share * 100;
  if (hundred === 0) return "0%";
  if (hundred < 0.01) return "<0.01%";
  const digits = hundred < 0.1 ? 2 : hundred < 10 ? 1 : 0;
  if (hundred > 99 && hundred < 100) return `${(Math.floor(hundred * 10) / 10).toFixed(1)}%`;
  return `${hundred.toFixed(digits)}%`;
}

/** A share then and now. */
export const change = (before, now) => `${percent(before)} \u2192 ${percent(now)}`;

/** A share on an axis. */
export const percentTick = (share) => `${Number((share * 100).toPrecision(3))}%`;

/** A probability of a word, per thousand or per million words. */
export function perThousand(p) {
  const value = p * 1000;
  return value >= 10 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toPrecision(2);
}

/** Nats: short, and never "0" where it is not. */
export function nats(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "\u2013";
  if (value !== 0 && value < 0.001) return "<0.001";
  return signed(value < 1 ? value.toFixed(3) : value < 10 ? value.toFixed(2) : value.toFixed(1));
}

/** Nats in each word from which another mixture would be noticeably better. */
export const NEAR = 0.05;

/** How many times as probable, at most, another mixture makes a document's words. */
export function factor(loss) {
  const times = Math.exp(loss);
  if (times >= 1000) return `e^${nats(loss)}`;
  return String(times < 1.1 ? Math.ceil(times * 1e4) / 1e4 : Math.ceil(times * 100) / 100);
}

/** A date and time of ISO 8601 as a day. */
export function day(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const options = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" };
  return date.toLocaleDateString("en-GB", options);
}

/** Bytes as MB or GB. */
export const size = (n) => (n >= 1e9 ? `${(n / 1e9).toFixed(1)} GB` : `${(n / 1e6).toFixed(0)} MB`);

/** "1 topic", "2 topics". */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
