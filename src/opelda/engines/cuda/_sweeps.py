"""The GPU's private parts of a sweep: tokens drawn and counted, and weights moved to counts."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines.cpu._tables import padded
from opelda.engines.cuda._device import LANES, Device
from opelda.engines.cuda._tables import CudaTable, CudaWeights, prior_parts, width_of
from opelda.engines.cuda._tokens import KERNELS, MOST_WARPS, WARPS, CudaTokenBlocks, CudaTokens
from opelda.engines.seam import GOLDEN, Prior, TokenCounts, mix, prior_sums


class CudaCounts(TokenCounts):
    """Counts on the GPU, all cells of them: 32 bits each where the tokens of any word fit."""

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
    def kind(self) -> str:
        """Which kernels are for them."""
        return "small" if self.there.dtype == np.int32 else "large"

    @property
    def unit(self) -> float:
        """The weight of 1."""
        return 2.0**-self.shift

    @property
    def n_words(self) -> int:
        """V."""
        return int(self.there.shape[0])

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.there.shape[1])

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The tokens of each topic."""
        with self.device.busy():
            return self.device.host(self.device.column_sums(self.there, self.n_topics)) * self.unit

    @property
    def word_sums(self) -> NDArray[np.int64]:
        """The weight of each word, in multiples of 2**-shift."""
        return self.device.host(self.there.sum(axis=1, dtype=np.int64))

    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct weights of cells, ascending, and how many cells have each."""
        cells, times = self.device.cp.unique(self.there[self.there != 0], return_counts=True)
        return self.device.host(cells).astype(np.int64), self.device.host(times)

    @cached_property
    def cells(self) -> sparse.csr_array:
        """The counts in host memory."""
        with self.device.busy():
            words, topics = self.device.cp.nonzero(self.there)
            values = self.device.host(self.there[words, topics]).astype(np.int64)
        starts = np.searchsorted(self.device.host(words), np.arange(self.n_words + 1))
        parts = values, self.device.host(topics).astype(np.int32), starts
        return sparse.csr_array(parts, shape=self.there.shape)


def blend(weights: CudaWeights, counts: TokenCounts, share: float) -> None:
    """Move weights towards counts; see `Engine.blend`."""
    there = CudaCounts.of(weights.device, counts)

    def add(rows: Any, factor: float) -> NDArray[np.float64]:
        cells = there.there
        weights.device.run(
            "counts", f"add_{there.kind}", cells.size,
            cells, np.float64(factor * there.unit), np.int64(cells.size),
            np.int32(there.n_topics), np.int32(rows.shape[1]), rows,
        )  # fmt: skip
        return factor * there.sums

    weights.blend(share, add)


def sweep(
    weights: CudaWeights | None,
    tokens: CudaTokens | CudaTokenBlocks,
    alpha: NDArray[np.float64],
    *,
    counts: TokenCounts | None = None,
    prior: Prior | None = None,
    seed: int,
    n_draws: int = 1,
) -> TokenCounts:
    """Draw every token's topic anew, by counts and a prior, or by the weights, and count."""
    device, n_topics = tokens.device, tokens.n_topics
    width = width_of(n_topics)
    inverse = np.zeros(width, np.float32)  # no token is in the weights
    if counts is None:
        assert weights is not None
        n_words = weights.n_words
        tokens.check(n_words)
        beta = CudaTable.of_weights(weights).beta
    else:
        n_words = counts.n_words
        tokens.check(n_words)
        if prior is None:
            assert weights is not None
            prior = weights.prior
        there = CudaCounts.of(device, counts)
        inverse = padded(1.0 / (there.sums + prior_sums(prior, n_words, n_topics)), width)
        beta = _beta(there, prior, inverse, width)
    kind = np.int32 if tokens.small else np.int64
    drawn = CudaCounts(device, device.cp.zeros((n_words, n_topics), kind), tokens.shift)

    def draw(some: CudaTokens) -> None:
        if n_draws:
            _draw(some, beta, padded(alpha, width), inverse, seed, counts is None, n_draws)
        _count(some, drawn)

    tokens.each(draw)
    return drawn


def _beta(counts: CudaCounts, prior: Prior, inverse: NDArray[np.float32], width: int) -> Any:
    """Return the topics that counts and a prior are."""
    device = counts.device
    beta = device.cp.empty((counts.n_words, width), np.float32)
    number, of_words, of_rows = prior_parts(device, prior)
    stride = 0 if of_rows is None else of_rows.shape[1]
    device.run(
        "counts", f"rows_of_{counts.kind}", counts.n_words,
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
            tokens.words, tokens.z, tokens.plain, tokens.sizes, tokens.weights,
            beta, masses, prior, weighed, device.array(inverse), np.int32(tokens.n_topics),
            np.int32(n_blocks), np.int32(fresh), np.int32(n_draws),
        )  # fmt: skip
        blocks = -(-n_docs // WARPS)
        if limit in KERNELS:
            device.launch("sweep", KERNELS[limit], blocks, *given)
            continue
        blocks, room = min(blocks, MOST_WARPS // WARPS), width_of(limit)
        slots = cp.empty((blocks * WARPS, 5, room), np.int32)
        device.launch("sweep", "sweep_any", blocks, *given, slots, np.int32(room))


def _count(tokens: CudaTokens, counts: CudaCounts) -> None:
    """Add the tokens of each word and topic to counts."""
    n_tokens = len(tokens.z)
    tokens.device.run(
        "counts", f"count_{counts.kind}", n_tokens,
        tokens.words, tokens.z, np.int64(n_tokens), np.int32(tokens.n_topics), counts.there,
        tokens.units, np.int64(1 << max(tokens.shift, 0)),
    )  # fmt: skip
