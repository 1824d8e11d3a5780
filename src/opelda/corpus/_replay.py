"""Records of a source that cannot be reopened, recognised by their content when they recur.

A record is a line, or the key of an item. Memory is bounded: digests of about a thousand prefixes
and of the last thousand records.
"""

import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from opelda.corpus._kinds import is_matrix
from opelda.errors import InputError

N_LAST, N_MARKS = 1000, 1024
SURE = 16  # equal first records that are no coincidence
SIZE = 8  # bytes of a digest


def digest(data: bytes) -> bytes:
    """Return a few bytes that stand for many."""
    return blake2b(data, digest_size=SIZE).digest()


class Seen:
    """The records of a source so far: their number, digests of prefixes and of the last records."""

    def __init__(self, last: Iterable[bytes] = ()) -> None:
        self.n = 0
        self.step = 1  # marks are at its multiples, and at the powers of two below it
        self.marks: dict[int, bytes] = {}
        self.last = list(last)  # also of earlier sources
        self._hash = blake2b(digest_size=SIZE)

    def end(self, further: bytes = b"") -> bytes:
        """Return the digest of all records, and of some more."""
        hashed = self._hash.copy()
        hashed.update(further)
        return hashed.digest()

    def add(self, lines: bytes, *, known: bool = False) -> None:
        """Add whole lines; `known` lines are among the last records already."""
        if not lines:
            return
        lines = ended(lines)
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n")) + 1
        view, begin, taken = memoryview(lines), 0, 0
        while taken < len(ends):
            n, step = self.n, self.step  # the next mark is at a power of two, or a multiple
            following = 1 << n.bit_length() if n < step else (n // step + 1) * step
            n_more = min(following - self.n, len(ends) - taken)
            taken, self.n = taken + n_more, self.n + n_more
            end = int(ends[taken - 1])
            self._hash.update(view[begin:end])
            begin = end
            if self.n == following:
                self.marks[self.n] = self.end()
                if self.n // self.step > N_MARKS:
                    self.step *= 2
                    self.marks = {n: self.marks[n] for n in _counts(self.n, self.step)}
        if not known:
            first = int(ends[-N_LAST - 1]) if len(ends) > N_LAST else 0
            recent = lines[first:].split(b"\n")[:-1]
            self.last = [*self.last, *map(digest, recent)][-N_LAST:]

    def as_json(self) -> dict[str, Any]:
        """Return it as a position holds it."""
        return {
            "n": self.n,
            "step": self.step,
            "marks": _packed(mark for _, mark in sorted(self.marks.items())),
            "end": self.end().hex(),
            "last": _packed(self.last),
        }


class Former(NamedTuple):
    """The records of a former run, as its position has them."""

    n: int
    marks: dict[int, bytes]  # with the mark of all records
    last: list[bytes]

    @classmethod
    def of(cls, position: Any) -> "Former":
        """Return what `Seen.as_json` wrote; refuse anything else."""
        try:
            n, step = position["n"], position["step"]
            counts = _counts(n, step) if type(n) is type(step) is int and n >= 0 < step else None
            marks, last = unpacked(position["marks"]), unpacked(position["last"])
            end = bytes.fromhex(position["end"])
            if counts is None or len(counts) != len(marks) or len(end) != SIZE:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{str(position)[:80]!r} is not a valid position in this source; start again "
                "without a position."
            ) from None
        return cls(n, dict(zip(counts, marks, strict=True)) | {n: end}, last)


class Recognised(NamedTuple):
    """The outcome of looking at how a source begins."""

    seen: Seen  # with the records that are passed over
    held: list[Any]  # records that were read and are new
    how: str  # the end of a sentence


def recognise(
    records: Iterator[Any],
    as_line: Callable[[Any], bytes],
    former: Former,
    what: str,
    header: bool = False,
) -> Recognised:
    """Pass over the records that were read in a former run.

    Where the source begins as it did then, pass over it as far as the marks agree. Where it begins
    with the last records that were read, as ``tail -F`` does, pass over these. Anything else is new
    but for a `header` that is the former one. Decide as soon as possible. `what` names records.
    """
    pairs = ((record, as_line(record)) for record in records)
    seen, taken, matched = Seen(), list[tuple[Any, bytes]](), 0
    # whether it is as before, and with how many of the last records it may begin, or does
    same, starts, overlap = former.n > 0, list(range(1, len(former.last) + 1)), 0
    for pair in pairs:
        taken.append(pair)
        seen.add(pair[1])
        n, key = len(taken), digest(pair[1][:-1])
        starts = [j for j in starts if former.last[n - 1 - j] == key]
        if n in starts:
            overlap = n
            starts.remove(n)
        if same and n in former.marks:
            same = seen.end() == former.marks[n]
            matched = n if same else matched
            if same and (n >= SURE or n == former.n):
                return _replayed(pairs, former, what, seen)
        if not (same or starts):
            break
    else:
        if same and taken and matched == len(taken):
            return Recognised(seen, [], "is unchanged and has no new items")
    n_known, how = overlap, "has different contents than before and is read from the start"
    if overlap:
        how = f"begins with the last {overlap:,} {what} that were read before, which are skipped"
    elif taken and header and digest(taken[0][1]) == former.marks.get(1):
        n_known = 1
    seen = Seen(former.last)
    seen.add(b"".join(line for _, line in taken[:n_known]), known=True)
    return Recognised(seen, [record for record, _ in taken[n_known:]], how)


def _replayed(
    pairs: Iterator[tuple[Any, bytes]], former: Former, what: str, seen: Seen
) -> Recognised:
    """Pass over a source that begins as before, mark by mark."""
    held: list[tuple[Any, bytes]] = []
    for end in sorted(n for n in former.marks if n > seen.n):
        held = list(islice(pairs, end - seen.n))
        lines = b"".join(line for _, line in held)
        if len(held) < end - seen.n:  # it ends; between marks the last records may tell
            n_left = former.n - seen.n
            known = former.last[len(former.last) - n_left :] if n_left <= len(former.last) else []
            same = [digest(line[:-1]) for _, line in held] == known[: len(held)]
        else:
            same = seen.end(lines) == former.marks[end]
        if not same:
            break
        seen.add(lines)
        held = []
    if seen.n == former.n:
        seen.last = list(former.last)
    how = f"begins as before: the first {seen.n:,} {what} were read already and are skipped"
    return Recognised(seen, [record for record, _ in held], how)


def ended(line: bytes) -> bytes:
    """Return a line with its end, which the last one of a source may lack."""
    return line if line.endswith(b"\n") else line + b"\n"


def unpacked(text: str) -> list[bytes]:
    """Return digests that were packed."""
    data = b64decode(text, validate=True)
    if len(data) % SIZE:
        raise ValueError
    return [data[at : at + SIZE] for at in range(0, len(data), SIZE)]


def _packed(digests: Iterable[bytes]) -> str:
    return b64encode(b"".join(digests)).decode()


def _counts(n: int, step: int) -> list[int]:
    """Return the counts of all marks."""
    powers = [1 << i for i in range(step.bit_length()) if 1 << i < step and 1 << i <= n]
    return powers + list(range(step, n + 1, step))


class Nothing:
    """The type of `NOTHING`, which an iterable yields while it has no document.

    Documents that waited long enough are then given as a mini-batch that is not full.

    >>> from opelda.corpus import NOTHING, mini_batches
    >>> polled = iter([["tea"], NOTHING, ["cup"]])
    >>> [batch.X.shape for batch in mini_batches(polled, batch_size=10, max_wait=0.0)]
    [(1, 1), (1, 2)]
    """

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = Nothing()


class NewItems:
    """The new items of an iterable; positions hold digests of items, or else their number."""

    def __init__(self, items: Iterable[Any], position: Any, *, by_content: bool) -> None:
        self._by_content = by_content or isinstance(position, dict)
        self._items = iter(items)
        self._keys: list[bytes] = []  # of items that were given and are not among the seen yet
        self._position = position
        self._seen: Seen | None = None

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item and the item; `NOTHING` has the number of the next one."""
        held: list[Any] = []
        seen, number = Seen(), 0
        given = (item for item in self._items if item is not NOTHING)
        if isinstance(self._position, dict):
            found = recognise(given, item_key, Former.of(self._position), "items")
            seen, held, number = found.seen, found.held, found.seen.n
            report(f"The iterable {found.how}.")
        elif self._position is not None:  # a number of items
            for item in islice(given, self._position):
                number += 1
                if self._by_content:
                    seen.add(item_key(item))
            if number < self._position:
                raise InputError(
                    f"The source ends after {number} items, before position {self._position}; "
                    "the position is from another source."
                )
        self._seen = seen
        for item in chain(held, self._items):
            is_item = item is not NOTHING
            if self._by_content and is_item:
                self._keys.append(item_key(item))
            yield number, item
            number += is_item

    def position(self, n_items: int) -> dict[str, Any] | int:
        """Return the position after `n_items` items."""
        if not self._by_content:
            return n_items
        seen = self._seen or Seen()
        n_more = n_items - seen.n
        seen.add(b"".join(self._keys[:n_more]))
        del self._keys[:n_more]
        return seen.as_json()


def item_key(item: Any) -> bytes:
    """Return a line that stands for an item's content."""
    X: Any
    if isinstance(item, sparse.sparray | sparse.spmatrix):
        X = cast(Any, item).tocsr()
        parts = (X.indptr, X.indices, X.data)
        data = str(X.shape).encode() + b"".join(part.tobytes() for part in parts)
    elif not isinstance(item, str) and is_matrix(item):
        X = np.asarray(item)
        content = repr(X.tolist()).encode() if X.dtype.hasobject else X.tobytes()
        data = f"{X.dtype}{X.shape}".encode() + content
    else:
        text = item if isinstance(item, str) else repr(item)
        data = text.encode("utf-8", "surrogatepass")
    return digest(data).hex().encode() + b"\n"


def report(sentence: str) -> None:
    """Log how a source continues."""
    logging.getLogger("opelda.corpus").info(sentence)
