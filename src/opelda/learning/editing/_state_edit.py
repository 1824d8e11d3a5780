"""Topics merged, removed or split: all that a state has one of per topic, carried over."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines.seam import HostWeights, TokenCounts
from opelda.learning.streaming._assignments import Kept
from opelda.learning.streaming._history import Points
from opelda.learning.streaming._watch import Watch
from opelda.learning.streaming._window import Window

GONE = -1
CELLS_AT_ONCE = 2**22  # of documents times topics


@dataclass(frozen=True)
class Edit:
    """Which topics there are from now on, and what each is made of.

    `origin` has for each of them a former topic, the heaviest of those it is made of; `joins` the
    others, as pairs of a former topic and the one that takes it in. A former topic that is in
    neither is gone. Those that one is split into, `parts`, all have it as their origin.
    """

    origin: NDArray[np.int64]  # (K',)
    joins: tuple[tuple[int, int], ...]
    n_before: int
    parts: tuple[int, ...] = ()
    shares: NDArray[np.float64] | None = None  # (V, parts) of each word's weight; rows sum to 1
    sizes: NDArray[np.float64] | None = None  # (parts,) of the topic; they sum to 1

    @classmethod
    def merging(cls, groups: Iterable[Sequence[int]], weights: NDArray[np.float64]) -> "Edit":
        """Make one topic of each group, with the lowest number; the others move up."""
        goes_to = np.arange(len(weights))
        for group in groups:
            goes_to[list(group)] = min(group)
        return cls._of(goes_to, weights)

    @classmethod
    def removing(cls, topics: Sequence[int], weights: NDArray[np.float64]) -> "Edit":
        """Leave topics out; the others move up."""
        goes_to = np.arange(len(weights))
        goes_to[list(topics)] = GONE
        return cls._of(goes_to, weights)

    @classmethod
    def _of(cls, goes_to: NDArray[np.int64], weights: NDArray[np.float64]) -> "Edit":
        kept, times = np.unique(goes_to[goes_to != GONE], return_counts=True)
        origin = kept.copy()
        joins: list[tuple[int, int]] = []
        for number in np.flatnonzero(times > 1).tolist():
            members = np.flatnonzero(goes_to == kept[number])
            members = members[np.argsort(-weights[members], kind="stable")]
            origin[number] = members[0]
            joins.extend((former, number) for former in members[1:].tolist())
        return cls(origin, tuple(joins), len(weights))

    @classmethod
    def splitting(
        cls,
        topic: int,
        n_before: int,
        shares: NDArray[np.float64],
        sizes: NDArray[np.float64],
    ) -> "Edit":
        """Make parts of a topic: the first has its number, the others come after all topics."""
        more = len(sizes) - 1
        origin = np.concatenate((np.arange(n_before), np.full(more, topic)))
        parts = (topic, *range(n_before, n_before + more))
        return cls(origin, (), n_before, parts, shares, sizes)

    @property
    def n_topics(self) -> int:
        """K'."""
        return len(self.origin)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each former topic from now on; that of a split one is its first part's."""
        numbers = np.full(self.n_before, GONE)
        numbers[self.origin[::-1]] = np.arange(self.n_topics)[::-1]
        for former, number in self.joins:
            numbers[former] = number
        return numbers

    @property
    def mapping(self) -> dict[int, int]:
        """The same, without those that are gone."""
        numbers = enumerate(self.numbers.tolist())
        return {former: number for former, number in numbers if number != GONE}

    @property
    def changed(self) -> NDArray[np.int64]:
        """The topics that are others than before."""
        return np.array(sorted({number for _, number in self.joins} | set(self.parts)), np.int64)

    def added(self, table: NDArray[Any], parts: NDArray[np.float64] | None = None) -> Any:
        """Return a table (..., K) with as many columns as there are topics, nothing lost in joins.

        A split topic's column is divided by the parts' shares of it.
        """
        found = np.ascontiguousarray(table[..., self.origin])
        for former, number in self.joins:
            found[..., number] += table[..., former]
        if self.parts:
            shares = self.sizes if parts is None else parts
            found[..., list(self.parts)] *= np.asarray(shares, found.dtype)
        return found

    def largest(self, table: NDArray[Any]) -> Any:
        """Return a table (..., K) of which joined columns are each entry's larger one."""
        found = np.ascontiguousarray(table[..., self.origin])
        for former, number in self.joins:
            found[..., number] = np.maximum(found[..., number], table[..., former])
        return found

    def weights(self, host: HostWeights) -> HostWeights:
        """Add up the weights of topics that are one; of a word's priors the largest counts."""
        prior = host.prior
        if np.ndim(prior) == 2:
            prior = self.largest(np.asarray(prior))
        return replace(host, rows=self.added(host.rows, self.shares), prior=prior, sums=None)

    def labels(self, labels: dict[int, str]) -> dict[int, str]:
        """Keep the labels of topics; of several that are one, the heaviest's that has one."""
        found = {
            number: labels[former]
            for number, former in enumerate(self.origin.tolist())
            if former in labels and number not in self.parts
        }
        for former, number in self.joins:
            if former in labels:
                found.setdefault(number, labels[former])
        return dict(sorted(found.items()))

    def window(self, window: Window, topics: NDArray[np.integer]) -> Window:
        """Give the tokens their topics from now on, which are never learned anew after this."""
        return replace(
            window,
            parts=[Kept(window.kept.rows, topics.astype(np.uint16))],
            forgotten=window.forgotten[:0],
            alpha=self.added(window.alpha),
            outside=self._counts(window.outside),
            started=2.0,
        )

    def _counts(self, counts: TokenCounts) -> TokenCounts:
        cells = counts.cells.tocoo()
        words, topics = cells.row, self.numbers[cells.col]
        kept = topics != GONE
        words, topics, data = words[kept], topics[kept], cells.data[kept]
        if self.shares is not None:  # whole numbers, of which the first part gets what is left
            here = topics == self.parts[0]
            all_, at = data[here], words[here]
            for number, share in zip(self.parts[1:], self.shares.T[1:], strict=True):
                part = np.floor(all_ * share[at]).astype(np.int64)
                data[here] -= part
                words, data = np.concatenate((words, at)), np.concatenate((data, part))
                topics = np.concatenate((topics, np.full(len(at), number)))
                here = np.concatenate((here, np.zeros(len(at), bool)))
        shape = counts.n_words, self.n_topics
        made = sparse.csr_array(sparse.coo_array((data, (words, topics)), shape=shape))
        made.eliminate_zeros()
        return TokenCounts(made, counts.shift)

    def watch(self, watch: Watch) -> Watch:
        """Keep the history; what is usual of topics that are others is forgotten.

        Tokens of a topic that is gone go to any others, and nothing is usual then.
        """
        if not watch.is_settled:
            watch = watch.restarted(is_settled=True)
        gone = (self.numbers == GONE).any()
        others = np.arange(self.n_topics) if gone else self.changed
        points, numbers = watch.points, self.mapping
        shares, fits = (
            replace(lanes, table=lanes.table[:, self.origin]).renewed(others)
            for lanes in (watch.shares, watch.fits)
        )
        history = Points(
            points.documents,
            self.added(points.shares),
            -self.largest(-points.rho),
            points.words[:, self.origin],
            points.spacing,
        )
        events = tuple(
            event if event.topic is None else replace(event, topic=numbers.get(event.topic))
            for event in watch.events
        )
        sums = self.added(watch.sums)
        return replace(watch, shares=shares, fits=fits, points=history, sums=sums, events=events)


def likeliest_topics(
    kept: Kept, gone: Sequence[int], topics: NDArray[Any], alpha: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the tokens' topics, those of topics that are to go by the rest of their documents.

    The likeliest one of such a token has the largest (N_dk + alpha_k) beta_kj, N_dk being the
    document's tokens of the topics that stay; `topics` is beta (K, V).
    """
    found, ends = kept.topics.astype(np.int64), kept.ends
    lost = np.isin(found, gone)
    documents = np.repeat(np.arange(kept.rows.n_docs), np.diff(ends))
    words = kept.token_words
    concerned = np.unique(documents[lost])
    stays = np.ones(len(alpha))
    stays[list(gone)] = 0.0
    size = max(1, CELLS_AT_ONCE // len(alpha))
    for first in range(0, len(concerned), size):
        some = concerned[first : first + size]
        at = np.flatnonzero(np.isin(documents, some))
        slots = np.searchsorted(some, documents[at])
        pairs = slots * len(alpha) + found[at]
        mixtures = np.bincount(pairs, minlength=len(some) * len(alpha)).reshape(-1, len(alpha))
        scores = (mixtures + alpha) * stays
        at, slots = at[lost[at]], slots[lost[at]]
        for begin in range(0, len(at), size):
            tokens = slice(begin, begin + size)
            likely = scores[slots[tokens]] * topics[:, words[at[tokens]]].T
            found[at[tokens]] = likely.argmax(axis=1)
    return found
