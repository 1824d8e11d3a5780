/** The newest state of a stream, fetched again and again. */

import { app, take } from "./state.js";

export const live = { paused: false, failed: false };

/** Look again as often as the page says, and tell who shows it. */
export function follow(onNews) {
  const look = async () => {
    if (!live.paused && !document.hidden) {
      try {
        const answer = await fetch("/meta.json", { cache: "no-store" });
        if (!answer.ok) throw new Error(answer.statusText);
        take(await answer.json());
        live.failed = false;
      } catch {
        live.failed = true;
      }
      onNews();
    }
    setTimeout(look, app.model.meta.live.every * 1000);
  };
  setTimeout(look, app.model.meta.live.every * 1000);
}
