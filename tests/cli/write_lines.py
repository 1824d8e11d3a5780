"""Write n lines of generated text to stdout: topics, and words that change over time.

python write_lines.py 100000
"""

import sys

import numpy as np

BLOCK, WORDS_PER_LINE, N_TOPICS, N_WORDS = 10_000, 10, 20, 400


def block(number: int) -> bytes:
    """Return the lines of a block; they depend on its number only."""
    rng = np.random.default_rng([7, number])
    topics = rng.integers(0, N_TOPICS, BLOCK)
    ranks = np.minimum(rng.zipf(1.3, (BLOCK, WORDS_PER_LINE)) - 1, N_WORDS - 1)
    # each block replaces a tenth of the words of every topic
    ages = number + (ranks * 0.6180339887) % 1.0 * 10
    names = np.char.add(
        np.char.add("w", (ages // 10).astype(int).astype("U7")),
        np.char.add("x", (topics[:, None] * N_WORDS + ranks).astype("U7")),
    )
    return "".join(" ".join(line) + "\n" for line in names.tolist()).encode()


def main() -> None:
    n_lines = int(sys.argv[1])
    for number in range(-(-n_lines // BLOCK)):
        lines = block(number)
        if (number + 1) * BLOCK > n_lines:
            lines = b"".join(lines.splitlines(keepends=True)[: n_lines - number * BLOCK])
        sys.stdout.buffer.write(lines)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.stderr.close()
