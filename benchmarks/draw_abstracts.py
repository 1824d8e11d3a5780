"""Draw the abstracts that opelda ships: src/opelda/corpus/arxiv/abstracts.jsonl.xz.

    python benchmarks/draw_abstracts.py abstracts-250k.parquet

The table has the columns id, date, category, title and abstract. 400 papers of each of ten fields
are drawn at random, with the same number per year, or all papers of a year with fewer.
"""

import json
import lzma
import random
import sys
from pathlib import Path
from typing import Any

import polars as pl

TARGET = Path(__file__).parents[1] / "src/opelda/corpus/arxiv/abstracts.jsonl.xz"
FIELDS = (
    "astro-ph", "cond-mat.mes-hall", "cs.CL", "cs.CV", "cs.LG", "math.CO", "physics.ao-ph",
    "q-bio.PE", "q-fin.ST", "quant-ph",
)  # fmt: skip
# of astro-ph the table mostly has plasma physics and methods
SKY = r"(?i)\b(galax|stars?\b|stellar|planet|cosmolog|telescope|supernova)"
PER_FIELD, SHORTEST = 400, 200  # shorter abstracts are notices of withdrawal, mostly


def papers(source: str) -> list[dict[str, Any]]:
    """Return the papers of the fields in the order of their ids."""
    # arXiv divided astro-ph into subjects in 2009, other archives earlier or never
    field = pl.col("category").str.replace(r"^astro-ph\..*", "astro-ph")
    flat = [
        pl.col(name).str.replace_all(r"\s+", " ").str.strip_chars().alias(alias)
        for name, alias in (("title", "title"), ("abstract", "text"))
    ]
    table = pl.read_parquet(source).select("id", "date", field, *flat).unique("id")
    chosen = table.filter(
        pl.col("category").is_in(FIELDS),
        pl.col("text").str.len_chars() >= SHORTEST,
        (pl.col("category") != "astro-ph") | pl.col("text").str.contains(SKY),
    )
    return [paper | {"id": arxiv_id(paper["id"])} for paper in chosen.sort("id").to_dicts()]


def arxiv_id(stored: str) -> str:
    """Return an id that may have been stored as a number: 704.012 was 0704.0120."""
    if "/" in stored:
        return stored
    return f"{float(stored):010.5f}" if float(stored) > 1500 else f"{float(stored):09.4f}"


def drawn(candidates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same number of papers of every field, spread over the years, in random order."""
    rng, chosen = random.Random(0), []
    rng.shuffle(candidates)
    for field in FIELDS:
        turns: dict[str, int] = {}  # papers of each year so far: the first ones go first
        ranked = []
        for paper in (paper for paper in candidates if paper["category"] == field):
            year = paper["date"][:4]
            turns[year] = turns.get(year, 0) + 1
            ranked.append((turns[year], len(ranked), paper))
        chosen += [paper for *_, paper in sorted(ranked, key=lambda each: each[:2])[:PER_FIELD]]
    rng.shuffle(chosen)
    return chosen


if __name__ == "__main__":
    lines = (json.dumps(paper, ensure_ascii=False) + "\n" for paper in drawn(papers(sys.argv[1])))
    filters = [
        {
            "id": lzma.FILTER_LZMA2,
            "preset": 9 | lzma.PRESET_EXTREME,
            "dict_size": 2**23,
            "lc": 4,
            "pb": 0,
        }
    ]
    TARGET.write_bytes(lzma.compress("".join(lines).encode(), filters=filters))
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")
