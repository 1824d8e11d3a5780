/** How groups differ, and two of them side by side. */

import { bdi, h } from "../dom.js";
import { contrast } from "../parts/contrast.js";
import { groupTable } from "../parts/groups.js";
import { groupsOverTime } from "../parts/lines.js";
import { sharesNote } from "../parts/shares.js";
import { app } from "../state.js";
import { missing } from "./missing.js";

const GROUPS = 30;

export function groups({ query }) {
  const { groups: facts } = app.model.meta;
  if (!facts) return missing("The documents of this page have no groups.", "Groups");
  return {
    title: "Groups",
    content: [
      h("h1", { tabindex: "-1", class: "long" }, bdi(`By ${facts.column}`)),
      sharesNote(),
      contrast(facts, { kind: "group", title: "Compare two", written: (name) => name,
        usual: [0, 1], query, between: groupsOverTime() }),
      h("section", {}, h("h2", {}, "What each has more of"), groupTable(GROUPS)),
    ],
  };
}
