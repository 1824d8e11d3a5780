"""The GPU's private parts of a sweep: tokens that stay there, drawn and counted."""

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._cpu_tables import padded
from opelda.engines._cpu_updates import check_words
from opelda.engines._cuda_device import LANES, Device
from opelda.engines._cuda_tables import CudaTable, CudaWeights, prior_parts, width_of
from opelda.engines._keys import GOLDEN, mix
from opelda.engines._tokens import SizeHistogram, TokenCounts, Tokens, looked_at, tokens_of
from opelda.engines._weights import Prior, prior_sums

# Kernels by the most topics that a document of theirs can have.
KERNELS = {128: "sweep_128", 512: "sweep_512"}
WARPS = 8  # of a block
MOST_WARPS = 8192  # that have slots in memory, where documents have still more topics


class CudaCounts(TokenCounts):
    """Counts on the GPU: of whole tokens (int32), or in multiples of 2**-shift (int64)."""

    def __init__(self, device: Device, there: Any, shift: int) -> None:
        object.__setattr__(self, "device", device)
        object.__setattr__(self, "there", there)  # (V, K)
        object.__setattr__(self, "shift", shift)

    device: Device
    there: Any

    @classmethod
    def of(cls, device: Device, counts: TokenCounts) -> "CudaCounts":
        """Take counts of another engine, or such as were added up."""
        if isinstance(counts, cls):
            return counts
        starts, topics, cells = counts.arrays
        words = np.repeat(np.arange(counts.n_words), np.diff(starts))
        there = device.cp.zeros(counts.cells.shape, np.int64)
        there[device.array(words), device.array(topics)] = device.array(cells, np.int64)
        return cls(device, there, counts.shift)

    @property
    def is_whole(self) -> bool:
        """Whether they count tokens of weight 1."""
        return bool(self.there.dtype == np.int32)

    @property
    def unit(self) -> float:
        """The weight of 1."""
        return 1.0 if self.is_whole else 2.0**-self.shift

    @property
    def n_words(self) -> int:
        """V."""
        return int(self.there.shape[0])

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.there.shape[1])

    @cached_property
    def sums(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The tokens of each topic."""
        return self.device.host(self.there.sum(axis=0, dtype=np.int64)) * self.unit

    @property
    def word_sums(self) -> NDArray[np.int64]:
        """The weight of each word, in multiples of 2**-shift."""
        return self.device.host(self.there.sum(axis=1, dtype=np.int64) * self._each)

    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct weights of cells, ascending, and how many cells have each."""
        cells, times = self.device.cp.unique(self.there[self.there != 0], return_counts=True)
        return self.device.host(cells).astype(np.int64) * self._each, self.device.host(times)

    @cached_property
    def cells(self) -> sparse.csr_array:  # type: ignore[override]
        """The counts in host memory."""
        with self.device.busy():
            words, topics = self.device.cp.nonzero(self.there)
            values = self.device.host(self.there[words, topics]).astype(np.int64) * self._each
        starts = np.searchsorted(self.device.host(words), np.arange(self.n_words + 1))
        parts = values, self.device.host(topics).astype(np.int32), starts
        return sparse.csr_array(parts, shape=self.there.shape)

    @property
    def _each(self) -> int:
        return 1 << self.shift if self.is_whole else 1


@dataclass(frozen=True)
class CudaTokens(Tokens):
    """Tokens on the GPU, document by document."""

    device: Device
    words: Any  # int32, of each token
    z: Any  # uint16: topics
    # of tokens in their documents, in probabilities and in counts; None where all are 1
    sizes: Any
    weights: Any
    units: Any
    classes: list[tuple[int, Any]]  # documents by the most topics they can have, the longest first
    there: dict[str, Any]  # `first` and `keys` on the GPU
    looked_at: dict[float, Any] = field(default_factory=dict)

    @classmethod
    def laid_out(
        cls, device: Device, tokens: Tokens, topics: NDArray[np.uint16] | None
    ) -> "CudaTokens":
        """Take tokens to the GPU."""
        rows, n_tokens = tokens.rows, int(tokens.first[-1])
        each = tokens_of(rows.counts)
        starts = np.concatenate(([0], np.cumsum(each)))
        words = device.cp.empty(n_tokens, np.int32)
        n_entries = len(rows.words)
        device.run(
            "counts", "lay_out", n_entries,
            device.array(rows.words), device.array(starts), np.int64(n_entries), words,
        )  # fmt: skip
        alike = tokens.shift >= 0 and bool((rows.counts == each).all())
        parts: tuple[Any, Any, Any] = (None, None, None)
        if not alike:
            weights = tokens.token_weights().astype(np.float32)
            own = tokens.token_sizes(), weights, tokens.token_units()
            parts = (device.array(own[0]), device.array(own[1]), device.array(own[2]))
        z = device.cp.zeros(n_tokens, np.uint16) if topics is None else device.array(topics)
        there = {"first": device.array(tokens.first), "keys": device.array(tokens.keys)}
        return cls(
            **{field.name: getattr(tokens, field.name) for field in fields(tokens)},
            device=device,
            words=words,
            z=z,
            sizes=parts[0],
            weights=parts[1],
            units=parts[2],
            classes=_classes(device, np.diff(tokens.first), tokens.n_topics),
            there=there,
        )

    @property
    def topics(self) -> NDArray[np.uint16]:
        """The topics of the tokens, document by document."""
        return self.device.host(self.z)

    def histogram(self, share: float) -> SizeHistogram:
        """Count documents by their tokens per topic; see `Engine.histogram`."""
        device, cp = self.device, self.device.cp
        if share not in self.looked_at:
            docs = looked_at(self.keys, share)
            each = np.diff(self.first)[docs]
            at = np.repeat(self.first[:-1][docs] - (np.cumsum(each) - each), each)
            at = device.array(at + np.arange(len(at)))
            of = device.array(np.repeat(np.arange(len(docs)), each) * self.n_topics)
            self.looked_at[share] = docs, at, of
        docs, at, of = self.looked_at[share]
        lengths = self.lengths[docs]
        if self.sizes is not None or not len(at):
            found, which = cp.unique(of + self.z[at], return_inverse=True)
            sizes = cp.bincount(which, self.sizes[at].astype(np.float64)) if len(at) else found
            topics = device.host(found % self.n_topics)
            return SizeHistogram.of(topics, device.host(sizes), lengths)
        found, sizes = cp.unique(of + self.z[at], return_counts=True)
        most = int(sizes.max()) + 1
        times = device.host(cp.bincount(found % self.n_topics * most + sizes))
        kinds = np.flatnonzero(times)
        lengths, n_alike = np.unique(lengths, return_counts=True)
        sizes = (kinds % most).astype(np.float64)
        return SizeHistogram(kinds // most, sizes, times[kinds], lengths, n_alike)


def _classes(
    device: Device, lengths: NDArray[np.int64], n_topics: int
) -> list[tuple[int, Any]]:
    """Divide documents by the most topics they can have; the longest begin, or all wait for them.

    Those without tokens are left out.
    """
    most = np.minimum(lengths, n_topics)
    found, below = [], 0
    for limit in (*KERNELS, int(most.max(initial=0))):
        docs = np.flatnonzero((most > below) & (most <= limit))
        if len(docs):
            docs = docs[np.argsort(-lengths[docs], kind="stable")]
            found.append((limit, device.array(docs, np.int32)))
        below = max(below, limit)
    return found


def sweep(
    weights: CudaWeights | None,
    tokens: CudaTokens,
    alpha: NDArray[np.float64],
    counts: TokenCounts | None,
    prior: Prior | None,
    *,
    seed: int,
    n_draws: int,
) -> TokenCounts:
    """Draw every token's topic anew, by counts and a prior, or by the weights, and count."""
    device, n_topics = tokens.device, tokens.n_topics
    width = width_of(n_topics)
    inverse = np.zeros(width, np.float32)  # no token is in the weights
    if counts is None:
        assert weights is not None
        n_words = weights.n_words
        check_words(tokens.rows.words, n_words)
        beta = CudaTable.of_weights(weights, None).beta
    else:
        n_words = counts.n_words
        check_words(tokens.rows.words, n_words)
        if prior is None:
            assert weights is not None
            prior = weights.prior
        there = CudaCounts.of(device, counts)
        inverse = padded(1.0 / (there.sums + prior_sums(prior, n_words, n_topics)), width)
        beta = _beta(there, prior, inverse, width)
    if n_draws:
        _draw(tokens, beta, padded(alpha, width), inverse, seed, counts is None, n_draws)
    return _counted(tokens, n_words)


def _beta(counts: CudaCounts, prior: Prior, inverse: NDArray[np.float32], width: int) -> Any:
    """Return the topics that counts and a prior are."""
    device = counts.device
    beta = device.cp.empty((counts.n_words, width), np.float32)
    number, of_words, of_rows = prior_parts(device, prior)
    stride = 0 if of_rows is None else of_rows.shape[1]
    device.run(
        "counts", "rows_of_whole" if counts.is_whole else "rows_of_parts", counts.n_words,
        counts.there, np.float64(counts.unit), np.int32(counts.n_words), np.int32(counts.n_topics),
        np.int32(width), device.array(inverse), number, of_words, of_rows, np.int32(stride), beta,
        threads=LANES,
    )  # fmt: skip
    return beta


def _draw(
    tokens: CudaTokens,
    beta: Any,
    alpha: NDArray[np.float32],
    inverse: NDArray[np.float32],
    seed: int,
    fresh: bool,
    n_draws: int,
) -> None:
    device, cp = tokens.device, tokens.device.cp
    n_words, n_blocks = beta.shape[0], beta.shape[1] // LANES
    weighed = device.array(alpha)
    masses, prior = cp.empty((n_words, n_blocks), np.float32), cp.empty(n_words, np.float32)
    device.run(
        "counts", "masses", n_words,
        beta, np.int32(n_words), np.int32(n_blocks), weighed, masses, prior,
        threads=LANES,
    )  # fmt: skip
    mixed = mix(np.array([seed], np.uint64) + GOLDEN)[0]
    for limit, docs in tokens.classes:
        n_docs = len(docs)
        given = (
            docs, np.int32(n_docs), tokens.there["first"], tokens.there["keys"], mixed,
            tokens.words, tokens.z, tokens.sizes, tokens.weights, beta, masses, prior, weighed,
            device.array(inverse), np.int32(tokens.n_topics), np.int32(n_blocks), np.int32(fresh),
            np.int32(n_draws),
        )  # fmt: skip
        blocks = -(-n_docs // WARPS)
        if limit in KERNELS:
            device.launch("sweep", KERNELS[limit], blocks, *given)
            continue
        blocks, room = min(blocks, MOST_WARPS // WARPS), width_of(limit)
        slots = cp.empty((blocks * WARPS, 5, room), np.int32)
        device.launch("sweep", "sweep_any", blocks, *given, slots, np.int32(room))


def _counted(tokens: CudaTokens, n_words: int) -> CudaCounts:
    """Count the tokens of each word and topic."""
    device, n_tokens, n_topics = tokens.device, len(tokens.z), tokens.n_topics
    whole = tokens.units is None
    there = device.cp.zeros((n_words, n_topics), np.int32 if whole else np.int64)
    device.run(
        "counts", "count_whole" if whole else "count_parts", n_tokens,
        tokens.words, tokens.z, np.int64(n_tokens), np.int32(n_topics), there,
        *(() if whole else (tokens.units,)),
    )  # fmt: skip
    return CudaCounts(device, there, tokens.shift)


def blend(weights: CudaWeights, counts: TokenCounts, share: float) -> None:
    """Move weights towards counts; see `Engine.blend`."""
    there = CudaCounts.of(weights.device, counts)

    def add(rows: Any, factor: float) -> NDArray[np.float64]:
        cells = there.there
        weights.device.run(
            "counts", "add_whole" if there.is_whole else "add_parts", cells.size,
            cells, np.float64(factor * there.unit), np.int64(cells.size),
            np.int32(there.n_topics), np.int32(rows.shape[1]), rows,
        )  # fmt: skip
        return factor * there.sums

    weights.blend(share, add)
