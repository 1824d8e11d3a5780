"""`opelda choose`: the number of topics."""

from typing import Any

from opelda.cli import _terminal as terminal
from opelda.cli._app import command, option
from opelda.cli._exit import Stop, StoppedError
from opelda.cli._inputs import new_learner, on_machine, read_corpus
from opelda.cli._options import AS_JSON, ENGINE, SOURCES, Learning, NamelessReading, Text
from opelda.cli._outputs import FIGURES, TABLES, check_output, save_figure, write_rows
from opelda.cli._terminal import duration, note, plain, print_line, print_table, reading_bar
from opelda.errors import InputError


@command(
    "opelda choose articles.jsonl",
    "opelda choose articles.jsonl -k 20,40,80,160 --preset fast",
    "opelda choose articles.jsonl -k 10,20,40 --runs 5 -o topics.csv -o topics.png",
)
def choose(
    *,
    corpus: list[str] = SOURCES,
    n_topics: str | None = option(
        "--topics -k K,K,...", "Numbers of topics; default: up to five numbers."
    ),
    n_runs: int = option("--runs N", "Runs per number of topics.", 3, min=2),
    output: list[str] | None = option("--output -o FILE", "Table or figure (repeatable)."),
    as_json: bool = AS_JSON,
    learning: Learning,
    reading: NamelessReading,
    text: Text,
    engine: str | None = ENGINE,
) -> None:
    """Try numbers of topics and advise one.

    Shows how well each predicts held-out words, and how coherent, distinct and stable its topics
    are. Ctrl-C shows the numbers that were finished.
    """
    files, suffixes = [reading.column_words], (*TABLES, *FIGURES)
    paths = [check_output(given, corpus, files, suffixes=suffixes) for given in output or ()]
    if any(path.suffix.lower() in FIGURES for path in paths):
        from opelda.report.plots._frame import matplotlib

        matplotlib()  # a missing matplotlib is named before the work
    numbers = None if n_topics is None else _numbers(n_topics)
    model = on_machine(new_learner(learning), reading.n_jobs, engine)
    documents = read_corpus(corpus, reading, text)
    from opelda.selection._choice import Choice, default_numbers, resolved
    from opelda.selection._fits import HELD_OUT, HeldOutSplit, expected_seconds, measured_fits

    template, n_runs, seed = resolved(model, n_runs)
    split = HeldOutSplit.of(documents, template, HELD_OUT, seed)
    numbers = numbers or default_numbers(split.train.shape[0])
    tried = ", ".join(f"{number:,}" for number in numbers)
    done: list[Any] = []
    with Stop() as stop, reading_bar("comparing", "fits") as bar:
        args = split, template, numbers, n_runs, seed
        if (seconds := stop.attempt(lambda: expected_seconds(*args))) is not None:
            advised = seconds > 60 and getattr(template, "preset", None) == "best"
            faster = "; --preset fast is enough for a first look" if advised else ""
            time = duration(round(seconds, -1 if seconds > 60 else 0), 0)
            note(f"{tried} topics, {n_runs} runs each: about {time}{faster}.")
        show = None if bar is None else lambda _, done, total: bar(done, done, total)
        fits = measured_fits(*args, show)
        while (found := stop.attempt(lambda: next(fits, None))) is not None:
            done.append(found)
            note(f"{found.row.n_topics:,} topics: {duration(found.row.seconds)}.")
        if not done:
            raise StoppedError("stopped during the first number of topics.")
        choice = Choice.of(done)
        for path in paths:
            if path.suffix.lower() in FIGURES:
                save_figure(path, choice.plot)
            else:
                write_rows(choice.table, path)
        _print(choice, as_json=as_json)
    if len(done) < len(numbers):
        raise StoppedError(f"stopped; {len(done)} of {len(numbers)} numbers of topics are shown.")


def _numbers(given: str) -> list[int]:
    from opelda.selection._choice import as_numbers

    try:
        numbers = [int(number) for number in given.split(",")]
    except ValueError:
        raise InputError(f"-k must be numbers such as 20,40,80, not {given!r}.") from None
    return as_numbers(numbers)


def _print(choice: Any, *, as_json: bool) -> None:
    rows, names = choice.table, choice.table.columns
    if as_json:
        found = {name: getattr(choice, name) for name in ("n_topics", "advice", "n_predictive")}
        found["tried"] = [{name: plain(getattr(row, name)) for name in names} for row in rows]
        terminal.print_json(found)
        return
    titles = (
        "topics",
        "prediction",
        "coherence",
        "stability",
        "quality",
        "distinct",
        "live",
        "time",
    )
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
