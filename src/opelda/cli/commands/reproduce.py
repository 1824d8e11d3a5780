"""`opelda reproduce`: the paper's experiments on a collection."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from opelda.cli._app import command
from opelda.cli._errors import StoppedError
from opelda.cli._experiment_data import check_folder, read_data, sources_of
from opelda.cli._experiment_options import Names, Setup, chosen_names, settings_of
from opelda.cli._experiment_view import as_plain, counting, print_result, run_display
from opelda.cli._numbers import count
from opelda.cli._options import AsJson, Jobs, Reading, Show, Text
from opelda.cli._output import note, print_json

if TYPE_CHECKING:
    from opelda.experiments import Data


@command(
    "reproduce",
    "opelda reproduce all --quick --out look",
    "opelda reproduce learning-time --data docword.nytimes.txt.gz --out nyt",
    "opelda reproduce learning-time stability --data texts.jsonl -k 50 --test-docs 500 --out texts",
    "opelda reproduce inference-time --data generated:pubmed:100000 --out speed",
    "opelda reproduce learning-documents --data news.parquet --test nyt_test --out nyt",
)
def reproduce(
    names: Names,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="Folder that tables, figures and verdicts go to, and the runs that are done.",
            metavar="DIR",
            show_default=False,
        ),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            "-d",
            help="Files or folders as for opelda fit, may be given several times; or "
            "generated:nyt, generated:pubmed, generated:small, also with a number of documents as "
            "in generated:nyt:20000.",
            metavar="CORPUS",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            help="Folder of test documents that are split: LDA-C files NAME_part_1.txt (seen) and "
            "NAME_part_2.txt (to predict), and the vocabulary, over which --data is counted.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Small settings and few points, for a look; without --data on generated:small.",
        ),
    ] = False,
    jobs: Jobs = None,
    as_json: AsJson = False,
    setup: Setup = Setup(),
    reading: Reading = Reading(),
    text: Text = Text(),
    show: Show = Show(),
) -> None:
    """Run experiments of the paper: for each a table, a figure, and what they say about it.

    Settings are the paper's unless given. Every run is kept when it is done: after Ctrl-C the same
    command goes on, and experiments share the runs they have in common.
    """
    chosen = chosen_names(names)
    sources = sources_of(data, quick=quick)
    folder = check_folder(out, sources)
    settings = settings_of(setup, quick=quick, jobs=jobs)
    from opelda.experiments import reproduce as run
    from opelda.experiments._reproduce import figure_style

    figure_style()
    results = []
    done: set[tuple[str, int]] = set()
    try:
        documents = read_data(
            sources,
            test,
            settings,
            setup=setup,
            reading=reading,
            text=text,
            show=show,
            jobs=jobs,
        )
        note(show, _told(documents))
        for name in chosen:
            begun = perf_counter()
            with run_display(show, name) as display:
                progress = counting(done, name, display)
                result = run(name, documents, folder, settings, progress=progress)
            results.append((result, perf_counter() - begun))
            if not as_json:
                print_result(*results[-1])
    except KeyboardInterrupt:
        raise StoppedError(_kept(len(done), folder)) from None
    if as_json:
        print_json(as_plain(documents, settings, out, results))


def _told(data: "Data") -> str:
    n_docs, n_words = data.train.shape
    return (
        f"{data.label}: {count(n_docs, 'document')} of {count(n_words, 'word')} to learn from, "
        f"{data.test.shape[0]:,} to test on."
    )


def _kept(n_kept: int, folder: Path) -> str:
    """Say what is left of a command that was stopped."""
    if not n_kept:
        return "stopped before a run was done."
    there = "is" if n_kept == 1 else "are"
    return (
        f"stopped; {count(n_kept, 'run')} {there} kept in {folder / 'runs'}, and the same command "
        "goes on from there."
    )
