/** An axis of time: where bins begin, round moments, and lines that leave gaps open. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SHORT = [1 / 60, 1 / 12, 1 / 4, 1, 3, 6, 12, 24, 48].map((hours) => hours * HOUR);
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200];
const AXIS = [
  { year: "numeric" },
  { month: "short", year: "numeric" },
  { day: "numeric", month: "short" },
  { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
];

/** A bin's beginning as a date: 2007, 2007-04, 2007-04-12, 2007-04-12 13:00, 2007-Q2; or null. */
export function dateOf(bin) {
  const found = /^(\d{4})(?:-(?:Q([1-4])|(\d\d)(?:-(\d\d))?))?(?:[T ](\d\d):(\d\d))?$/.exec(bin);
  if (!found) return null;
  const [, year, quarter, month, day, hour, minute] = found;
  const at = quarter ? 3 * (quarter - 1) : (month ?? 1) - 1;
  return new Date(Date.UTC(year, at, day ?? 1, hour ?? 0, minute ?? 0));
}

const written = (style) => {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...AXIS[style] });
  return (date) => format.format(date);
};

/** A bin in words: "week of 2 March 1987". */
export function inWords(bin, unit) {
  const date = dateOf(bin);
  if (!date || unit === "year" || unit === "quarter") return bin.replace("-", " ");
  const parts = { month: "long", year: "numeric", ...(unit !== "month" && { day: "numeric" }),
    ...(/minute|hour/.test(unit) && AXIS[3]) };
  const text = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...parts }).format(date);
  return unit === "week" ? `week of ${text}` : text;
}

/** About n round moments between two dates, and how an axis writes them. */
export function timeTicks([first, last], n) {
  const step = SHORT.find((each) => (last - first) / each <= n);
  const found = [];
  if (step) {
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) found.push(new Date(at));
    return { ticks: found, format: written(step < DAY ? 3 : 2) };
  }
  const [from, to] = [first, last].map((date) => 12 * date.getUTCFullYear() + date.getUTCMonth());
  const months = MONTHS.find((each) => (to - from) / each <= n) ?? MONTHS.at(-1);
  for (let at = Math.ceil(from / months) * months; at <= to; at += months) {
    const date = new Date(Date.UTC(Math.floor(at / 12), at % 12));
    if (date >= first) found.push(date);
  }
  return { ticks: found, format: written(months % 12 ? 1 : 0) };
}

/** How to write the two ends of an axis. */
export const endFormat = ([first, last]) => {
  const days = (last - first) / DAY;
  return written(days > 1500 ? 0 : days > 90 ? 1 : days > 2 ? 2 : 3);
};

/** The items in runs that a line may join: no line is drawn over a gap. */
export function runs(items, gaps) {
  const ends = [0, ...gaps, items.length];
  return ends.slice(1).map((end, i) => items.slice(ends[i], end));
}

const path = (points) => (points.length ? `M${points.map((each) => each.join()).join("L")}` : "");

/** The path of a line through points in runs; a point alone is a short dash. */
export const linePath = (all, x, y) => all.map((run) =>
  path(run.length === 1 ? [-2, 2].map((d) => [x(run[0]) + d, y(run[0])])
    : run.map((point) => [x(point), y(point)]))).join("");

/** The path of an area between two lines. */
export const areaPath = (all, x, low, high) => all.map((run) => {
  const wide = run.length === 1 ? [[run[0], -2], [run[0], 2]] : run.map((point) => [point, 0]);
  const side = (points, y) => points.map(([point, d]) => [x(point) + d, y(point)]);
  return `${path([...side(wide, high), ...side([...wide].reverse(), low)])}Z`;
}).join("");
