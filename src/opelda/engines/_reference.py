"""The reference engine: every call in plain NumPy and double precision, as the equations stand.

Slow, and the oracle of the suite: an engine is right where it agrees with this one.
"""

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from opelda.engines._accuracy import kept
from opelda.engines._solutions import certify_empty, completed
from opelda.engines.seam import (
    EVERYTHING,
    GOLDEN,
    SMALLEST,
    SMALLEST_PROBABILITY,
    Batch,
    Certificate,
    Chosen,
    Documents,
    Engine,
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
    Wanted,
    Weights,
    mix,
    seeded,
    tokens_of,
    uniforms,
)

Array = NDArray[np.float64]
Slots = list[tuple[int, float]]


class Fixed:
    """Topics word-major (V, K), of every word or of the words `ids`."""

    def __init__(self, rows: Array, ids: NDArray[np.int32] | None = None) -> None:
        self.rows, self.ids = rows, ids
        self.n_topics, self.mean = int(rows.shape[1]), rows.mean(axis=1)

    def known_part(self, rows: Rows) -> Rows:
        """Remove words of probability zero in every topic."""
        known = self.rows.max(axis=1, initial=0.0) > 0
        return rows if known.all() else rows.where(known[rows.words])


@dataclass(frozen=True)
class TopicTokens(Tokens):
    """Tokens with topics, and each document's topics with their weights."""

    topics: NDArray[np.uint16]
    slots: dict[int, Slots] = field(default_factory=dict)


@dataclass
class Batched:
    """The statistics of documents: their words, a row for each of these, the topics' mass."""

    e_seconds: float
    mean_gap: float
    words: NDArray[np.int32]
    values: Array
    of_topics: Array

    def mass(self) -> Array:
        return self.of_topics

    def add_to(self, weights: Weights, gain: Array) -> None:
        weights.rows[self.words] += gain * self.values
        weights.recount()

    def statistics(self) -> tuple[NDArray[np.int32], Array]:
        return self.words, self.values


class ReferenceEngine(Engine):
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
        taken = vars(host) | {"rows": host.rows.astype(np.float64), "prior": _double(host.prior)}
        return Weights(self.name, n_topics=host.rows.shape[1], **taken)

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> Weights:
        # the four quarters of a 64-bit number are uniform; their sum is nearly normal
        key = mix(np.array([seed], np.uint64) + GOLDEN)
        word_keys = mix(key + np.arange(1, n_words + 1, dtype=np.uint64) * GOLDEN)
        steps = np.arange(1, n_topics + 1, dtype=np.uint64) * GOLDEN
        bits = mix(word_keys[:, None] + steps)
        quarters = [bits >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
        total = np.add.reduce(quarters).astype(np.float64)
        rows = 1.0 + (total - 131070.0) * (0.1 / np.sqrt(4 * (2.0**32 - 1) / 12))
        return Weights(self.name, rows, n_topics, _double(prior))

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> Fixed:
        rows = np.array(components.T, np.float64, order="C")
        rows[rows < SMALLEST_PROBABILITY] = 0.0
        return Fixed(rows, ids)

    def _explain(
        self, weights: Weights, documents: Documents, chosen: Chosen, task: Task, wanted: Wanted
    ) -> Batched | None:
        """phi_djk is proportional to theta_dk beta_kj."""
        started = perf_counter()
        rows = (documents if chosen is None else Documents(documents.matrix[chosen])).part()
        if not len(rows.words):
            return None
        beta = probabilities(weights, logs=wanted.factors and task.method.expects_logs)
        found = self._solve(Fixed(beta), rows, task, wanted)
        e_seconds = perf_counter() - started
        theta = np.asarray(found.theta, np.float64)
        factors = theta if found.factors is None else found.factors.astype(np.float64)
        values, mass = np.zeros_like(beta), np.zeros(weights.n_topics)
        for d in np.flatnonzero(~rows.empty):
            here = slice(rows.indptr[d], rows.indptr[d + 1])
            words, counts = rows.words[here], rows.counts[here].astype(np.float64)
            mass += counts.sum() * theta[d]
            if wanted.factors:
                phi = factors[d] * beta[words]
                total = phi.sum(axis=1, keepdims=True)
                values[words] += counts[:, None] * (phi / np.maximum(total, SMALLEST))
            else:
                values[words] += counts[:, None] * theta[d]
        held = np.unique(rows.words)
        return Batched(e_seconds, found.mean_gap(rows), held, values[held], mass)

    def apply(self, weights: Weights, statistics: Statistics, rule: Rule, step: Step) -> None:
        super().apply(weights, statistics, rule, step)
        weights.recount()

    def tokens(self, documents: Documents, n_topics: int, **given: Any) -> TopicTokens:
        topics = given.pop("topics", None)
        tokens = Tokens.of(documents, n_topics, **given)
        if topics is None:
            return TopicTokens(**vars(tokens), topics=np.zeros(int(tokens.first[-1]), np.uint16))
        made = TopicTokens(**vars(tokens), topics=topics.copy())
        sizes = tokens.token_sizes().tolist()
        for d in range(documents.n_docs):
            slots = made.slots.setdefault(d, [])
            for i in range(tokens.first[d], tokens.first[d + 1]):
                _add_to(slots, int(topics[i]), sizes[i])
        return made

    def _sweep(
        self, tokens: Any, alpha: Array, seed: int, n_draws: int, by: Any, prior: Any
    ) -> TokenCounts:
        own, fresh = np.zeros(tokens.n_topics), isinstance(by, Weights)
        if fresh:
            weights = by
            tokens.slots.clear()
        else:
            lam = np.ldexp(by.cells.toarray().astype(np.float64), -by.shift)
            weights = Weights(self.name, lam, tokens.n_topics, _double(prior), prior_weight=1.0)
            own = 1.0 / weights.totals
        alphas = np.atleast_2d(alpha)
        beta, keys = probabilities(weights), seeded(tokens.keys, seed)
        sizes, weighed = tokens.token_sizes(), tokens.token_weights()
        words = np.repeat(tokens.rows.words, tokens_of(tokens.rows.counts))
        for d in range(tokens.rows.n_docs):
            here = slice(tokens.first[d], tokens.first[d + 1])
            prior = alphas[0 if tokens.prior_rows is None else tokens.prior_rows[d]]
            document = TokenDraws(tokens.slots.setdefault(d, []), prior, own, int(keys[d]))
            for draw in range(n_draws):
                known = None if fresh and draw == 0 else tokens.topics[here]
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

    def histogram(self, tokens: TopicTokens, share: float, row: int | None = None) -> SizeHistogram:
        docs = tokens.looked_at(share, row)
        slots = [slot for d in docs for slot in tokens.slots.get(int(d), []) if slot[1] > 0]
        topics, sizes = np.array(slots).reshape(-1, 2).T
        return SizeHistogram.of(topics, sizes, tokens.lengths[docs])

    def infer(
        self, topics: Fixed | Weights, documents: Documents, task: Task, wanted: Wanted = EVERYTHING
    ) -> Solution:
        return self._solve(self._table(topics), documents.part(), task, wanted)

    def certify(
        self, topics: Fixed | Weights, documents: Documents, theta: NDArray[Any], alpha: Array
    ) -> Certificate:
        fixed = self._table(topics)
        return certificate_of(fixed.rows, fixed.known_part(documents.part()), theta, alpha)

    def _table(self, topics: Any, words: NDArray[np.int32] | None = None) -> Fixed:
        if isinstance(topics, Fixed):
            return topics
        beta = probabilities(topics)
        return Fixed(beta if words is None else beta[words])

    def _solve(self, fixed: Fixed, rows: Rows, task: Task, wanted: Wanted) -> Solution:
        def infer(some: Rows, how: Task, parts: Wanted) -> Solution:
            found = how.method.solve(Batch.of(fixed, some, how.alpha), how.seed)
            if parts.certificate:
                theta = np.asarray(found.theta)
                certificate = certificate_of(fixed.rows, some, theta, how.alpha)
                found = replace(found, certificate=certificate)
            return completed(found, some, how.alpha)

        return kept(infer, fixed.known_part(rows), task, wanted)


def _double(prior: Prior) -> Any:
    return prior.astype(np.float64) if isinstance(prior, np.ndarray) else prior


def probabilities(weights: Weights, logs: bool = False) -> Array:
    """beta_kj = lambda_kj / sum_j lambda_kj, or exp(E[log beta_kj]), word-major (V, K)."""
    prior: Any = weights.prior
    if isinstance(prior, np.ndarray) and prior.ndim == 1:
        prior = prior[:, None]
    lam = weights.scale * weights.rows + weights.prior_weight * prior
    totals = weights.totals
    beta: Array = lam / totals
    if logs:
        log_beta = np.minimum(psi(np.maximum(lam, SMALLEST)) - psi(totals), 0.0)
        # a word that is rare in every topic is lifted as a whole to 1e-6: only its ratios count
        peak = log_beta.max(axis=1, keepdims=True)
        beta = np.exp(log_beta + np.maximum(np.log(1e-6) - peak, 0.0))
    beta[beta < SMALLEST_PROBABILITY] = 0.0
    beta[~beta.any(axis=1)] = SMALLEST_PROBABILITY  # unknown words: equal in all topics
    return beta


def certificate_of(beta: Array, rows: Rows, theta: NDArray[Any], alpha: Array) -> Certificate:
    """Return gaps and terms of f of given mixtures."""
    found = Certificate.room(rows.n_docs)
    impossible = 1e-280  # less than any product of a share and a probability
    for d in np.flatnonzero(~rows.empty):
        here = slice(rows.indptr[d], rows.indptr[d + 1])
        counts, mixture = rows.counts[here].astype(np.float64), theta[d].astype(np.float64)
        mixture /= mixture.sum()  # a sum of floats is rarely 1
        columns = beta[rows.words[here]]
        x = np.maximum(columns @ mixture, impossible)
        floored = np.maximum(mixture, SMALLEST)
        likelihood = (counts / x) @ columns
        prior = (alpha - 1) / floored
        # on the simplex <f'(theta), theta> = N + sum_k (alpha_k - 1)
        found.likelihood_gap[d] = max(likelihood.max() - counts.sum(), 0.0)
        # N log(max_k g1'_k / N) by Jensen's inequality, and room for the sums' rounding
        rounding = 2.0**-52 * (len(counts) + len(alpha) + 16)
        slope = likelihood.max() / counts.sum() * (1 + rounding)
        found.likelihood_loss[d] = counts.sum() * np.log(max(slope, 1.0))
        if x.min() <= impossible:
            found.likelihood_loss[d] = np.inf
        constant = counts.sum() + (alpha - 1).sum()
        found.gap[d] = max((likelihood + prior).max() - constant, 0.0)
        found.log_likelihood[d] = counts @ np.log(x)
        found.log_prior[d] = (alpha - 1) @ np.log(floored)
    certify_empty(found, rows, alpha)
    return found


class TokenDraws:
    """The topics of a document's tokens, drawn anew: P(k) ~ (N_k + alpha_k) (beta_k - own_k).

    N_k weighs the document's other tokens in topic k. The part with N_k comes first, over the slots
    of the document's topics; the part with alpha_k after it, in the order of the topics: every
    engine must map the same uniform number to the same topic. A sweep begins with the slots of the
    largest topics first, which is a function of the tokens' topics alone; a topic that comes in
    takes the first empty slot, or a new slot. A token of weight 1 contributes `own` to the
    probability of the word in the topic.
    """

    def __init__(self, slots: Slots, alpha: Array, own: Array, key: int) -> None:
        slots[:] = sorted(
            ((k, size) for k, size in slots if size > 0), key=lambda slot: (-slot[1], slot[0])
        )
        self.slots, self.alpha, self.own, self.key = slots, alpha, own, key
        self.n_drawn = 0

    def draw(
        self,
        beta: Array,
        sizes: NDArray[np.float32],
        weights: Array,
        topics: NDArray[np.uint16] | None,
    ) -> NDArray[np.uint16]:
        """Draw every token once, given its word's probabilities (n, K); without `topics` place it.

        A token has a size in the document, and a weight in the counts.
        """
        found = np.zeros(len(beta), np.uint16)
        u = uniforms(self.key, self.n_drawn, len(beta))
        self.n_drawn += len(beta)
        for i, size in enumerate(sizes.astype(np.float64)):
            p = beta[i].copy()
            if topics is not None:
                now = int(topics[i])
                _add_to(self.slots, now, -size)
                p[now] -= min(weights[i] * self.own[now], p[now])
            in_use = [k for k, _ in self.slots]
            shares = np.array([size for _, size in self.slots])
            ends = np.cumsum(np.concatenate((shares * p[in_use], self.alpha * p)))
            at = int(np.searchsorted(ends, u[i] * ends[-1], side="right"))
            found[i] = in_use[at] if at < len(in_use) else at - len(in_use)
            _add_to(self.slots, int(found[i]), size)
        return found


def _add_to(slots: Slots, topic: int, weight: float) -> None:
    """Add to a document's topic; a new topic takes the first empty slot."""
    at = next((i for i, (k, _) in enumerate(slots) if k == topic), None)
    if at is not None:
        slots[at] = topic, slots[at][1] + weight
        return
    at = next((i for i, (_, size) in enumerate(slots) if size == 0), len(slots))
    slots[at : at + 1] = [(topic, weight)]
