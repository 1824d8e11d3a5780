"""Files in every text format, for tests of readers."""

import csv
import json
from pathlib import Path

import polars as pl


def write(name, path, texts, names=None):
    """Write texts, with their names if the format holds names."""
    path = Path(path)
    numbers = [str(i) for i in range(len(texts))]
    columns = {"text": texts} if names is None else {"name": names, "text": texts}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    named = [*zip(names or numbers, texts, strict=True)]
    if name == "files":
        path.mkdir()
        for called, text in named:
            (path / f"{called}.txt").write_text(text)
    elif name == "parquet":
        pl.DataFrame(columns).write_parquet(path)
    elif name == "xlsx":
        pl.DataFrame(columns).write_excel(path)
    elif name in ("csv", "tsv"):
        with open(path, "w", newline="") as file:
            table = csv.DictWriter(file, columns, delimiter="," if name == "csv" else "\t")
            table.writeheader()
            table.writerows(rows)
    else:
        lines = {
            "lines": lambda: texts,
            "jsonl": lambda: [json.dumps(row, ensure_ascii=False) for row in rows],
            "mallet": lambda: [f"{called}\t_\t{text}" for called, text in named],
        }[name]()
        path.write_text("".join(f"{line}\n" for line in lines))
