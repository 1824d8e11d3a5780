"""Memory of an endless stream: generated documents with new words, through `opelda stream -`.

    python -m benchmarks.stream_memory [--documents 10_000_000] [--rate 0] [--max-features 50_000]
                                       [--jobs 2] [--out FILE.jsonl] [-- OPTIONS OF opelda stream]

Documents are texts of nine words on average, each on one of a hundred themes. Words are drawn by
Zipf's law without an end, and every tenth document has a unique word: 70,000 distinct
ones in the first 100,000 documents. They are written to the command's standard input, `--rate` of
them a second (0: as fast as they are taken), and its memory is looked at from outside, a line of
JSON a look: `peak_mb` is the largest since the look before, `waited` the seconds that the writer
had to wait meanwhile. At the end every document that was written must have been learned from; and
memory must be flat once the window is full, after 400,000 documents. With a rate the
last line also says how many seconds old documents were when a checkpoint first had them: the first
one that was written (`first_age`), and the oldest (`oldest_age`).

10^7 documents take about half an hour on a core that is shared with others; ``--rate 1 --documents
90 -- --every 10s`` a minute and a half.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

THEMES = 100
BLOCK = 10_000  # documents that are drawn at once
EXPONENT = 1.5
MEAN_WORDS = 9
SYLLABLES = [a + b + c for a in "bdfgklmnpr" for b in "aeiou" for c in "bdfgklmnprstvxz"]
FULL = 400_000  # documents: from here on memory is to be flat


def word(number: int) -> str:
    """Spell a number, each differently."""
    spelled = ""
    while number:
        number, digit = divmod(number, len(SYLLABLES))
        spelled += SYLLABLES[digit]
    return spelled


def texts(n_docs: int, seed: int = 0) -> Iterator[str]:
    """Yield lines; the n-th depends on its number and the seed alone."""
    for first in range(0, n_docs, BLOCK):
        rng = np.random.default_rng([seed, first])
        lengths = 1 + rng.poisson(MEAN_WORDS - 1, BLOCK)
        themes = np.repeat(rng.integers(THEMES, size=BLOCK), lengths)
        ranks = np.minimum(rng.zipf(EXPONENT, len(themes)), 2**40)
        words = list(map(word, (ranks * THEMES + themes).tolist()))
        ends = np.cumsum(lengths).tolist()
        for number, start, end in zip(range(first, n_docs), [0, *ends], ends, strict=False):
            new = f" once{word(number + 1)}" if number % 10 == 0 else ""
            yield f"{' '.join(words[start:end])}{new}\n"


def look(pid: int) -> dict[str, float]:
    """Return a process's memory now and its peak since the last look, and its processor time."""
    place = Path(f"/proc/{pid}")
    lines = (place / "status").read_text().splitlines()
    found = {name: value for name, _, value in (line.partition(":") for line in lines)}
    now, peak = (int(found[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    (place / "clear_refs").write_text("5")  # the peak is reset
    ticks = (place / "stat").read_text().rpartition(")")[2].split()[11:13]  # user, system
    seconds = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return {
        "resident_mb": round(now, 1),
        "peak_mb": round(peak, 1),
        "processor_seconds": round(seconds, 2),
    }


def ages(checkpoint: Path, written: list[float]) -> dict[str, float]:
    """Return how old documents were when they were first in a checkpoint: the first, the oldest."""
    lines = (checkpoint / ".times").read_text().splitlines()
    commits = [(int(n_docs), float(when)) for n_docs, when in map(str.split, lines)]
    found, done = [], 0
    for n_docs, when in commits:
        if n_docs > done:  # the document written first is the oldest
            found.append(round(when - written[done], 2))
            done = n_docs
    return {"first_age": found[0], "oldest_age": max(found), "checkpoints": len(found)}


def measure(
    n_docs: int,
    rate: float,
    options: list[str],
    looks: int = 100,
    beside: Callable[[int, Path], dict[str, float]] = lambda pid, checkpoint: {},
) -> Iterator[dict[str, float]]:
    """Give the command documents; yield its memory and the figures of `beside` at intervals."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        checkpoint = Path(folder) / "live"
        command = [sys.executable, "-m", "opelda", "stream", "-", "--checkpoint", str(checkpoint)]
        process = subprocess.Popen(
            [*command, "--format", "lines", "--json", "--quiet", *options],
            stdin=subprocess.PIPE,
            stdout=said,
        )
        started, waits, written = time.perf_counter(), [0.0], list[float]()
        for number, line in enumerate(texts(n_docs), 1):
            if rate:
                time.sleep(max(0.0, started + number / rate - time.perf_counter()))
            ready = time.perf_counter()
            process.stdin.write(line.encode())
            if rate:
                process.stdin.flush()
                written.append(time.time())
            waits.append(time.perf_counter() - ready)
            if number % max(1, n_docs // looks) == 0:
                yield {
                    "documents": number,
                    "seconds": round(time.perf_counter() - started, 2),
                    "waited": round(sum(waits), 2),
                    "longest_wait": round(max(waits), 2),
                    **look(process.pid),
                    **beside(process.pid, checkpoint),
                    "checkpoint_mb": round(
                        sum(path.stat().st_size for path in checkpoint.glob("*")) / 2**20, 1
                    ),
                }
                waits = [0.0]
        process.stdin.close()
        if process.wait():
            raise SystemExit(f"opelda stream ended with status {process.returncode}")
        said.seek(0)
        told = json.loads(said.read())
        seconds = time.perf_counter() - started
        told |= {"written": n_docs, "seconds": round(seconds, 2), "rate": round(n_docs / seconds)}
        yield told | (ages(checkpoint, written) if rate else {})


def growth(lines: list[dict[str, float]]) -> float:
    """Return by how much the peaks of the last quarter are above the second's, as a ratio.

    Of the lines since the window was full, or of all where it never was.
    """
    peaks = [line["peak_mb"] for line in lines if line["documents"] > FULL]
    peaks = peaks or [line["peak_mb"] for line in lines]
    quarter = max(1, len(peaks) // 4)
    return max(peaks[-quarter:]) / max(peaks[quarter : 2 * quarter] or peaks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--rate", type=float, default=0.0, help="documents a second; 0: no limit")
    parser.add_argument("--max-features", type=int, default=50_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--looks", type=int, default=100)
    parser.add_argument("--out", type=Path)
    parser.add_argument("options", nargs="*", help="of opelda stream")
    given = parser.parse_args()
    options = ["--max-features", str(given.max_features), "--jobs", str(given.jobs)]
    lines = []
    for line in measure(given.documents, given.rate, [*options, *given.options], given.looks):
        print(json.dumps(line), flush=True)
        lines.append(line)
        if given.out:
            with given.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
    *looks, end = lines
    print(
        f"{end['written'] - end['documents']} documents lost; the peaks of the last quarter are "
        f"{growth(looks):.3f} of the second's."
    )


if __name__ == "__main__":
    main()
