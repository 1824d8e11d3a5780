"""Blei's LDA-C format: a line ``M word:count word:count ...`` for every document.

M is how many pairs follow; words are numbers from 0, or from 1 with ``first_id=1``. Empty lines
are passed over as LDA-C itself does; a document without words is the line ``0``.
"""

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from opelda import _text
from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats import _vocab
from opelda.corpus.formats._count_lines import (
    Entries,
    Piece,
    Position,
    Reader,
    chunks,
    cut,
    n_threads,
)
from opelda.corpus.formats._count_matrix import MOST_WORDS, write_counts
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import check_whole
from opelda.errors import InputError

LONGEST_LINE = 64 * 2**20  # several million words of one document


def blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
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
        start = Position(width=_width(input, options, first_id))
    with input.open(start.offset) as file:
        reader = _Reader(file, input, options, start)
        reader.first_id = first_id
        if vocabulary is not None:
            reader.vocabulary, reader.n_words = vocabulary.label, start.width
        yield from cut(reader, start, options.block_size, growing=vocabulary is None)


def _width(input: Input, options: Options, first_id: int) -> int:
    """Return how many columns the whole file needs."""
    width = 0
    entries = Entries()
    with input.open() as file:
        reader = _Reader(file, input, options, Position())
        reader.first_id = first_id
        for _ in reader.pieces(entries):
            words, _ = entries.take(entries.end - entries.first)
            if len(words):
                width = max(width, int(words.max()) + 1)
    return width


class _Reader(Reader):
    """The lines of one file, and the sentences about bad ones."""

    n_words = MOST_WORDS
    vocabulary: str | None = None
    first_id = 0

    def pieces(self, entries: Entries) -> Generator[Piece]:
        for data, end in chunks(self.file, self.input, self.offset, LONGEST_LINE):
            entries.make_room(end // _text.LEAST_PAIR + 1)
            rows, n_entries, bad, n_lines, rising, _ = _text.parse_pairs(
                data,
                0,
                end,
                entries.words,
                entries.counts,
                entries.end,
                offset=self.offset,
                line=self.line,
                first_id=self.first_id,
                n_words=self.n_words,
                n_threads=n_threads(),
            )
            rows[:, 0] = np.arange(self.document, self.document + len(rows))
            entries.end += n_entries
            self.offset += end
            self.line += n_lines
            self.document += len(rows)
            yield Piece(rows, n_entries, bad, rising)

    def report(self, kind: int, line: int, value: int) -> None:
        remedy = "correct the line"
        advice: dict[str, Any] = {}
        if kind == 3 and value < self.first_id:
            what = "has the word 0, and words count from 1"
            remedy, advice = "read it with {first_id}", {"first_id": 0}
        elif kind == 3:
            what = f"has the word {value}, and "
            what += (
                f"at most {self.n_words} words can be numbered"
                if self.vocabulary is None
                else f"{self.vocabulary} has {self.n_words}, counted from {self.first_id}"
            )
            fits = self.vocabulary is not None and self.first_id == 0 and value == self.n_words
            if fits:
                remedy, advice = "if words count from 1, give {first_id}", {"first_id": 1}
            elif self.vocabulary is not None:
                remedy = "give the vocabulary that belongs to it with {column_words}"
                advice = {"column_words": ...}
        elif kind == 4:
            what = f"counts {value}, which is not from 1 to 10,000,000,000,000"
        elif kind == 7:
            what = f"is followed by {value} pairs, not by as many as it says at its beginning"
        else:
            what = "is not 'M word:count word:count ...' in whole numbers"
        self.options.problems.add(f"{self.input.label}, line {line}", what, remedy, **advice)


def write(corpus: Corpus, path: str) -> None:
    """Write a corpus with words from 0, and its vocabulary beside it."""
    check_whole(corpus, "LDA-C's format")
    write_counts(corpus, path, lambda *entries: _text.write_pairs(*entries[:3]))
