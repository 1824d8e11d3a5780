"""`opelda convert`: a corpus as counts."""

import os
from dataclasses import replace
from pathlib import Path

from opelda.cli._app import argument, command, option
from opelda.cli._inputs import read_corpus, stop_word_files
from opelda.cli._options import AS_JSON, NamelessReading, Text, given_options
from opelda.cli._outputs import check_output
from opelda.cli._terminal import count, note, print_json
from opelda.corpus.formats import FORMATS
from opelda.errors import InputError

EVERY_WORD = Text(stop_words="none", min_df="1", max_df="1.0")
COUNTS = {name: format.write for name, format in FORMATS.items() if format.write is not None}


@command(
    "opelda convert docword.nips.txt.gz nips.mtx.gz",
    "opelda convert articles.csv articles.npz --text-column body --stop-words en --min-df 5",
    "opelda convert counts.npz docword.counts.txt.gz --to uci",
)
def convert(
    *,
    source: str = argument("A", "Files to read; - is standard input."),
    target: str = argument("B", "File to write."),
    to: str | None = option(
        "--to FORMAT",
        "Format; default: from the name.",
        choices={name: FORMATS[name].summary for name in COUNTS},
    ),
    as_json: bool = AS_JSON,
    reading: NamelessReading,
    text: Text,
) -> None:
    """Write a corpus as counts, and its words beside it; compressed by its suffix.

    Every word is kept unless options say otherwise: no stop words, no bounds.
    """
    from opelda.corpus.formats._writing import sidecar_of

    kind = _written_format(target, to)
    sidecar = _check_outputs(source, target, kind, reading, text)
    kept = replace(EVERY_WORD, **given_options(text))
    documents = read_corpus([source], reading, kept)
    beside = sidecar_of(documents, target, kind)
    # a run that was killed may have left the same words
    is_new = beside is not None and os.path.exists(beside[0]) and not os.path.isfile(target)
    if beside is not None and is_new and Path(beside[0]).read_bytes() != beside[1]:
        raise InputError(f"{beside[0]} exists and has other words; choose another name.")
    if documents.words is None and sidecar is not None and os.path.exists(sidecar):
        raise InputError(f"{source} has no words, but {sidecar} has; choose another name.")
    COUNTS[kind](documents, target)
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
    note(f"{count(n_docs, 'document')} of {count(n_words, 'word')} in {target} ({kind}).")


def _check_outputs(
    source: str, target: str, kind: str, reading: NamelessReading, text: Text
) -> str | None:
    """Reject outputs that would replace a source or an unrelated file; return the sidecar."""
    from opelda.corpus.formats._compression import SUFFIXES, without_suffix
    from opelda.corpus.formats._writing import sidecar_path

    sidecar = sidecar_path(target, kind)
    if sidecar is None:
        if target != "-":
            check_output(target, [source])
        return None
    read_too = [reading.column_words, *stop_word_files(text)]
    for output in (target, sidecar):
        check_output(output, [source], read_too)
    for suffix in ("", *SUFFIXES):
        other = without_suffix(target)[0] + suffix
        if other != target and os.path.isfile(other):
            raise InputError(f"{other} would share {sidecar}; choose another name.")
    return sidecar


def _written_format(target: str, to: str | None) -> str:
    """Return the output format: the requested format, or the format of the file name."""
    from opelda.corpus.formats._input import Input

    kind = to
    if to is None and (target.endswith("/") or Path(target).is_dir()):
        kind = "files"
    elif to is None:
        name = Input.of(target).plain_name
        ends = (kind for kind in FORMATS if name.endswith(FORMATS[kind].suffixes))
        kind = "uci" if name.startswith("docword") else next(ends, None)
    if kind in COUNTS:
        return kind
    if kind is None:
        problem = f"The format of {target!r} is unknown; add --to with"
    elif kind not in FORMATS:
        problem = f"Unsupported format {kind!r}; choose"
    else:
        problem = f"{target} cannot be written as {kind}: convert writes counts, not texts; choose"
    raise InputError(f"{problem} one of {', '.join(COUNTS)}.")
