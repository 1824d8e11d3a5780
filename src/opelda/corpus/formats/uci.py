"""UCI's bags of words: ``docword.NAME.txt`` with ``vocab.NAME.txt`` beside it.

Three lines, the numbers of documents, words and counts, then a line ``document word count`` for
every word of every document, numbers from 1, documents in ascending order.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opelda import _text
from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats import _vocab
from opelda.corpus.formats._chunks import File, chunks, go_to, n_threads, opened
from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._counts import (
    MOST_WORDS,
    SLACK,
    check_documents,
    check_width,
    ready,
    triples,
    words_of,
    write_lines,
)
from opelda.corpus.formats._cutting import Entries, Piece, Place, cut
from opelda.corpus.formats._files import Input
from opelda.corpus.formats._format import Format, Options
from opelda.errors import InputError

LONGEST_LINE = 4 * 2**20
# Why a line is passed over, by the numbers that the parser gives.
PROBLEMS = {
    1: "is not 'document word count' in whole numbers",
    2: "is of document {value}, and the header announces {header.n_documents}",
    3: "is of word {value}, and the header announces {header.n_words}",
    4: "counts {value}, which is not from 1 to 10,000,000,000,000",
    5: "is of document {value}, which comes after a later one",
    6: "is of document {value}, far beyond what so few bytes can hold",
}
REMEDIES = {5: "sort the lines by document", 3: "correct the line or the header"}


@dataclass(frozen=True)
class _Header:
    n_documents: int
    n_words: int
    n_entries: int
    n_bytes: int


def blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on.

    Examples
    --------
    >>> import io
    >>> source = Input.of(io.BytesIO(b"2\\n3\\n2\\n1 1 4\\n1 3 1\\n"))
    >>> [block.documents.toarray().tolist() for block in blocks(source, Options(), None)]
    [[[4.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]
    """
    with opened(input) as file:
        header = _header(file, input)
        check_width(header.n_words, input, options)
        if input.seekable:
            check_documents(header.n_documents, input.size or 0, input.label)
        place = Place(0, header.n_bytes, 4, 0, header.n_words)
        if position is not None:
            place = replace(Place.of(position), width=header.n_words)
            go_to(file, input, place.offset, header.n_bytes)
        yield from cut(_Reader(file, input, options, header, place), place, options.block_size)


def _header(file: File, input: Input) -> _Header:
    values: list[int] = []
    n_bytes = 0
    for what in ("documents", "words", "counts"):
        line = file.readline(100)
        n_bytes += len(line)
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
    return _Header(values[0], values[1], values[2], n_bytes)


class _Reader:
    """The lines of one file, and what is to be said of them."""

    def __init__(
        self, file: File, input: Input, options: Options, header: _Header, place: Place
    ) -> None:
        self.file, self.input, self.header = file, input, header
        self.problems = options.problems
        self.offset, self.line, self.document = place.offset, place.line, place.document
        self.expected = 0  # entries, where one block holds them all
        if options.block_size >= header.n_documents:
            self.expected = min(header.n_entries, (input.size or 0) // _text.LEAST_TRIPLE)

    def pieces(self, entries: Entries) -> Generator[Piece]:
        document, word = self.document + 1, 0  # no earlier one may follow
        for chunk in chunks(self.file, self.input, self.offset, LONGEST_LINE):
            room = chunk.end // _text.LEAST_TRIPLE + 1
            entries.make_room(max(room, self.expected + room - entries.end))
            rows, n_entries, bad, n_lines, rising, word = _text.parse_triples(
                chunk.data,
                0,
                chunk.end,
                entries.words,
                entries.counts,
                entries.end,
                offset=self.offset,
                line=self.line,
                n_documents=self.header.n_documents,
                n_words=self.header.n_words,
                slack=SLACK,
                document=document,
                word=word,
                n_threads=n_threads(),
            )
            entries.end += n_entries
            self.offset += chunk.end
            self.line += n_lines
            if len(rows):
                document = int(rows[-1, 0]) + 1
            yield Piece(rows, n_entries, bad, rising)

    def report(self, kind: int, line: int, value: int) -> None:
        what = PROBLEMS[kind].format(value=value, header=self.header)
        self.problems.add(
            f"{self.input.label}, line {line}", what, REMEDIES.get(kind, "correct the line")
        )

    def finish(self, place: Place) -> tuple[int, Place]:
        if place.entries != self.header.n_entries:
            self.problems.add(
                self.input.label,
                f"announces {self.header.n_entries} counts and has {place.entries}",
                "check that it is complete",
            )
        check_documents(self.header.n_documents, self.offset, self.input.label)
        there = Place(place.document, self.offset, self.line, place.entries)
        return self.header.n_documents, there


def write(corpus: Corpus, path: str) -> None:
    """Write a corpus, and its words in ``vocab.NAME.txt``."""
    _vocab.check_whole(corpus, "UCI's format")
    X = ready(corpus)
    header = "".join(f"{number}\n" for number in (*X.shape, X.nnz))
    write_lines(
        corpus,
        path,
        vocab=_vocab_path(path),
        header=header.encode(),
        lines=triples,
    )


def _vocab_path(path: str) -> str | None:
    name = Path(path).name
    if path == "-" or not name.startswith("docword."):
        return _vocab.sidecar(path)
    plain = without_suffix(name)[0]
    return str(Path(path).with_name("vocab." + plain.removeprefix("docword.")))


FORMAT = Format(
    name="uci",
    summary="UCI bag of words: docword.NAME.txt with vocab.NAME.txt beside it",
    kind="counts",
    suffixes=(".docword", ".docword.txt"),
    blocks=blocks,
    words=words_of,
    write=write,
)
