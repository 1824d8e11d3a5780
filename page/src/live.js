/** The newest state of a stream, fetched again and again. */

import { app, take } from "./state.js";

export const live = { paused: false, failed: false };

/** How the page goes on, in a sentence. */
export function howItGoes() {
  if (live.failed) {
    return "The stream has ended or cannot be reached; this page shows its last state.";
  }
  return live.paused ? "Paused." : `Updates every ${app.model.meta.live.every} s.`;
}

/**
 * Look again as often as the page says, and tell who shows it.
 * @param {(isChanged: boolean) => void} onNews with whether more changed than the stream's numbers
 */
export function follow(onNews) {
  const facts = () => JSON.stringify([live.failed, { ...app.model.meta, stream: null }]);
  let former = facts();
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
      const now = facts();
      onNews(now !== former);
      former = now;
    }
    setTimeout(look, app.model.meta.live.every * 1000);
  };
  setTimeout(look, app.model.meta.live.every * 1000);
}
