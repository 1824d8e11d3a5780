/** What is shown where there is nothing to show. */

import { h } from "../dom.js";

const isFirst = () => /^#?\/?$/.test(location.hash);

export function missing(sentence, title = "Not here") {
  return {
    title,
    content: [
      h("h1", { tabindex: "-1" }, title),
      h("p", { class: "lede" }, sentence),
      isFirst() ? null : h("p", {}, h("a", { href: "#/" }, "Go to the overview")),
    ],
  };
}
