"""What every file format offers, and what a reader may ask of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from opelda.corpus._block import Block
from opelda.corpus._problems import Problems
from opelda.corpus.formats._files import Input

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus


@dataclass(frozen=True)
class Options:
    """How to read; every format looks at those that concern it.

    Attributes
    ----------
    text_columns : tuple of str
        Columns, or keys, that hold the text, joined by a space. Empty: found by name.
    name_column : str or None
        Column, or key, that names the documents.
    encoding : str
    block_size : int
        Documents per block at most.
    column_words : str or None
        File of the columns' words, a word a line. None: looked for beside the source.
    first_id : {0, 1} or None
        The number of the first word. None: the format's own custom.
    problems : Problems
    """

    text_columns: tuple[str, ...] = ()
    name_column: str | None = None
    encoding: str = "utf-8"
    block_size: int = 5_000
    column_words: str | None = None
    first_id: int | None = None
    problems: Problems = field(default_factory=Problems)


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
    blocks : callable (input, options, position) -> iterator of Block
        The documents from a position on; None is the beginning.
    words : callable (input, options) -> list of str, or None
        The words of the columns; None where there are none to be found. For texts: those of a
        vocabulary file that lies beside them, which says that they are tokenised already.
    write : callable (corpus, path) -> None
        Write a corpus, and its vocabulary beside it, each in one step.
    """

    name: str
    summary: str
    kind: Literal["text", "counts"]
    suffixes: tuple[str, ...]
    blocks: Callable[[Input, Options, Any], Iterator[Block]]
    words: Callable[[Input, Options], "list[str] | None"]
    write: "Callable[[Corpus, str], None]"
