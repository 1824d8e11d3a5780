"""Draw the figures of docs/howto/export.md, docs/howto/edit-topics.md and docs/covariates.md.

    python docs/looking_figures.py --data DIR [--out DIR]

DIR holds arxiv/abstracts-250k.parquet, which is not part of this repository.
"""

import argparse
import tempfile
from pathlib import Path

import polars as pl

from opelda.cli import main as opelda

N_DOCS, N_TOPICS = 20_000, 24
FIGURES = {
    "words": "--kind words --topics 8",
    "map": "--kind map",
    "tree": "--kind tree",
    "time": "{corpus} --kind time --unit year",
    "groups": "{corpus} --kind groups --by archive",
    "effect": "{corpus} --effect date --effect archive",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    asked = parser.parse_args()
    table = pl.read_parquet(asked.data / "arxiv" / "abstracts-250k.parquet").head(N_DOCS)
    archive = pl.col("category").str.split(".").list.first()
    with tempfile.TemporaryDirectory() as folder:
        corpus, model = f"{folder}/arxiv.parquet", f"{folder}/arxiv.opelda"
        table.with_columns(archive=archive).write_parquet(corpus)
        columns = ["-t", "title", "-t", "abstract"]
        opelda(["fit", corpus, *columns, "-k", str(N_TOPICS), "-o", model])
        for name, options in FIGURES.items():
            given = options.format(corpus=corpus).split()
            text = columns if corpus in given else []
            opelda(["plot", model, *given, *text, "-o", str(asked.out / f"looking-{name}.svg")])
        opelda(["topics", model, corpus, *columns, "--docs", "3", "--words", "8"])


if __name__ == "__main__":
    main()
