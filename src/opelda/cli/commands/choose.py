"""`opelda choose`: how many topics a collection has use for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opelda.cli._app import command, option
from opelda.cli._exit import Stop, StoppedError
from opelda.cli._figures import FIGURES, save_figure
from opelda.cli._inputs import read_corpus
from opelda.cli._models import new_learner, on_machine
from opelda.cli._options import (
    AsJson,
    Engine,
    Jobs,
    Learning,
    NamelessReading,
    Show,
    Sources,
    Text,
)
from opelda.cli._paths import check_output
from opelda.cli._show import count, duration, plain, skipped_documents
from opelda.cli._standard_streams import note, print_json, print_line, print_table
from opelda.errors import InputError

TABLES = {".csv": ",", ".tsv": "\t"}


@command(
    "choose",
    "opelda choose articles.jsonl",
    "opelda choose articles.jsonl -k 20,40,80,160 --preset fast",
    "opelda choose articles.jsonl -k 10,20,40 --runs 5 -o topics.csv -o topics.png",
)
def choose(
    *,
    corpus: Sources,
    topics: str | None = option(
        None,
        "--topics",
        "-k",
        help="Numbers of topics to try; if not given, up to five as the documents allow.",
        metavar="K,K,...",
    ),
    runs: int = option(3, help="Times to learn with each number, with other seeds.", min=2),
    output: list[str] | None = option(
        None,
        "--output",
        "-o",
        help="Where the table (.csv, .tsv) or the figure (.png, .svg, .pdf) goes; may be given "
        "several times.",
        metavar="FILE",
    ),
    jobs: Jobs = None,
    engine: Engine = None,
    as_json: AsJson = False,
    learning: Learning,
    reading: NamelessReading,
    text: Text,
    show: Show,
) -> None:
    """Try numbers of topics and advise one.

    Shows how well each predicts held-out words, how coherent and how distinct its topics are, and
    how far they come again when learned anew. Ctrl-C shows the numbers that were finished.
    """
    paths = [_checked(given, corpus, reading) for given in output or ()]
    numbers = None if topics is None else _numbers(topics)
    model = on_machine(new_learner(learning), jobs, engine)
    documents = read_corpus(corpus, reading, text, show, jobs)
    skipped_documents(documents.n_skipped, documents.problems, show)
    from opelda.selection._choice import Choice, default_numbers, resolved
    from opelda.selection._fits import HELD_OUT, HeldOutSplit, measured_fits

    template, runs, seed = resolved(model, runs)
    split = HeldOutSplit.of(documents, template, HELD_OUT, seed)
    numbers = numbers or default_numbers(split.train.shape[0])
    tried = ", ".join(f"{number:,}" for number in numbers)
    note(
        show,
        f"{count(split.train.shape[0], 'document')} to learn from and "
        f"{count(split.held_out.shape[0], 'document')} to predict; {tried} topics, {runs} runs "
        "each.",
    )
    done: list[Any] = []
    with Stop() as stop:
        with _bar(show) as progress:
            fits = measured_fits(split, template, numbers, runs, seed, progress)
            while (found := stop.attempt(lambda: next(fits, None))) is not None:
                done.append(found)
                if progress is None:
                    note(show, f"{found.n_topics:,} topics: {duration(found.seconds)}.")
        if not done:
            raise StoppedError("stopped before a number of topics was finished; nothing to show.")
        choice = Choice.of(done)
        for path in paths:
            _write(choice, path)
        _print(choice, as_json=as_json)
    if len(done) < len(numbers):
        raise StoppedError(
            f"stopped; shown are {len(done)} of {len(numbers)} numbers of topics, which were "
            "finished."
        )


def _numbers(given: str) -> list[int]:
    from opelda.selection._choice import as_numbers

    try:
        return as_numbers([int(number) for number in given.split(",")])
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"-k must be numbers of topics with commas between, as 20,40,80, not {given!r}."
        ) from None


def _checked(given: str, corpus: list[str], reading: NamelessReading) -> Path:
    if Path(given).suffix.lower() not in (*TABLES, *FIGURES):
        raise InputError(
            f"The output {given!r} must end in .csv or .tsv for the table, or in .png, .svg or "
            ".pdf for the figure."
        )
    path = check_output(given, corpus, [reading.column_words])
    if path.suffix.lower() in FIGURES:
        from opelda.report.plots._frame import matplotlib

        matplotlib()  # that it is missing is said before the work
    return path


def _write(choice: Any, path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix in FIGURES:
        save_figure(path, choice.plot)
        return
    from opelda.corpus.formats._writing import write_in_one_step

    with write_in_one_step(path) as file:
        file.write(choice.table.to_polars().write_csv(separator=TABLES[suffix]).encode())


def _print(choice: Any, *, as_json: bool) -> None:
    rows, names = choice.table, choice.table.columns
    if as_json:
        print_json(
            {
                "n_topics": choice.n_topics,
                "advice": choice.advice,
                "n_predictive": choice.n_predictive,
                "tried": [{name: plain(getattr(row, name)) for name in names} for row in rows],
            }
        )
        return
    print_table(
        ("topics", "LPP", "coherence", "stability", "quality", "distinct", "live", "time"),
        [
            (
                f"{row.n_topics:,}",
                f"{row.lpp:.3f} ± {row.lpp_error:.3f}",
                f"{row.coherence:.3f}",
                f"{row.stability:.2f}",
                f"{row.quality:.3f}",
                f"{row.distinctness:.2f}",
                "-" if row.live_topics is None else f"{row.live_topics:,.0f}",
                duration(row.seconds),
            )
            for row in rows
        ],
        right=("topics", "LPP", "coherence", "stability", "quality", "distinct", "live", "time"),
    )
    print_line()
    print_line(choice.advice)


@contextmanager
def _bar(show: Show) -> Iterator[Any]:
    """Give what is called before each fit, or None where nobody watches a terminal."""
    if show.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(bar_width=12),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda doing, n_done, n_all: bar.update(
            task, completed=n_done, total=n_all, description=f"{doing} ({n_done + 1} of {n_all})"
        )
