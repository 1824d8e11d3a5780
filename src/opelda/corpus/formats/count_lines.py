"""Counts in lines: UCI's bags of words and Blei's LDA-C.

UCI's ``docword.NAME.txt`` has ``vocab.NAME.txt`` beside it: three lines, the numbers of documents,
words and counts, then a line ``document word count`` for every word of every document, numbers from
1, documents in ascending order. LDA-C has a line ``M word:count word:count ...`` for every
document: M is how many pairs follow; words are numbers from 0, or from 1 with ``first_id=1``; empty
lines are passed over as LDA-C itself does; a document without words is the line ``0``.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from opelda import _text
from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus._vocabulary import MOST_WORDS
from opelda.corpus.formats import _vocab
from opelda.corpus.formats._count_blocks import Entries, Position, Reader, cut
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import check_whole
from opelda.corpus.formats.count_matrices import (
    SLACK,
    check_documents,
    check_width,
    ready,
    triples,
    write_counts,
)
from opelda.errors import InputError

TOO_MUCH = "counts {value}, which is not from 1 to 10,000,000,000,000"
# Why a line of UCI's is passed over, by the numbers that the parser gives.
PROBLEMS = {
    1: "is not 'document word count' in whole numbers",
    2: "is of document {value}, and the header announces {header.n_documents}",
    3: "is of word {value}, and the header announces {header.n_words}",
    4: TOO_MUCH,
    5: "is of document {value}, which comes after a later one",
    6: "is of document {value}, far beyond what so few bytes can hold",
}
REMEDIES = {5: "sort the lines by document", 3: "correct the line or the header"}


class _Header(NamedTuple):
    """The first lines of a file of UCI's."""

    n_documents: int
    n_words: int
    n_entries: int
    n_bytes: int


def uci_blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on."""
    header = _header(input)
    check_width(header.n_words, input, options)
    if input.seekable:
        check_documents(header.n_documents, input.size or 0, input.label)
    start = Position(0, header.n_bytes, 4, 0, header.n_words)
    if position is not None:
        start = replace(Position.of(position, input.label), width=header.n_words)
    with input.open(start.offset) as file:
        reader = UciReader(file, input, options, start)
        reader.header = header
        if options.block_size >= header.n_documents:
            reader.expected = min(header.n_entries, (input.size or 0) // _text.LEAST_TRIPLE)
        yield from cut(reader, start, options.block_size)


def _header(input: Input) -> _Header:
    values: list[int] = []
    head = input.peek()  # which takes nothing: a pipe is opened once, at the first count
    lines = (head.split(b"\n") + [b""] * 3)[:3]
    for what, line in zip(("documents", "words", "counts"), lines, strict=True):
        digits = line.strip()
        if not digits.isdigit() or len(digits) > 18:
            raise InputError(
                f"{input.label}, line {len(values) + 1} is not the number of {what}; "
                "UCI's files begin with three such lines."
            )
        values.append(int(digits))
    if values[1] > MOST_WORDS:
        raise InputError(
            f"{input.label}, line 2 announces {values[1]} words; "
            f"at most {MOST_WORDS} can be numbered."
        )
    n_documents, n_words, n_entries = values
    n_bytes = min(sum(len(line) + 1 for line in lines), len(head))
    return _Header(n_documents, n_words, n_entries, n_bytes)


def write_uci(corpus: Corpus, path: str) -> None:
    """Write a corpus, and its words in ``vocab.NAME.txt``."""
    check_whole(corpus, "UCI's format")
    X = ready(corpus)
    header = "".join(f"{number}\n" for number in (*X.shape, X.nnz))
    write_counts(corpus, path, triples, header=header.encode(), format="uci")


def ldac_blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on.

    Without a vocabulary the columns are as many as the largest number met in the whole file; in
    what can be read only once, as many as were met so far.
    """
    first_id = 0 if options.first_id is None else options.first_id
    if first_id not in (0, 1):
        raise InputError(f"must be 0 or 1, got {first_id!r}.", "first_id")
    start = Position() if position is None else Position.of(position, input.label)
    vocabulary = _vocab.locate(input, options)
    if vocabulary is not None:
        n_words = len(_vocab.read_vocabulary(vocabulary, options.encoding))
        start = replace(start, width=n_words)
    elif position is None and input.size is not None:
        start = Position(width=_ldac_width(input, options, first_id))
    with input.open(start.offset) as file:
        reader = LdacReader(file, input, options, start)
        reader.first_id = first_id
        if vocabulary is not None:
            reader.vocabulary, reader.n_words = vocabulary.label, start.width
        yield from cut(reader, start, options.block_size, growing=vocabulary is None)


def _ldac_width(input: Input, options: Options, first_id: int) -> int:
    """Return how many columns the whole file needs."""
    width = 0
    entries = Entries()
    with input.open() as file:
        reader = LdacReader(file, input, options, Position())
        reader.first_id = first_id
        for _ in reader.pieces(entries):
            words, _ = entries.take(entries.end - entries.first)
            width = max(width, int(words.max(initial=-1)) + 1)
    return width


def write_ldac(corpus: Corpus, path: str) -> None:
    """Write a corpus with words from 0, and its vocabulary beside it."""
    check_whole(corpus, "LDA-C's format")
    write_counts(corpus, path, lambda *entries: _text.write_pairs(*entries[:3]))


class UciReader(Reader):
    """The lines of one file of UCI's."""

    header: _Header
    least = _text.LEAST_TRIPLE
    word = 0

    def parse(self, places: tuple[Any, ...]) -> tuple[Any, ...]:
        """Parse a run of lines."""
        rows, n_entries, bad, n_lines, rising, self.word = _text.parse_triples(
            *places,
            offset=self.offset,
            line=self.line,
            n_documents=self.header.n_documents,
            n_words=self.header.n_words,
            slack=SLACK,
            document=self.document + 1,  # no earlier one may follow
            word=self.word,
            n_threads=self.n_threads,
        )
        if len(rows):
            self.document = int(rows[-1, 0])
        return rows, n_entries, bad, n_lines, rising

    def problem(self, kind: int, value: int) -> tuple[str, str, dict[str, Any]]:
        """Return what is wrong with a line."""
        what = PROBLEMS[kind].format(value=value, header=self.header)
        return what, REMEDIES.get(kind, "correct the line"), {}

    def finish(self, position: Position) -> tuple[int, Position]:
        """Return how many documents there are in all, and where the file ends."""
        label, header = self.input.label, self.header
        if position.entries != header.n_entries:
            what = f"announces {header.n_entries} counts and has {position.entries}"
            self.options.problems.add(label, what, "check that it is complete")
        check_documents(header.n_documents, self.offset, label)
        return header.n_documents, super().finish(position)[1]


class LdacReader(Reader):
    """The lines of one file of LDA-C's."""

    least = _text.LEAST_PAIR
    n_words = MOST_WORDS
    vocabulary: str | None = None
    first_id = 0

    def parse(self, places: tuple[Any, ...]) -> tuple[Any, ...]:
        """Parse a run of lines."""
        rows, *found, _ = _text.parse_pairs(
            *places,
            offset=self.offset,
            line=self.line,
            first_id=self.first_id,
            n_words=self.n_words,
            n_threads=self.n_threads,
        )
        rows[:, 0] = np.arange(self.document, self.document + len(rows))
        self.document += len(rows)
        return rows, *found

    def problem(self, kind: int, value: int) -> tuple[str, str, dict[str, Any]]:
        """Return what is wrong with a line."""
        remedy = "correct the line"
        if kind == 4:
            return TOO_MUCH.format(value=value), remedy, {}
        if kind == 7:
            what = f"is followed by {value} pairs, not by as many as it says at its beginning"
            return what, remedy, {}
        if kind != 3:
            return "is not 'M word:count word:count ...' in whole numbers", remedy, {}
        if value < self.first_id:
            what = "has the word 0, and words count from 1"
            return what, "read it with {first_id}", {"first_id": 0}
        what = f"has the word {value}, and "
        if self.vocabulary is None:
            return f"{what}at most {self.n_words} words can be numbered", remedy, {}
        what += f"{self.vocabulary} has {self.n_words}, counted from {self.first_id}"
        if self.first_id == 0 and value == self.n_words:
            return what, "if words count from 1, give {first_id}", {"first_id": 1}
        remedy = "give the vocabulary that belongs to it with {column_words}"
        return what, remedy, {"column_words": ...}
