"""The reference engine: every call in plain NumPy and double precision, as the equations stand.

Slow, and the oracle of the suite: an engine is right where it agrees with this one.
"""

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._accuracy import kept
from opelda.engines._numpy_scores import Plain
from opelda.engines._solutions import completed
from opelda.engines.reference import _equations as equations
from opelda.engines.reference._equations import SMALLEST, Fixed
from opelda.engines.seam import (
    EVERYTHING,
    GOLDEN,
    Batch,
    Certificate,
    Chosen,
    Documents,
    HostWeights,
    Prior,
    Rows,
    Rule,
    SizeHistogram,
    Solution,
    Statistics,
    Step,
    Task,
    TokenCounts,
    Tokens,
    Updated,
    Wanted,
    Weights,
    changing,
    looked_at,
    mix,
    seeded,
    tokens_of,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TopicTokens(Tokens):
    """Tokens with topics, and those of each document: which, and how much of it each is."""

    topics: NDArray[np.uint16]
    slots: dict[int, list[tuple[int, float]]] = field(default_factory=dict)


class ReferenceEngine(Plain):
    """Runs everything in plain NumPy.

    Examples
    --------
    >>> ReferenceEngine()
    ReferenceEngine()
    """

    name = "reference"

    def __repr__(self) -> str:
        return "ReferenceEngine()"

    def documents(self, X: sparse.csr_array) -> Documents:
        return Documents(X)

    def weights(self, host: HostWeights) -> Weights:
        """Take weights in double precision."""
        taken = vars(host) | {"rows": host.rows.astype(np.float64), "prior": _double(host.prior)}
        return Weights(self.name, n_topics=host.rows.shape[1], **taken)

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> Weights:
        """Draw weights of mean 1 and standard deviation 0.1 for each word and topic.

        The four quarters of a 64-bit number are uniform; their sum is nearly normal.
        """
        key = mix(np.array([seed], np.uint64) + GOLDEN)
        word_keys = mix(key + np.arange(1, n_words + 1, dtype=np.uint64) * GOLDEN)
        steps = np.arange(1, n_topics + 1, dtype=np.uint64) * GOLDEN
        bits = mix(word_keys[:, None] + steps)
        quarters = [bits >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
        total = np.add.reduce(quarters).astype(np.float64)
        rows = 1.0 + (total - 131070.0) * (0.1 / np.sqrt(4 * (2.0**32 - 1) / 12))
        return Weights(self.name, rows, n_topics, _double(prior))

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> Fixed:
        """Take fixed topics; the least probabilities count as none."""
        rows = np.array(components.T, np.float64, order="C")
        rows[rows < equations.SMALLEST_PROBABILITY] = 0.0
        return Fixed(rows, ids)

    def update(
        self,
        weights: Weights,
        documents: Documents,
        task: Task,
        rule: Rule,
        step: Step,
        *,
        chosen: Chosen = None,
        certify: bool = False,
    ) -> Updated | None:
        started = perf_counter()
        rows = _taken(documents, chosen)
        if not len(rows.words):
            return None
        found = self._explained(weights, rows, task, rule.divide, certify)
        solved = perf_counter()
        self.apply(weights, self._summed(weights, rows, task, rule.divide, found), rule, step)
        seconds = solved - started, perf_counter() - solved
        return Updated(step.rho, *seconds, found.mean_gap(rows))

    def statistics(
        self,
        weights: Weights,
        documents: Documents,
        task: Task,
        *,
        divide: bool,
        chosen: Chosen = None,
    ) -> Statistics:
        rows = _taken(documents, chosen)
        found = self._explained(weights, rows, task, divide)
        return self._summed(weights, rows, task, divide, found)

    def apply(self, weights: Weights, statistics: Statistics, rule: Rule, step: Step) -> None:
        with changing(self, weights, step):
            gain = rule.prepare(weights, step, statistics.n_docs, lambda: statistics.mass)
            weights.rows[statistics.words] += gain * statistics.values
            weights.recount()

    def tokens(
        self,
        documents: Documents,
        n_topics: int,
        *,
        topics: NDArray[np.uint16] | None = None,
        **of_whole: Any,
    ) -> TopicTokens:
        tokens = Tokens.of(documents, n_topics, **of_whole)
        if topics is None:
            return TopicTokens(**vars(tokens), topics=np.zeros(int(tokens.first[-1]), np.uint16))
        made = TopicTokens(**vars(tokens), topics=topics.copy())
        sizes = tokens.token_sizes().tolist()
        for d in range(documents.n_docs):
            slots = made.slots.setdefault(d, [])
            for i in range(tokens.first[d], tokens.first[d + 1]):
                equations.add_to(slots, int(topics[i]), sizes[i])
        return made

    def sweep(
        self,
        weights: Weights | None,
        tokens: TopicTokens,
        alpha: Array,
        *,
        counts: TokenCounts | None = None,
        prior: Prior | None = None,
        seed: int,
        n_draws: int = 1,
    ) -> TokenCounts:
        own = np.zeros(tokens.n_topics)
        if counts is None:
            tokens.slots.clear()
        else:
            lam = np.ldexp(counts.cells.toarray().astype(np.float64), -counts.shift)
            if prior is None:
                assert weights is not None
                prior = weights.prior
            eta = _double(prior)
            weights = Weights(self.name, lam, tokens.n_topics, eta, prior_weight=1.0)
            own = 1.0 / weights.totals
        assert weights is not None
        beta, keys = equations.probabilities(weights), seeded(tokens.keys, seed)
        sizes, weighed = tokens.token_sizes(), tokens.token_weights()
        words = np.repeat(tokens.rows.words, tokens_of(tokens.rows.counts))
        for d in range(tokens.rows.n_docs):
            here = slice(tokens.first[d], tokens.first[d + 1])
            document = equations.TokenDraws(
                tokens.slots.setdefault(d, []), alpha, own, int(keys[d])
            )
            for draw in range(n_draws):
                known = None if counts is None and draw == 0 else tokens.topics[here]
                each = sizes[here], weighed[here]
                tokens.topics[here] = document.draw(beta[words[here]], *each, known)
        cells = np.zeros((weights.n_words, weights.n_topics), np.int64)
        np.add.at(cells, (words, tokens.topics), tokens.token_units())
        return TokenCounts(sparse.csr_array(cells), tokens.shift)

    def blend(self, weights: Weights, counts: TokenCounts, share: float) -> None:
        cells = np.ldexp(counts.cells.toarray().astype(np.float64), -counts.shift)

        def add(rows: Array, factor: float) -> Array:
            rows += factor * cells
            return factor * counts.sums

        weights.blend(share, add)

    def histogram(self, tokens: TopicTokens, share: float) -> SizeHistogram:
        slots = [tokens.slots.get(int(d), []) for d in looked_at(tokens.keys, share)]
        pairs = np.array([pair for document in slots for pair in document if pair[1] > 0])
        topics, sizes = pairs.reshape(-1, 2).T
        return SizeHistogram.of(topics, sizes, tokens.lengths[looked_at(tokens.keys, share)])

    def infer(
        self, topics: Fixed | Weights, documents: Documents, task: Task, wanted: Wanted = EVERYTHING
    ) -> Solution:
        return self._solve(self._fixed(topics), documents.part(), task, wanted)

    def certify(
        self, topics: Fixed | Weights, documents: Documents, theta: NDArray[Any], alpha: Array
    ) -> Certificate:
        fixed = self._fixed(topics)
        rows = fixed.known_part(documents.part())
        return equations.certificate_of(fixed.rows, rows, theta, alpha)

    def read(self, weights: Weights, words: NDArray[np.int32] | None = None) -> Array:
        beta = equations.probabilities(weights)
        topics: Array = (beta if words is None else beta[words]).T
        topics.flags.writeable = False
        return topics

    def _fixed(self, topics: Fixed | Weights) -> Fixed:
        return Fixed(equations.probabilities(topics)) if isinstance(topics, Weights) else topics

    def _solve(self, fixed: Fixed, rows: Rows, task: Task, wanted: Wanted) -> Solution:
        def infer(some: Rows, how: Task, parts: Wanted) -> Solution:
            found = how.method.solve(Batch.of(fixed, some, how.alpha), how.seed)
            if parts.certificate:
                theta = np.asarray(found.theta)
                certificate = equations.certificate_of(fixed.rows, some, theta, how.alpha)
                found = replace(found, certificate=certificate)
            return completed(found, some, how.alpha)

        return kept(infer, fixed.known_part(rows), task, wanted)

    def _explained(
        self, weights: Weights, rows: Rows, task: Task, divide: bool, certify: bool = False
    ) -> Solution:
        beta = equations.probabilities(weights, logs=divide and task.method.expects_logs)
        return self._solve(Fixed(beta), rows, task, Wanted(certificate=certify))

    def _summed(
        self, weights: Weights, rows: Rows, task: Task, divide: bool, found: Solution
    ) -> Statistics:
        """sum_d d_j phi_djk, phi_djk proportional to theta_dk beta_kj, or sum_d d_j theta_dk."""
        beta = equations.probabilities(weights, logs=divide and task.method.expects_logs)
        theta = np.asarray(found.theta, np.float64)
        factors = theta if found.factors is None else found.factors.astype(np.float64)
        values, mass = np.zeros_like(beta), np.zeros(weights.n_topics)
        for d in np.flatnonzero(~rows.empty):
            here = slice(rows.indptr[d], rows.indptr[d + 1])
            words, counts = rows.words[here], rows.counts[here].astype(np.float64)
            mass += counts.sum() * theta[d]
            if divide:
                phi = factors[d] * beta[words]
                total = phi.sum(axis=1, keepdims=True)
                values[words] += counts[:, None] * (phi / np.maximum(total, SMALLEST))
            else:
                values[words] += counts[:, None] * theta[d]
        held = np.unique(rows.words)
        return Statistics(held, values[held], mass, rows.n_docs)


def _taken(documents: Documents, chosen: Chosen) -> Rows:
    return (documents if chosen is None else Documents(documents.matrix[chosen])).part()


def _double(prior: Prior) -> Any:
    return prior.astype(np.float64) if isinstance(prior, np.ndarray) else prior
