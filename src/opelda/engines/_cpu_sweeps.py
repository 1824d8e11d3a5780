"""The part of the CPU engine that draws the topics of tokens and counts them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda import _native
from opelda.engines._cpu_tables import aligned_empty, lay_out, padded, padded_prior, row_width
from opelda.engines._cpu_updates import check_words
from opelda.engines._documents import Documents
from opelda.engines._keys import numbered
from opelda.engines._tokens import SizeHistogram, TokenCounts, Tokens, histogram, unit_of
from opelda.engines._weights import Prior, Weights


class CPUSweeps:
    """Sweeps of Gibbs sampling with native kernels."""

    name = "cpu"

    @property
    def n_threads(self) -> int:
        """Threads of a call."""
        raise NotImplementedError

    def tokens(
        self,
        documents: Documents,
        *,
        copies: NDArray[np.integer] | None = None,
        shift: int | None = None,
    ) -> Tokens:
        """Make tokens; see `Engine.tokens`."""
        rows = documents.part()
        keys = _native.content_keys(
            rows.indptr, rows.words, rows.counts, None, n_threads=self.n_threads
        )
        first = _native.first_tokens(rows.indptr, rows.counts)
        unit = unit_of(rows, documents.n_words)
        return Tokens(
            rows=rows,
            keys=numbered(keys, copies),
            first=first,
            topics=np.zeros(int(first[-1]), np.uint16),
            shift=unit.shift if shift is None else shift,
            narrow=unit.narrow and shift in (None, unit.shift),
        )

    def sweep(
        self,
        weights: Weights,
        tokens: Tokens,
        alpha: NDArray[np.float64],
        *,
        seed: int,
        first: bool,
        n_draws: int = 1,
    ) -> TokenCounts:
        """Draw and count; see `Engine.sweep`."""
        table = lay_out(weights, None, n_threads=self.n_threads)
        n_words, stride = table.rows.shape
        rows = tokens.rows
        check_words(rows.words, n_words)
        own = np.zeros(weights.n_topics) if first else 1.0 / weights.totals
        _native.resample(
            table.rows,
            n_topics=weights.n_topics,
            indptr=rows.indptr,
            words=rows.words,
            counts=rows.counts,
            first_token=tokens.first,
            z=tokens.topics,
            fresh=first,
            n_sweeps=n_draws,
            alpha=padded(alpha, stride),
            inverse=padded(own, stride),
            keys=tokens.keys,
            seed=seed,
            n_threads=self.n_threads,
        )
        cells: NDArray[Any]
        if tokens.narrow:  # in memory that can become weights
            cells = aligned_empty(n_words, stride).view(np.int32)
            cells[:] = 0
        else:
            cells = np.zeros((n_words, stride), np.int64)
        _native.count_topics(
            rows.words,
            rows.counts,
            tokens.topics,
            cells,
            shift=tokens.shift,
            n_threads=self.n_threads,
        )
        return TokenCounts(cells, weights.n_topics, tokens.shift)

    def counted(self, counts: TokenCounts, prior: Prior) -> Weights:
        """Make weights of counts; see `Engine.counted`."""
        cells, n_topics = counts.cells, counts.n_topics
        if cells.shape[1] != row_width(n_topics):
            cells = np.zeros((len(cells), row_width(n_topics)), np.int64)
            cells[:, :n_topics] = counts.cells
        narrow = cells.dtype == np.int32
        rows = cells.view(np.float32) if narrow else aligned_empty(*cells.shape)
        sums = np.empty(n_topics, np.int64)
        _native.as_weights(cells, rows, sums, shift=counts.shift, n_threads=self.n_threads)
        return Weights(
            self.name,
            rows,
            n_topics,
            padded_prior(prior, n_topics),
            prior_weight=1.0,
            sums=np.ldexp(sums.astype(np.float64), -counts.shift),
        )

    def histogram(self, tokens: Tokens, n_topics: int, share: float) -> SizeHistogram:
        """Count documents by tokens per topic; see `Engine.histogram`."""
        return histogram(tokens, n_topics, share)
