"""File formats: a record each in `FORMATS`, which is cheap to import.

To add one: a module with `blocks`, and `write` if it holds counts, and its line in `_BUILT_IN`.

>>> [name for name, format in FORMATS.items() if "first_id" in format.options]
['ldac']
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus._block import Block, Problems
    from opelda.corpus._corpus import Corpus
    from opelda.corpus.formats._input import Input

AUTO, ALL = "auto", "*"  # among columns: all columns with usual names; all other columns


@dataclass(frozen=True)
class Options:
    """How to read; each format uses the options that it honours."""

    text_columns: tuple[str, ...] = ()  # columns or keys, joined by a space; empty: found by name
    name_column: str | Literal[False] | None = None  # None: found by name, False: no names
    metadata: tuple[str, ...] = ()  # columns or keys beside the documents; or `AUTO`, `ALL`
    encoding: str = "utf-8"
    block_size: int = 5_000  # most documents of a block
    column_words: str | None = None  # file of the columns' words; None: found beside the source
    words: list[str] | None = None  # the columns' words themselves
    format: str = "auto"
    first_id: int | None = None  # number of the first word; None: the format's custom
    problems: "Problems" = field(
        default_factory=lambda: import_module("opelda.corpus._block").Problems()
    )
    # filled by the reader: columns of the first file used as "text", "name", "time" and "group"
    taken: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """One file format."""

    name: str
    summary: str  # one line for help texts
    # texts to be tokenised (or words with their counts), or counts over a vocabulary
    kind: Literal["text", "counts"]
    suffixes: tuple[str, ...]  # of file names, without that of a compression
    # parameters of `opelda.corpus.read` that the format honours, out of text_column, name_column,
    # metadata, encoding and first_id; `check` refuses the rest
    options: tuple[str, ...]
    # (input, options, position): the documents from a position; None is the beginning
    blocks: "Callable[[Input, Options, Any], Iterator[Block]]"
    # (corpus, path): writes a corpus in one step; None: the format is only read
    write: "Callable[[Corpus, str], None] | None" = None
    in_lines: bool = False  # a file can be followed while it grows

    def words(self, input: "Input", options: Options) -> list[str] | None:
        """Return the words of the columns (of texts: to count); None if unknown."""
        from opelda.corpus.formats._vocab import locate, read_vocabulary

        is_text = self.kind == "text"
        found = None if is_text and options.column_words is None else locate(input, options)
        encoding = "utf-8" if is_text else options.encoding
        return None if found is None else read_vocabulary(found, encoding)

    def check(self, options: Options, label: str) -> None:
        """Refuse options that this format does not honour."""
        named = [column for column in options.metadata if column not in (AUTO, ALL)]
        if named and "metadata" not in self.options:
            raise InputError(
                f"{label} has no column {named[0]!r}: the file is read as {self.name} "
                f"({self.summary}); pass a .csv, .jsonl or .parquet file, or another {{format}}.",
                format=...,
            )
        # the defaults of `Options` are "not given"; an encoding of UTF-8 is no request
        given = {
            "text_column": options.text_columns != (),
            "name_column": isinstance(options.name_column, str),
            "encoding": options.encoding != "utf-8",
            "first_id": options.first_id is not None,
        }
        for name, is_given in given.items():
            if is_given and name not in self.options:
                raise InputError(
                    f"has no effect on {label}, which is read as {self.name} "
                    f"({self.summary}); remove it or pass another {{format}}.",
                    name,
                    format=...,
                )


COLUMNS = "text_column name_column metadata"
# name, kind, ends of names, options, module, the functions there that read and write, summary
_BUILT_IN: tuple[tuple[str, Literal["text", "counts"], str, str, str, str, str, str], ...] = (
    ("lines", "text", ".txt .text", "encoding", "texts", "line_blocks", "",
     "plain text, a document a line"),
    ("files", "text", ".docx .pptx .pdf .html .htm .eml", "name_column metadata encoding", "texts",
     "file_blocks", "", "a folder, or Word, PowerPoint, PDF, web page, mail: a document a file"),
    ("xlsx", "text", ".xlsx", COLUMNS, "office", "sheet_blocks", "",
     "Excel: the first sheet with a header, a document a row"),
    ("jsonl", "text", ".jsonl .ndjson .jsonlines .json", f"{COLUMNS} encoding", "jsonl", "blocks",
     "", "JSON Lines, the text under a key of an object a line"),
    ("csv", "text", ".csv", f"{COLUMNS} encoding", "csv", "blocks", "",
     "comma-separated values with a header, a document a row"),
    ("tsv", "text", ".tsv .tab", f"{COLUMNS} encoding", "csv", "tsv_blocks", "",
     "tab-separated values with a header, a document a line"),
    ("parquet", "text", ".parquet .pq", COLUMNS, "parquet", "blocks", "write",
     "Parquet, a document a row; counts: a word of a document a row"),
    ("mallet", "text", ".mallet", "encoding", "texts", "mallet_blocks", "",
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
    return lambda *arguments: getattr(import_module(f"{__name__}.{module}"), function)(*arguments)


FORMATS: dict[str, Format] = {
    name: Format(
        name,
        summary,
        kind,
        tuple(ends.split()),
        tuple(options.split()),
        _lazy(module, blocks),
        _lazy(module, write) if write else None,
        in_lines=kind == "text" and name not in ("files", "xlsx", "parquet"),
    )
    for name, kind, ends, options, module, blocks, write, summary in _BUILT_IN
}
