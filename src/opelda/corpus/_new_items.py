"""The items of an iterable that were not read before, known by their content."""

import logging
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, cast

import numpy as np
from scipy import sparse

from opelda.corpus._kinds import is_matrix
from opelda.corpus._replay import Former, Seen, digest, recognise
from opelda.errors import InputError


class Nothing:
    """The type of `NOTHING`, an item that is none: an iterable has nothing to give at the moment.

    What it gave before is looked at then, and given if it has waited for long enough.

    >>> from opelda.corpus import NOTHING, mini_batches
    >>> polled = iter([["tea"], NOTHING, ["cup"]])
    >>> [batch.X.shape for batch in mini_batches(polled, batch_size=10, max_wait=0.0)]
    [(1, 1), (1, 2)]
    """

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = Nothing()


class NewItems:
    """The new items of an iterable, from a position on, and the position after so many of them.

    If `by_content`, a position holds digests of the items; if not, it is the number of items.
    """

    def __init__(
        self, items: Iterable[Any], position: Any, label: str, *, by_content: bool
    ) -> None:
        self.label = label
        self._by_content = by_content or isinstance(position, dict)
        self._items = iter(items)
        self.once = self._items is items  # they cannot be had again
        self._keys: list[bytes] = []  # of those that were given and are not among the seen yet
        self._position = position
        self._seen: Seen | None = None

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item and the item; `NOTHING` has that of the next one."""
        held: list[Any] = []
        seen, number = Seen(), 0
        given = (item for item in self._items if item is not NOTHING)
        if isinstance(self._position, dict):
            found = recognise(given, item_key, Former.of(self._position), "items")
            seen, held, number = found.seen, found.held, found.seen.n
            report(f"{self.label} {found.how}.")
        elif self._position is not None:  # a number of items
            for item in islice(given, self._position):
                number += 1
                if self._by_content:
                    seen.add(item_key(item))
            if number < self._position:
                raise InputError(
                    f"The source ends after {number} items, before position {self._position}; "
                    "it is not the source that the position was taken from."
                )
        self._seen = seen
        for item in chain(held, self._items):
            if item is NOTHING:
                yield number, item
                continue
            if self._by_content:
                self._keys.append(item_key(item))
            yield number, item
            number += 1

    def position(self, n_items: int) -> dict[str, Any] | int:
        """Return the position after so many items."""
        if not self._by_content:
            return n_items
        seen = self._seen or Seen()
        n_more = n_items - seen.n
        seen.add(b"".join(self._keys[:n_more]))
        del self._keys[:n_more]
        return seen.as_json()


def item_key(item: Any) -> bytes:
    """Return a line that stands for an item's content."""
    if isinstance(item, str):
        data = item.encode("utf-8", "surrogatepass")
    elif isinstance(item, sparse.sparray | sparse.spmatrix):
        X = cast(Any, item).tocsr()
        data = b"".join((str(X.shape).encode(), X.indptr.tobytes(), X.indices.tobytes()))
        data += X.data.tobytes()
    elif is_matrix(item):
        X = np.asarray(item)
        content = repr(X.tolist()).encode() if X.dtype.hasobject else X.tobytes()
        data = f"{X.dtype}{X.shape}".encode() + content
    else:
        data = repr(item).encode("utf-8", "surrogatepass")
    return digest(data).hex().encode() + b"\n"


def report(sentence: str) -> None:
    """Say how a source goes on, for whoever listens to the log."""
    logging.getLogger("opelda.corpus").info(sentence)
