"""`opelda report`: a page about a model and documents."""

from pathlib import Path

from opelda.cli._app import command, option
from opelda.cli._exit import StoppedError
from opelda.cli._inputs import columns_of, load_model, read_over, reading_options, source_of
from opelda.cli._options import ENGINE, MODEL, SOURCES, Accuracy, Reading
from opelda.cli._outputs import check_output
from opelda.cli._terminal import note, reading_bar


@command(
    "opelda report model.opelda articles.jsonl -o report.html",
    "opelda report model.opelda articles.jsonl --time date --by section -o report.html",
    "opelda report model.opelda articles.jsonl --compare other.opelda -o report.html",
)
def report(
    *,
    model: str = MODEL,
    corpus: list[str] = SOURCES,
    output: str = option("--output -o FILE", "The page.", "report.html"),
    title: str | None = option("--title TEXT", "Title of the page; default: name of the corpus."),
    time: str | None = option("--time COLUMN", "Column of times; default: detected by name."),
    by: str | None = option("--by COLUMN", "Column of groups; default: detected by name."),
    compare: str | None = option("--compare MODEL", "Second model to compare with."),
    held_out: list[str] | None = option(
        "--valid FILE", "Held-out documents for the score (repeatable)."
    ),
    stability: bool = option(
        "--stability/--no-stability", "Train a second model to measure stability.", True
    ),
    accuracy: Accuracy,
    reading: Reading,
    engine: str | None = ENGINE,
) -> None:
    """Write a page about a model: one HTML file, which works offline.

    A map of the topics, their words, typical documents with words coloured by topic, topics over
    time and by group, every document's mixture with its certificate, and a place to paste a text.
    """
    from opelda.report import write_report

    sources, files = [*corpus, *(held_out or ())], [model, compare, reading.column_words]
    path = check_output(output, sources, files, suffixes=(".html", ".htm"))
    learned = load_model(model, reading.n_jobs, engine, accuracy)
    other = None if compare is None else load_model(compare, reading.n_jobs, engine)
    scored = read_over(columns_of(learned), held_out, reading) if held_out else None
    source = source_of(corpus)
    try:
        with reading_bar("inferring") as bar:
            write_report(
                learned,
                source,
                path,
                title=title,
                name=Path(model).name,
                time=time,
                by=by,
                compare=other,
                compare_name=Path(compare).name if compare else "",
                held_out=scored,
                stability=stability,
                progress=None if bar is None else lambda doing, n: bar(n, None, None),
                **reading_options(reading),
            )
    except KeyboardInterrupt:
        raise StoppedError(f"stopped; {output} was not written.") from None
    size = f"{path.stat().st_size / 1e6:,.1f} MB"
    note(f"{output} ({size}): open it in a browser; it works offline.")
