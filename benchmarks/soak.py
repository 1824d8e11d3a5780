"""A long-running stream with a live page and a follower, without growing resources.

    python -m benchmarks.soak [--documents 100_000_000] [--looks 100] [--out FILE.jsonl]
                              [-- OPTIONS OF opelda stream]

The documents of `stream_memory` go through `opelda stream -` with a vocabulary that takes up new
words and drops others, checkpoints and the live page; this process follows the checkpoints, uses
every model that it finds, and reads the page at each look. A line of JSON a look: memory of both,
open files and threads of the stream, files in the checkpoint folder, words of the newest model, the
score. It ends with status 1 where something grew from the second to the last quarter of the looks,
the score fell by more than 0.1 nats per token, a document was lost, or the follower did not reach
the last model. Looks count once the window is full, after 400,000 documents; until the
vocabulary is full too, models grow with it, and the score falls, for rarer words are counted.
"""

import argparse
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import opelda
from benchmarks.stream_memory import FULL, measure

MOST_GROWTH = 1.05  # of memory
MOST_WORSE = 0.1  # nats per token
PATIENCE = 60.0  # seconds for the page to answer


class Beside:
    """Follows the checkpoints in a separate thread; reads the page on request."""

    def __init__(self, last: int) -> None:
        self.last = last  # documents of the model with which following ends
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.n_models, self.n_docs, self.n_words = 0, 0, 0
        self._follower: threading.Thread | None = None
        # what using a model imports is no growth of what uses one
        opelda.TopicModel(2, preset="fast").fit(["tea cake", "star moon"] * 5).transform(["tea"])

    def __call__(self, pid: int, checkpoint: Path) -> dict[str, float]:
        """Return the current measurements."""
        if self._follower is None:
            self._follower = threading.Thread(target=self._follow, args=[checkpoint], daemon=True)
            self._follower.start()
        read = self._page("/meta.json")
        assert b"<html" in self._page("/")
        stream = json.loads(read)["stream"]
        place, own = Path(f"/proc/{pid}"), Path("/proc/self/statm").read_text().split()
        return {
            "page_documents": stream["n_docs"],
            "score": stream["score"],
            "files": len(os.listdir(place / "fd")),
            "threads": len(os.listdir(place / "task")),
            "kept": len(list(checkpoint.glob("*"))),
            "followed": self.n_models,
            "words": self.n_words,
            "follower_mb": round(int(own[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20, 1),
        }

    def _follow(self, checkpoint: Path) -> None:
        for model in opelda.follow(checkpoint, poll=0.2):
            assert model.n_docs_seen_ >= self.n_docs
            mixture = model.transform([" ".join(model.vocabulary_.words[:20])])
            assert abs(mixture.sum() - 1) < 1e-3
            self.n_models, self.n_docs = self.n_models + 1, int(model.n_docs_seen_)
            self.n_words = len(model.vocabulary_.words)
            if self.n_docs >= self.last:
                break

    def _page(self, path: str) -> bytes:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
                    return answer.read()
            except OSError:  # it has not begun
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)


def soaked(n_docs: int, options: list[str], looks: int = 100) -> Iterator[dict[str, float]]:
    """Yield a line a look, and one of the end."""
    beside = Beside(n_docs)
    served = [*options, "--serve", f"127.0.0.1:{beside.port}"]
    for line in measure(n_docs, 0.0, served, looks, beside):
        if "written" in line:  # the end; the folder is there until the next line is asked for
            end = time.monotonic() + PATIENCE
            while beside.n_docs < line["documents"] and time.monotonic() < end:
                time.sleep(0.05)
            line["followed_documents"] = beside.n_docs
        yield line


def faults(
    looks: list[dict[str, float]],
    end: dict[str, float],
    most_growth: float = MOST_GROWTH,
    most_worse: float = MOST_WORSE,
) -> list[str]:
    """Return what must not be: growth, a worse score, documents or models that were lost."""
    full = [look for look in looks if look["documents"] > FULL] or looks
    quarter = max(1, len(full) // 4)
    before, after = full[quarter : 2 * quarter] or full, full[-quarter:]
    found = []
    for name in ("peak_mb", "follower_mb", "files", "threads", "kept"):
        # requests and writes come and go: one more file or thread is not a leak
        most = max(look[name] for look in before) * most_growth + ("mb" not in name) * 2
        if max(look[name] for look in after) > most:
            found.append(f"{name} grew to {max(look[name] for look in after)}, above {most:g}.")
    scores = [[look["score"] for look in some if look["score"]] for some in (before, after)]
    was, now = (sum(some) / max(1, len(some)) for some in scores)
    if now < was - most_worse:
        found.append(f"The score fell from {was:.3f} to {now:.3f}.")
    if end["documents"] != end["written"]:
        found.append(f"{end['written'] - end['documents']} documents were lost.")
    if end["followed_documents"] != end["documents"]:
        found.append(f"The follower ended at {end['followed_documents']} documents.")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000_000)
    parser.add_argument("--looks", type=int, default=100)
    parser.add_argument("--out", type=Path)
    parser.add_argument("options", nargs="*", help="of opelda stream")
    given = parser.parse_args()
    options = given.options or ["--max-features", "50000", "--jobs", "2"]
    lines = []
    for line in soaked(given.documents, options, given.looks):
        print(json.dumps(line), flush=True)
        lines.append(line)
        if given.out:
            with given.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
    *looks, end = lines
    found = faults(looks, end)
    print("\n".join(found) or "Nothing grew, and nothing was lost.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
