"""`opelda report`: a page about a model and documents."""

from pathlib import Path

from opelda.cli._app import command, option
from opelda.cli._exit import StoppedError
from opelda.cli._inputs import read_over, reading_options, source_of
from opelda.cli._models import columns_of, load_model
from opelda.cli._options import AccuracyOptions, Engine, Jobs, Model, Reading, Show, Sources
from opelda.cli._outputs import check_output
from opelda.cli._show import reading_bar, size
from opelda.cli._standard_streams import note


@command(
    "report",
    "opelda report model.opelda articles.jsonl -o report.html",
    "opelda report model.opelda articles.jsonl --time date --by section -o report.html",
    "opelda report model.opelda articles.jsonl --compare other.opelda -o report.html",
)
def report(
    *,
    model: Model,
    corpus: Sources,
    output: str = option("report.html", "--output", "-o", help="The page.", metavar="FILE"),
    title: str | None = option(None, help="Of the page; the corpus's name if not given."),
    time: str | None = option(
        None, help="Column of the documents' times; found by its name.", metavar="COLUMN"
    ),
    by: str | None = option(
        None, help="Column of the documents' groups; found by its name.", metavar="COLUMN"
    ),
    compare: str | None = option(
        None, help="Another model, to be shown beside this one.", metavar="MODEL"
    ),
    held_out: list[str] | None = option(
        None,
        "--valid",
        help="Documents that the model has not learned from, for the score; may be given several "
        "times. If not given, 1,000 of CORPUS are scored.",
        metavar="FILE",
    ),
    stability: bool = option(
        True, "--stability/--no-stability", help="Learn topics again to measure their stability."
    ),
    n_jobs: Jobs = None,
    accuracy: AccuracyOptions,
    reading: Reading,
    engine: Engine = None,
    show: Show,
) -> None:
    """Write a page about a model: one HTML file, which works offline.

    A map of the topics, their words, typical documents with words coloured by topic, topics over
    time and by group, every document's mixture with its certificate, and a place to paste a text.
    """
    from opelda.report import write_report

    sources, files = [*corpus, *(held_out or ())], [model, compare, reading.column_words]
    path = check_output(output, sources, files, suffixes=(".html", ".htm"))
    learned = load_model(model, n_jobs, engine, accuracy=accuracy)
    other = None if compare is None else load_model(compare, n_jobs, engine)
    scored = None
    if held_out:
        scored = read_over(columns_of(learned), held_out, reading, show, n_jobs)
    source = source_of(corpus)
    try:
        with reading_bar(show, "inferring") as bar:
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
                n_jobs=n_jobs,
                **reading_options(reading),
            )
    except KeyboardInterrupt:
        raise StoppedError(f"stopped; nothing was written to {output}.") from None
    note(show, f"{output} ({size(path.stat().st_size)}): open it in a browser; it works offline.")
