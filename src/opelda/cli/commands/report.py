"""`opelda report`: a page about a model and documents."""

from pathlib import Path

from opelda.cli._app import command, option
from opelda.cli._exit import StoppedError
from opelda.cli._inputs import reading_options, source_of
from opelda.cli._models import load_model
from opelda.cli._options import (
    Accuracy,
    Engine,
    Jobs,
    Model,
    Reading,
    Show,
    Sources,
    asked_accuracy,
)
from opelda.cli._paths import check_output
from opelda.cli._show import reading_bar, size
from opelda.cli._standard_streams import note
from opelda.errors import InputError


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
        None,
        help="Column of the documents' times, for topics over time; found by its name, such as "
        "date, if not given.",
        metavar="COLUMN",
    ),
    by: str | None = option(
        None,
        help="Column of the documents' groups, for topics by group; found by its name, such as "
        "section, if not given.",
        metavar="COLUMN",
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
        True,
        "--stability/--no-stability",
        help="Learn topics anew from up to 10,000 of the documents, to see which come again.",
    ),
    accuracy: Accuracy,
    jobs: Jobs = None,
    engine: Engine = None,
    reading: Reading,
    show: Show,
) -> None:
    """Write a page about a model: one HTML file, which works offline.

    A map of the topics, their words, typical documents with words coloured by topic, topics over
    time and by group, every document's mixture with its certificate, and a place to paste a text.
    """
    from opelda.report import write_report

    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"The output {output!r} must end in .html; a page is HTML.")
    path = check_output(
        output, [*corpus, *(held_out or ())], [model, compare, reading.column_words]
    )
    learned = load_model(model, jobs, engine).set_params(**asked_accuracy(accuracy))
    other = None if compare is None else load_model(compare, jobs, engine)
    scored = None
    if held_out:
        from opelda.cli._inputs import read_over
        from opelda.cli._models import columns_of

        scored = read_over(columns_of(learned), held_out, reading, show, jobs)
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
                n_jobs=jobs,
                **reading_options(reading),
            )
    except KeyboardInterrupt:
        raise StoppedError(f"stopped; nothing was written to {output}.") from None
    note(show, f"{output} ({size(path.stat().st_size)}): open it in a browser; it works offline.")
