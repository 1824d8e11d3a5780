"""`opelda choose`: how many topics a collection has use for."""

from pathlib import Path
from typing import Any

from opelda.cli._app import command, option
from opelda.cli._exit import Stop, StoppedError
from opelda.cli._inputs import read_corpus
from opelda.cli._models import new_learner, on_machine
from opelda.cli._options import AsJson, Engine, Jobs, Learning, NamelessReading, Show, Sources, Text
from opelda.cli._outputs import FIGURES, check_output, save_figure
from opelda.cli._show import bar, count, duration, plain, skipped_documents
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
    n_topics: str | None = option(
        None,
        "--topics",
        "-k",
        help="Numbers of topics to try; up to five if not given.",
        metavar="K,K,...",
    ),
    n_runs: int = option(
        3, "--runs", help="Times to learn with each number, with other seeds.", min=2
    ),
    output: list[str] | None = option(
        None,
        "--output",
        "-o",
        help="Table (.csv, .tsv) or figure (.png, .svg, .pdf) (repeatable).",
        metavar="FILE",
    ),
    n_jobs: Jobs = None,
    as_json: AsJson = False,
    learning: Learning,
    reading: NamelessReading,
    text: Text,
    engine: Engine = None,
    show: Show,
) -> None:
    """Try numbers of topics and advise one.

    Shows how well each predicts held-out words, and how coherent, distinct and stable its topics
    are. Ctrl-C shows the numbers that were finished.
    """
    paths = [_checked(given, corpus, reading) for given in output or ()]
    numbers = None if n_topics is None else _numbers(n_topics)
    model = on_machine(new_learner(learning), n_jobs, engine)
    documents = read_corpus(corpus, reading, text, show, n_jobs)
    skipped_documents(documents.n_skipped, documents.problems, show)
    from opelda.selection._choice import Choice, default_numbers, resolved
    from opelda.selection._fits import HELD_OUT, HeldOutSplit, measured_fits

    template, n_runs, seed = resolved(model, n_runs)
    split = HeldOutSplit.of(documents, template, HELD_OUT, seed)
    numbers = numbers or default_numbers(split.train.shape[0])
    tried = ", ".join(f"{number:,}" for number in numbers)
    note(
        show,
        f"{count(split.train.shape[0], 'document')} to learn from and "
        f"{count(split.held_out.shape[0], 'document')} to predict; {tried} topics, {n_runs} runs "
        "each.",
    )
    done: list[Any] = []
    with Stop() as stop:
        with bar(show, "", "TimeElapsedColumn") as update:

            def progress(doing: str, n_done: int, n_all: int) -> None:
                said = f"{doing} ({n_done + 1} of {n_all})"
                if update is not None:
                    update(completed=n_done, total=n_all, description=said)

            fits = measured_fits(split, template, numbers, n_runs, seed, progress)
            while (found := stop.attempt(lambda: next(fits, None))) is not None:
                done.append(found)
                if update is None:
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
    suffixes = *TABLES, *FIGURES
    path = check_output(given, corpus, [reading.column_words], suffixes=suffixes)
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
        found = {name: getattr(choice, name) for name in ("n_topics", "advice", "n_predictive")}
        found["tried"] = [{name: plain(getattr(row, name)) for name in names} for row in rows]
        print_json(found)
        return
    titles = ("topics", "LPP", "coherence", "stability", "quality", "distinct", "live", "time")
    cells = [
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
    ]
    print_table(titles, cells, right=titles)
    print_line()
    print_line(choice.advice)
