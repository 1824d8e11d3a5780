"""UCI's bags of words: ``docword.NAME.txt`` with ``vocab.NAME.txt`` beside it.

Three lines, the numbers of documents, words and counts, then a line ``document word count`` for
every word of every document, numbers from 1, documents in ascending order.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from opelda import _text
from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats._count_lines import (
    Entries,
    Piece,
    Position,
    Reader,
    chunks,
    cut,
    n_threads,
)
from opelda.corpus.formats._count_matrix import (
    MOST_WORDS,
    SLACK,
    check_documents,
    check_total,
    check_width,
    ready,
    triples,
    write_counts,
)
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import check_whole
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
    """Yield the documents from a position on."""
    header = _header(input)
    check_width(header.n_words, input, options)
    if input.seekable:
        check_documents(header.n_documents, input.size or 0, input.label)
    start = Position(0, header.n_bytes, 4, 0, header.n_words)
    if position is not None:
        start = replace(Position.of(position, input.label), width=header.n_words)
    with input.open(start.offset) as file:
        reader = _Reader(file, input, options, start)
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
    n_bytes = min(sum(len(line) + 1 for line in lines), len(head))
    return _Header(values[0], values[1], values[2], n_bytes)


class _Reader(Reader):
    """The lines of one file, and the sentences about bad ones."""

    header: _Header
    expected = 0  # entries, where one block holds them all

    def pieces(self, entries: Entries) -> Generator[Piece]:
        document, word = self.document + 1, 0  # no earlier one may follow
        for data, end in chunks(self.file, self.input, self.offset, LONGEST_LINE):
            room = end // _text.LEAST_TRIPLE + 1
            entries.make_room(max(room, self.expected + room - entries.end))
            rows, n_entries, bad, n_lines, rising, word = _text.parse_triples(
                data,
                0,
                end,
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
            self.offset += end
            self.line += n_lines
            if len(rows):
                document = int(rows[-1, 0]) + 1
            yield Piece(rows, n_entries, bad, rising)

    def report(self, kind: int, line: int, value: int) -> None:
        what = PROBLEMS[kind].format(value=value, header=self.header)
        remedy = REMEDIES.get(kind, "correct the line")
        self.options.problems.add(f"{self.input.label}, line {line}", what, remedy)

    def finish(self, position: Position) -> tuple[int, Position]:
        check_total(
            self.header.n_entries, position.entries, "counts", self.input.label, self.options
        )
        check_documents(self.header.n_documents, self.offset, self.input.label)
        return self.header.n_documents, super().finish(position)[1]


def write(corpus: Corpus, path: str) -> None:
    """Write a corpus, and its words in ``vocab.NAME.txt``."""
    check_whole(corpus, "UCI's format")
    X = ready(corpus)
    header = "".join(f"{number}\n" for number in (*X.shape, X.nnz))
    write_counts(corpus, path, triples, header=header.encode(), format="uci")
