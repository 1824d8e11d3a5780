"""Draw the figures of docs/choosing.md, and print its tables: BBC News, and generated documents.

    python docs/choosing_figures.py --data DIR [--out DIR]

DIR holds octis_small/octis-BBC-DBLP-M10.tar.xz, which is not part of this repository.
"""

import argparse
import tarfile
import tempfile
from pathlib import Path

from scipy import sparse

from opelda.cli import main as opelda
from opelda.corpus import generate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        news, made = Path(folder) / "bbc.txt", Path(folder) / "generated.npz"
        with tarfile.open(asked.data / "octis_small" / "octis-BBC-DBLP-M10.tar.xz") as files:
            lines = files.extractfile("./BBC_News/corpus.tsv").read().decode().splitlines()
        news.write_text("\n".join(line.split("\t")[0] for line in lines))
        counts = generate(1500, n_words=1500, n_topics=20, doc_topic_prior=0.05, random_state=1).X
        sparse.save_npz(made, counts)
        for name, corpus, numbers in (
            ("generated", made, "5,10,14,20,28,40"),
            ("bbc", news, "3,5,7,10,20,40"),
        ):
            figure = str(asked.out / f"choosing-{name}.svg")
            opelda(["choose", str(corpus), "-k", numbers, "-o", figure])
        model = f"{folder}/bbc.opelda"
        opelda(["fit", str(news), "-k", "10", "--runs", "10", "-o", model, "-q"])
        opelda(["topics", model, "-n", "7"])


if __name__ == "__main__":
    main()
