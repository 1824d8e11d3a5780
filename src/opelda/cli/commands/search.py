"""`opelda search`: documents by words, by topic, or like a text."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from opelda.cli._app import command, option
from opelda.cli._inputs import blocks, open_over
from opelda.cli._models import columns_of, load_model
from opelda.cli._options import AsJson, Jobs, Model, Reading, Show
from opelda.cli._show import print_cut, skipped_documents
from opelda.cli._standard_streams import note, print_json
from opelda.errors import InputError


@command(
    "search",
    "opelda search model.opelda articles.jsonl bose einstein condensate",
    "opelda search model.opelda articles.jsonl --topic 3 -n 20",
    "opelda search model.opelda articles.jsonl court --topic 3",
    "opelda search model.opelda articles.jsonl --like draft.txt --json",
)
def search(
    *,
    model: Model,
    corpus: Annotated[
        str,
        typer.Argument(
            help="A file, a folder or a pattern; - is standard input.", metavar="CORPUS"
        ),
    ],
    words: Annotated[
        list[str] | None, typer.Argument(help="Words to look for.", metavar="WORDS")
    ] = None,
    topic: int | None = option(None, help="Documents that have much of this topic.", min=0),
    like: str | None = option(
        None, help="Documents like this text, or like that of this file.", metavar="TEXT|FILE"
    ),
    n: int = option(10, "--number", "-n", help="Documents shown, at most.", min=1),
    n_jobs: Jobs = None,
    as_json: AsJson = False,
    reading: Reading,
    show: Show,
) -> None:
    """Find documents by words, by topic or both, or those most like a text; the best first."""
    if like is not None and (words or topic is not None):
        raise InputError("--like compares whole texts; leave words and --topic out.")
    if like is None and not words and topic is None:
        raise InputError("There is nothing to search for; give words, --topic or --like.")
    from opelda.report._document_blocks import called, numbered
    from opelda.report._search import found_among, like_texts, with_words

    learned = load_model(model, n_jobs)
    columns = columns_of(learned)
    if columns[0] is None and topic is None:
        raise InputError(
            "The model learned from numbered columns and has no words to search by; give --topic."
        )
    if like is None:
        score = with_words(learned, words or None, topic)
    else:
        score = like_texts(learned, [_text(like, reading.encoding)])
    opened = open_over(columns, [corpus], reading, n_jobs)
    found = found_among(numbered(blocks(opened, columns, show, "searching")), score, n)
    skipped_documents(opened.problems.n_skipped, opened.problems.first, show)
    if as_json:
        print_json({"documents": [asdict(row) for row in found]})
        return
    for row in found:
        print_cut(f"{row.score:.2f}  {called(row.name, row.document, row.text)}")
    if not found:
        note(show, "no document fits.")


def _text(like: str, encoding: str) -> str:
    """Return a text, or that of a file."""
    try:
        is_file = Path(like).is_file()
    except (OSError, ValueError):  # too long for a name, or no name at all
        is_file = False
    if not is_file:
        return like
    try:
        return Path(like).read_text(encoding)
    except (OSError, UnicodeError, LookupError) as error:
        raise InputError(f"{like} cannot be read as text: {error}; give another.") from None
