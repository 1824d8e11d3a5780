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
from opelda.corpus.formats._chunks import File, chunks, go_to, n_threads, opened
from opelda.corpus.formats._counts import MOST_WORDS, words_of, write_lines
from opelda.corpus.formats._cutting import Entries, Piece, Place, cut
from opelda.corpus.formats._files import Input
from opelda.corpus.formats._format import Format, Options
from opelda.errors import InputError

LONGEST_LINE = 64 * 2**20  # several million words of one document


def blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on.

    Without a vocabulary the columns are as many as the largest number met in the whole file; in
    what can be read only once, as many as were met so far.

    Examples
    --------
    >>> import io
    >>> source = Input.of(io.BytesIO(b"2 0:4 2:1\\n0\\n"))
    >>> [block.documents.toarray().tolist() for block in blocks(source, Options(), None)]
    [[[4.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]
    """
    first_id = 0 if options.first_id is None else options.first_id
    if first_id not in (0, 1):
        raise InputError(f"must be 0 or 1, got {first_id!r}.", "first_id")
    place = Place() if position is None else Place.of(position)
    vocabulary = _vocab.locate(input, options, counts=True)
    if vocabulary is not None:
        n_words = len(_vocab.read(vocabulary, options.encoding))
        place = replace(place, width=n_words)
    elif position is None and input.size is not None:
        place = Place(width=_width(input, options, first_id))
    with opened(input) as file:
        go_to(file, input, place.offset)
        reader = _Reader(file, input, options, first_id, place)
        if vocabulary is not None:
            reader.vocabulary, reader.n_words = vocabulary.label, place.width
        yield from cut(reader, place, options.block_size, growing=vocabulary is None)


def _width(input: Input, options: Options, first_id: int) -> int:
    """Return how many columns the whole file needs."""
    width = 0
    entries = Entries()
    with opened(input) as file:
        for _ in _Reader(file, input, options, first_id, Place()).pieces(entries):
            words, _ = entries.take(entries.end - entries.first)
            if len(words):
                width = max(width, int(words.max()) + 1)
    return width


class _Reader:
    """The lines of one file, and what is to be said of them."""

    def __init__(
        self, file: File, input: Input, options: Options, first_id: int, place: Place
    ) -> None:
        self.file, self.input = file, input
        self.problems = options.problems
        self.first_id = first_id
        self.n_words = MOST_WORDS
        self.vocabulary: str | None = None
        self.offset, self.line = place.offset, place.line
        self.document = place.document

    def pieces(self, entries: Entries) -> Generator[Piece]:
        for chunk in chunks(self.file, self.input, self.offset, LONGEST_LINE):
            entries.make_room(chunk.end // _text.LEAST_PAIR + 1)
            rows, n_entries, bad, n_lines, rising, _ = _text.parse_pairs(
                chunk.data,
                0,
                chunk.end,
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
            self.offset += chunk.end
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
        self.problems.add(f"{self.input.label}, line {line}", what, remedy, **advice)

    def finish(self, place: Place) -> tuple[int, Place]:
        return place.document, replace(place, offset=self.offset, line=self.line)


def write(corpus: Corpus, path: str) -> None:
    """Write a corpus with words from 0, and its vocabulary beside it."""
    _vocab.check_whole(corpus, "LDA-C's format")
    write_lines(
        corpus,
        path,
        vocab=_vocab.sidecar(path),
        header=b"",
        lines=lambda ends, words, counts, _: _text.write_pairs(ends, words, counts),
    )


FORMAT = Format(
    name="ldac",
    summary="Blei's LDA-C: a line 'M word:count ...' a document, words numbered from 0",
    kind="counts",
    suffixes=(".ldac", ".lda-c", ".dat"),
    blocks=blocks,
    words=words_of,
    write=write,
)
