/** All topics over time, and what changed between two periods. */

import { inWords } from "../charts/time.js";
import { h } from "../dom.js";
import { contrast, usualPeriods } from "../parts/contrast.js";
import { allOverTime, sharesNote } from "../parts/shares.js";
import { app } from "../state.js";
import { missing } from "./missing.js";

export function time({ query }) {
  const { time: facts } = app.model.meta;
  if (!facts) return missing("The documents of this page have no times.", "Over time");
  const { periods } = facts;
  const written = (bin) => inWords(bin, periods.unit);
  return {
    title: "Over time",
    content: [
      h("h1", { tabindex: "-1" }, "Over time"),
      sharesNote(),
      contrast({ ...periods, names: periods.bins }, {
        kind: "period", title: `What changed between two ${periods.unit}s?`, written,
        usual: usualPeriods(periods), query, between: allOverTime(),
      }),
    ],
  };
}
