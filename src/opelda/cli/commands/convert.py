"""`opelda convert`: a corpus in another format."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from opelda.cli._app import command
from opelda.cli._choices import FORMATS, complete_format
from opelda.cli._fitted import skipped_documents
from opelda.cli._numbers import count
from opelda.cli._options import AsJson, Jobs, Reading, Show, Text
from opelda.cli._output import note, print_json
from opelda.cli._paths import check_output
from opelda.cli._reading import read_corpus
from opelda.errors import InputError


@command(
    "convert",
    "opelda convert docword.nips.txt.gz nips.mtx.gz",
    "opelda convert articles.csv articles.npz --text-column body --stop-words en --min-df 5",
    "opelda convert counts.npz docword.counts.txt.gz --to uci",
)
def convert(
    source: Annotated[str, typer.Argument(help="What to read; - is standard input.", metavar="A")],
    target: Annotated[str, typer.Argument(help="What to write.", metavar="B")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Format to write; by its name if not given.",
            metavar="FORMAT",
            autocompletion=complete_format,
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    reading: Reading = Reading(),
    text: Text = Text(),
    show: Show = Show(),
) -> None:
    """Write a corpus, and its words beside it, in another format; compressed by its suffix.

    Every word is kept unless options say otherwise: no stop words, no bounds.
    """
    kind = written_format(target, to)
    if not Path(target).is_dir():
        check_output(target, [source])
    kept = replace(
        text,
        stop_words=text.stop_words or "none",
        min_df=text.min_df or "1",
        max_df=text.max_df or "1.0",
    )
    documents = read_corpus([source], reading, kept, show, jobs=jobs)
    _format(kind).write(documents, target)
    skipped_documents(documents.n_skipped, documents.problems, show)
    n_docs, n_words = documents.X.shape
    if as_json:
        print_json(
            {
                "source": source,
                "target": target,
                "format": kind,
                "documents": n_docs,
                "words": n_words,
                "tokens": float(documents.X.sum()),
                "empty_documents": documents.n_empty,
                "skipped_documents": documents.n_skipped,
            }
        )
    note(show, f"{count(n_docs, 'document')} of {count(n_words, 'word')} in {target} ({kind}).")


def written_format(target: str, to: str | None) -> str:
    """Return the format to write: the one asked for, or the one the name stands for."""
    if to is not None:
        if to not in FORMATS:
            raise InputError(f"There is no format {to!r}; choose one of {', '.join(FORMATS)}.")
        return to
    from opelda.corpus.formats import Input

    if target.endswith("/") or Path(target).is_dir():
        return "files"
    name = Input.of(target).plain_name
    if name.startswith("docword"):
        return "uci"
    found = [kind for kind in FORMATS if any(name.endswith(end) for end in _format(kind).suffixes)]
    if not found:
        raise InputError(
            f"The name {target!r} does not say which format to write; add --to, with one of "
            f"{', '.join(FORMATS)}."
        )
    return found[0]


def _format(kind: str) -> Any:
    from opelda.corpus.formats import FORMATS as KNOWN

    return KNOWN[kind]
