"""Draw the figures of docs/reproduction.md and fill in its tables.

    python -m reproduction.page --runs DIR    take over what `make reproduce` wrote to DIR/CORPUS
    python -m reproduction.page               redraw from benchmarks/results/reproduction

The text between <!-- NAME --> and <!-- end --> is generated; a test compares the verdicts.
"""

import argparse
import json
import re
from pathlib import Path
from typing import get_args

import polars

from reproduction.experiment import Outcome
from reproduction.plots import style
from reproduction.running import find_experiment
from reproduction.tables import TABLES, Results

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "reproduction.md"
SUMMARIES = ROOT / "benchmarks" / "results" / "reproduction"
PART = re.compile(r"(<!-- ([\w:., -]+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def read(folder: Path = SUMMARIES) -> Results:
    """Return the rows of every corpus and experiment that there are."""
    found: Results = {}
    for path in sorted(folder.glob("*/*.csv")):
        table = polars.read_csv(path, infer_schema_length=None)
        found[path.parent.name, path.stem] = table.to_dicts()
    for corpus, name in list(found):
        if name == "learning-documents":  # Figure 1 has the same runs
            found[corpus, "learning-time"] = found[corpus, name]
    return found


def take_over(runs: Path, folder: Path = SUMMARIES) -> None:
    """Keep the tables of full runs, rounded, and what they were made with."""
    for about in sorted(runs.glob("*/*/about.json")):
        corpus, name = about.parts[-3:-1]
        if name == "learning-time":
            continue
        table = polars.read_csv(about.parent / "data.csv", infer_schema_length=None)
        floats = polars.selectors.float()
        (folder / corpus).mkdir(parents=True, exist_ok=True)
        table.with_columns(floats.round_sig_figs(6)).write_csv(folder / corpus / f"{name}.csv")
        made = json.loads(about.read_text())
        kept = {key: made[key] for key in ("data", "documents", "words", "test_documents")}
        (folder / corpus / f"{name}.json").write_text(
            json.dumps(kept | {"settings": made["settings"]}, indent=1) + "\n"
        )


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw the figures that the page shows; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    page = PAGE.read_text(encoding="utf-8")
    paths = []
    with style():
        for (corpus, name), rows in results.items():
            path = folder / f"reproduction-{name}-{corpus}.svg"
            if path.name in page:
                find_experiment(name).draw(rows).savefig(path, metadata={"Date": None})
                paths.append(path)
    return paths


def filled(page: str, results: Results) -> str:
    """Return the page with its tables as the results have them."""

    def part(match: re.Match[str]) -> str:
        return match[1] + "\n".join(TABLES[match[2]](results)) + "\n" + match[4]

    return PART.sub(part, page)


def verdicts(results: Results) -> dict[str, str]:
    """Return the outcome of each claim; where collections differ, with their names."""
    found: dict[str, dict[str, list[str]]] = {}
    for (corpus, name), rows in results.items():
        for verdict in find_experiment(name).judge(rows):
            outcomes = found.setdefault(verdict.claim, {})
            outcomes.setdefault(verdict.outcome, []).append(f"`{corpus}`")
    return {
        claim: ", ".join(
            outcome if len(outcomes) == 1 else f"{outcome} ({', '.join(outcomes[outcome])})"
            for outcome in get_args(Outcome)
            if outcome in outcomes
        )
        for claim, outcomes in found.items()
    }


def main() -> None:
    """Write the page and its figures."""
    parser = argparse.ArgumentParser(description="Write docs/reproduction.md and its figures.")
    parser.add_argument("--runs", type=Path, help="folder of folders written by make reproduce")
    parser.add_argument("--out", type=Path, default=DOCS / "figures")
    options = parser.parse_args()
    if options.runs:
        take_over(options.runs)
    results = read()
    draw(results, options.out)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
