"""Draw the figure of docs/howto/number-of-topics.md.

    python docs/choosing_figures.py [--out DIR]

The documents are generated.
"""

import argparse
import tempfile
from pathlib import Path

from scipy import sparse

from opelda.cli import main as opelda
from opelda.corpus import generate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    asked = parser.parse_args()
    counts = generate(1500, n_words=1500, n_topics=20, doc_topic_prior=0.05, random_state=1).X
    with tempfile.TemporaryDirectory() as folder:
        corpus, figure = f"{folder}/generated.npz", str(asked.out / "choosing-generated.svg")
        sparse.save_npz(corpus, counts)
        opelda(["choose", corpus, "-k", "5,10,14,20,28,40", "-o", figure])


if __name__ == "__main__":
    main()
