"""The list of file formats: a record each, without importing what reads and writes the files.

To add one: a module with `blocks`, and `write` if it holds counts, and its line in `FORMATS`.

>>> [name for name, format in FORMATS.items() if "first_id" in format.options]
['ldac']
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from opelda.corpus.formats._text_columns import AUTO
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus._block import Block
    from opelda.corpus._corpus import Corpus
    from opelda.corpus._problems import Problems
    from opelda.corpus.formats._input import Input


@dataclass(frozen=True)
class Options:
    """How to read; every format looks at those that concern it.

    Attributes
    ----------
    text_columns : tuple of str
        Columns, or keys, that hold the text, joined by a space. Empty: found by name.
    name_column : str, None or False
        Column, or key, that names the documents. None: found by name. False: none.
    metadata : tuple of str
        Columns, or keys, that are kept beside the documents; "auto" among them: and those that are
        found by name.
    encoding : str
    block_size : int
        Documents per block at most.
    column_words : str or None
        File of the columns' words, a word a line. None: looked for beside the source.
    words : list of str or None
        The columns' words, where they were given themselves.
    format : str
        The name of the format, or "auto".
    first_id : {0, 1} or None
        The number of the first word. None: the format's own custom.
    problems : Problems
    taken : dict
        Filled by the reader: columns of the first file used as "text" (a list), "name", "time" and
        "group".
    """

    text_columns: tuple[str, ...] = ()
    name_column: str | Literal[False] | None = None
    metadata: tuple[str, ...] = ()
    encoding: str = "utf-8"
    block_size: int = 5_000
    column_words: str | None = None
    words: list[str] | None = None
    format: str = "auto"
    first_id: int | None = None
    problems: "Problems" = field(
        default_factory=lambda: import_module("opelda.corpus._problems").Problems()
    )
    taken: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes
    ----------
    name : str
    summary : str
        One line for help texts.
    kind : {"text", "counts"}
        Whether documents are texts to be tokenised (or words of their own with counts), or
        counts over a vocabulary's columns.
    suffixes : tuple of str
        Ends of file names, without that of a compression.
    options : tuple of str
        The parameters of `opelda.corpus.read` that the format honours, out of text_column,
        name_column, metadata, encoding and first_id; `check` refuses the others.
    blocks : callable (input, options, position) -> iterator of Block
        The documents from a position on; None is the beginning.
    write : callable (corpus, path) -> None, or None
        Write a corpus, and its vocabulary beside it, each in one step. None: it is only read.
    in_lines : bool
        Whether it is read line by line, so that a file can be followed while it grows.
    """

    name: str
    summary: str
    kind: Literal["text", "counts"]
    suffixes: tuple[str, ...]
    options: tuple[str, ...]
    blocks: "Callable[[Input, Options, Any], Iterator[Block]]"
    write: "Callable[[Corpus, str], None] | None" = None
    in_lines: bool = False

    def words(self, input: "Input", options: Options) -> list[str] | None:
        """Return the words of the columns (of texts: to count); None where none are named."""
        # on first use: the list of formats is imported by every command
        from opelda.corpus.formats._vocab import locate, read_vocabulary

        is_text = self.kind == "text"
        found = None if is_text and options.column_words is None else locate(input, options)
        encoding = "utf-8" if is_text else options.encoding
        return None if found is None else read_vocabulary(found, encoding)

    def check(self, options: Options, label: str) -> None:
        """Refuse options that were given and that this format cannot honour."""
        # the defaults of `Options` are "not given"; an encoding of UTF-8 is no request
        given = {
            "text_column": options.text_columns != (),
            "name_column": isinstance(options.name_column, str),
            "encoding": options.encoding != "utf-8",
            "first_id": options.first_id is not None,
        }
        named = [column for column in options.metadata if column != AUTO]
        if named and "metadata" not in self.options:
            raise InputError(
                f"{label} has no column {named[0]!r}: it is read as {self.name} "
                f"({self.summary}); give a .csv, .jsonl or .parquet file, or another {{format}}.",
                format=...,
            )
        for name, is_given in given.items():
            if is_given and name not in self.options:
                raise InputError(
                    f"means nothing for {label}, which is read as {self.name} ({self.summary}); "
                    "leave it out, or give another {format}.",
                    name,
                    format=...,
                )


COLUMNS = "text_column name_column metadata"
# name, kind, ends of names, options, module, and the functions there that read and write
_BUILT_IN: tuple[tuple[str, Literal["text", "counts"], str, str, str, str, str, str], ...] = (
    ("lines", "text", ".txt .text", "encoding", "lines", "blocks", "",
     "plain text, a document a line"),
    ("files", "text", "", "encoding", "folder", "blocks", "",
     "a folder of plain text, a document a file"),
    ("jsonl", "text", ".jsonl .ndjson .jsonlines .json", f"{COLUMNS} encoding", "jsonl", "blocks",
     "", "JSON Lines, the text under a key of an object a line"),
    ("csv", "text", ".csv", f"{COLUMNS} encoding", "csv", "blocks", "",
     "comma-separated values with a header, a document a row"),
    ("tsv", "text", ".tsv .tab", f"{COLUMNS} encoding", "csv", "tsv_blocks", "",
     "tab-separated values with a header, a document a line"),
    ("parquet", "text", ".parquet .pq", COLUMNS, "parquet", "blocks", "write",
     "Parquet, a document a row; counts: a word of a document a row"),
    ("mallet", "text", ".mallet", "encoding", "lines", "mallet_blocks", "",
     "MALLET's text form, a line has name, label and text"),
    ("uci", "counts", ".docword .docword.txt", "encoding", "count_lines", "uci_blocks",
     "write_uci", "UCI bag of words: docword.NAME.txt with vocab.NAME.txt beside it"),
    ("ldac", "counts", ".ldac .lda-c .dat", "encoding first_id", "count_lines", "ldac_blocks",
     "write_ldac", "Blei's LDA-C: a line 'M word:count ...' a document, words numbered from 0"),
    ("mm", "counts", ".mtx .mm", "encoding", "count_matrices", "mm_blocks", "write_mm",
     "Matrix Market: a row a document, a column a word"),
    ("npz", "counts", ".npz", "encoding", "count_matrices", "npz_blocks", "write_npz",
     "scipy.sparse.save_npz: a row a document, a column a word"),
)  # fmt: skip


def _lazy(module: str, function: str) -> Callable[..., Any]:
    """Return a function of a module in this folder, which is imported on first use."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"opelda.corpus.formats.{module}"), function)(*arguments)

    return call


FORMATS: dict[str, Format] = {
    name: Format(
        name,
        summary,
        kind,
        tuple(ends.split()),
        tuple(options.split()),
        _lazy(module, blocks),
        _lazy(module, write) if write else None,
        in_lines=kind == "text" and name not in ("files", "parquet"),
    )
    for name, kind, ends, options, module, blocks, write, summary in _BUILT_IN
}
