"""The part of the reference engine that draws the topics of tokens, one by one, and counts them."""

import numpy as np
from numpy.typing import NDArray

from opelda.engines._documents import Documents
from opelda.engines._keys import content_keys, numbered, seeded, uniforms
from opelda.engines._reference_topics import double, probabilities
from opelda.engines._tokens import (
    SizeHistogram,
    TokenCounts,
    Tokens,
    histogram,
    tokens_of,
    unit_of,
)
from opelda.engines._weights import Prior, Weights

Array = NDArray[np.float64]


class ReferenceSweeps:
    """Sweeps of Gibbs sampling in plain Python."""

    name = "reference"

    def tokens(
        self,
        documents: Documents,
        *,
        copies: NDArray[np.integer] | None = None,
        shift: int | None = None,
    ) -> Tokens:
        """Make tokens."""
        rows = documents.part()
        ends = np.concatenate(([0], np.cumsum(tokens_of(rows.counts))))
        first = ends[rows.indptr].astype(np.int64)
        unit = unit_of(rows, documents.n_words)
        return Tokens(
            rows=rows,
            keys=numbered(content_keys(rows.indptr, rows.words, rows.counts), copies),
            first=first,
            topics=np.zeros(int(first[-1]), np.uint16),
            shift=unit.shift if shift is None else shift,
            narrow=False,
        )

    def sweep(
        self,
        weights: Weights,
        tokens: Tokens,
        alpha: Array,
        *,
        seed: int,
        first: bool,
        n_draws: int = 1,
    ) -> TokenCounts:
        """Draw document by document, then count."""
        beta, rows = probabilities(weights), tokens.rows
        own = np.zeros(weights.n_topics) if first else 1.0 / weights.totals
        keys = seeded(tokens.keys, seed)
        each = tokens_of(rows.counts)
        words = np.repeat(rows.words, each)
        token_weights = np.repeat(rows.counts / each, each).astype(np.float64)
        for d in range(rows.n_docs):
            here = slice(tokens.first[d], tokens.first[d + 1])
            tokens.topics[here] = draw_document(
                beta[words[here]],
                token_weights[here],
                None if first else tokens.topics[here],
                alpha,
                own,
                int(keys[d]),
                n_draws,
            )
        cells = np.zeros((weights.n_words, weights.n_topics), np.int64)
        units = np.floor(np.ldexp(token_weights, tokens.shift) + 0.5).astype(np.int64)
        np.add.at(cells, (words, tokens.topics), units)
        return TokenCounts(cells, weights.n_topics, tokens.shift)

    def counted(self, counts: TokenCounts, prior: Prior) -> Weights:
        """Make weights of counts."""
        rows = np.ldexp(counts.cells[:, : counts.n_topics].astype(np.float64), -counts.shift)
        return Weights(self.name, rows, counts.n_topics, double(prior), prior_weight=1.0)

    def histogram(self, tokens: Tokens, n_topics: int, share: float) -> SizeHistogram:
        """Count documents by tokens per topic."""
        return histogram(tokens, n_topics, share)


def draw_document(
    beta: Array,
    weights: Array,
    topics: NDArray[np.uint16] | None,
    alpha: Array,
    own: Array,
    key: int,
    n_draws: int,
) -> NDArray[np.uint16]:
    """Draw the topics of a document's tokens anew: P(k) ~ (N_k + alpha_k) (beta_k - own).

    N_k weighs the document's other tokens in topic k. The part with N_k comes first, over the
    topics in use in the order in which they came into use; the part with alpha_k after it, in the
    order of the topics: every engine must map the same uniform number to the same topic.

    Parameters
    ----------
    beta : array (n, K)
        The probabilities of each token's word.
    weights : array (n,)
    topics : array (n,) or None
        The tokens' topics so far; without, they are placed one after another first.
    alpha, own : arrays (K,)
        A token of weight 1 is `own` of the probability of its word in its topic.
    key : int
    n_draws : int
        How often each token is drawn.
    """
    n, n_topics = beta.shape
    sizes, times = np.zeros(n_topics), np.zeros(n_topics, np.int64)
    in_use: list[int] = []

    def enter(k: int, weight: float) -> None:
        sizes[k] += weight
        times[k] += 1
        if times[k] == 1:
            in_use.append(k)

    def leave(k: int, weight: float) -> None:
        sizes[k] -= weight
        times[k] -= 1
        if times[k] == 0:
            sizes[k] = 0.0
            in_use[in_use.index(k)] = in_use[-1]
            in_use.pop()

    fresh = topics is None
    z = np.zeros(n, np.uint16) if topics is None else topics.copy()
    if not fresh:
        for i in range(n):
            enter(int(z[i]), weights[i])
    for sweep in range(n_draws):
        u = uniforms(key, sweep * n, n)
        for i in range(n):
            p = beta[i].copy()
            if not (fresh and sweep == 0):
                now = int(z[i])
                leave(now, weights[i])
                # a token that was never counted is in no probability either
                p[now] -= 0.0 if fresh else min(weights[i] * own[now], p[now])
            ends = np.cumsum(np.concatenate((sizes[in_use] * p[in_use], alpha * p)))
            at = int(np.searchsorted(ends, u[i] * ends[-1], side="right"))
            z[i] = in_use[at] if at < len(in_use) else at - len(in_use)
            enter(int(z[i]), weights[i])
    return z
