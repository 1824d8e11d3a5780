"""`opelda search`: documents by words, by topic, or like a text."""

from dataclasses import asdict
from pathlib import Path

from opelda.cli._app import argument, command, option
from opelda.cli._inputs import Blocks, columns_of, load_model
from opelda.cli._options import AS_JSON, MODEL, Reading
from opelda.cli._outputs import TABLES, check_output, write_rows
from opelda.cli._terminal import note, print_json, print_line
from opelda.errors import InputError


@command(
    "opelda search model.opelda articles.jsonl bose einstein condensate",
    "opelda search model.opelda articles.jsonl court --topic 3 -o found.xlsx",
    "opelda search model.opelda articles.jsonl --like draft.txt --json",
)
def search(
    *,
    model: str = MODEL,
    corpus: str = argument("CORPUS", "A file, a folder or a pattern; - is standard input."),
    words: list[str] | None = argument("WORDS", "Words to search for.", None),
    topic: int | None = option("--topic N", "Rank documents by this topic.", min=0),
    like: str | None = option("--like TEXT|FILE", "Find documents similar to this text or file."),
    n: int = option("--number -n N", "Maximum number of documents to show.", 10, min=1),
    output: str | None = option(
        "--output -o FILE", "Write the results to a .csv, .tsv or .xlsx file."
    ),
    as_json: bool = AS_JSON,
    reading: Reading,
) -> None:
    """Find documents by words, by topic or both, or those most like a text; the best first."""
    if like is not None and (words or topic is not None):
        raise InputError("--like compares whole texts; remove the words and --topic.")
    if like is None and not words and topic is None:
        raise InputError("The query is empty; pass words, --topic or --like.")
    from opelda.report._document_blocks import numbered, with_details
    from opelda.report._retrieval import found_among, like_texts, with_words

    path = None
    if output is not None:
        path = check_output(output, [corpus], [model, reading.column_words], suffixes=TABLES)
    learned = load_model(model, reading.n_jobs)
    columns = columns_of(learned)
    if columns[0] is None and topic is None:
        raise InputError("The model has no words to search for; pass --topic.")
    if like is None:
        score = with_words(learned, words or None, topic)
    else:
        score = like_texts(learned, [_text(like, reading.encoding)])
    blocks = Blocks(columns, [corpus], reading, metadata="auto")
    found = found_among(numbered(blocks), score, n)
    if path is not None:
        write_rows(found, path)
        note(f"{len(found):,} rows: {path}")
        return
    if as_json:
        print_json({"documents": [asdict(row) for row in found]})
        return
    for row in found:
        name = with_details(row)
        print_line(f"{row.score:.2f}  {name}", cut=True)
        text = (row.text or "").removeprefix(row.name or "").lstrip()
        if text and text not in name:
            print_line(f"      {text}", cut=True)
    if not found:
        note("no matching documents.")


def _text(like: str, encoding: str) -> str:
    """Return a text, or that of a file."""
    try:
        return Path(like).read_text(encoding)
    except (UnicodeError, LookupError) as error:
        raise InputError(f"{like} cannot be read as text: {error}; pass another file.") from None
    except (OSError, ValueError):  # no file, or not a name that a file can have
        return like
