"""OPE: online maximum a posteriori estimation (Than & Doan, Algorithm 1) and its variants.

Every variant but three is the same walk with other weights: at move s go towards the vertex that
maximises  a_s g1'_k + b_s g2'_k.  After s moves the mixture is proportional to
``base[s] * start + (times each topic was picked)``: in the practical schedule the start keeps
weight 1, in the literal one it is forgotten at the first move and the shrunken simplex's epsilon
takes its place.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from opelda._validation import flag
from opelda.engines.seam import OPESettings
from opelda.inference._method import Document, Method, Vector, between, checked, count, one_of

Variant = Literal["ope", "ope1", "ope2", "ope3", "ope4", "bope", "g-ope", "newope"]
VARIANTS = get_args(Variant)
# the parameters that a walk depends on before it has seen a document
OF_WALK = (
    "n_iter", "variant", "schedule", "coins", "p", "nu", "init", "epsilon", "n_restarts",
)  # fmt: skip
# With no likelihood pick so far all topics tie under a symmetric prior; this much of a pick sends
# the tie to the likelier topic.
TIE_BREAK = 1e-3


@dataclass
class OPE(Method):
    """Online MAP estimation: a stochastic Frank-Wolfe walk over the simplex of mixtures.

    Before each step a coin picks the likelihood or the prior; the step goes towards the topic that
    the picks so far favour most, by 1/t. Than & Doan, "Guaranteed inference in topic models",
    Algorithm 1; Bui et al. (2017-2020) for OPE1 to OPE4; IEEE Access (2020) for BOPE.

    Parameters
    ----------
    n_iter : int
        T of the paper. In the practical schedule T iterations are T - 1 moves.
    variant : {"ope", "ope1", "ope2", "ope3", "ope4", "bope", "g-ope", "newope"}
        See docs/inference.md. "newope" with p other than 1/2 optimises p g1 + (1 - p) g2, not f.
    schedule : {"practical", "literal"}
        "literal" is Algorithm 1 as printed, for comparison: its first step lands on a vertex and,
        for alpha < 1, the walk stays there.
    coins : {"document", "shared", "balanced"}
        "document": one of 1,024 sequences of picks (2**21 / n_iter for n_iter > 2,048), selected by
        the content of the document; "shared": one sequence for all documents; "balanced": one
        shared sequence in which each pair of picks has both terms.
    p : float
        Probability of picking the likelihood, for "bope", "g-ope" and "newope".
    nu : float
        Weight of the first sequence in "ope4".
    init : {"uniform", "random"}
        The start; "random" is one draw per seed, the same for all documents.
    epsilon : float
        How far the literal schedule's vertices stay inside the simplex.
    tol : float
        Stop when the gap is at most tol per token (computed every 5 moves); 0: never.
    n_restarts : int
        Sequences tried per document; the mixture with the largest f is kept.
    screen : bool
        Skip topics that provably cannot be picked. The result is the same, bit for bit; False is
        for measuring.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> result = infer([[4, 0, 2]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], method=OPE(n_iter=20),
    ...                doc_topic_prior=1.0, random_state=0)
    >>> bool(result.gap[0] < 1.0)
    True
    """

    name: ClassVar[str] = "ope"

    n_iter: int = count(50, 2)
    variant: Variant = one_of(*VARIANTS)
    schedule: Literal["practical", "literal"] = one_of("practical", "literal")
    coins: Literal["document", "shared", "balanced"] = one_of("document", "shared", "balanced")
    p: float = between(0.5, 0.001, 0.999, above=True)
    nu: float = between(0.5, 0.0, 1.0)
    init: Literal["uniform", "random"] = one_of("uniform", "random")
    epsilon: float = between(1e-10, 1e-10, 1e-2)
    tol: float = between(0.0, 0.0, 1e30)
    n_restarts: int = count(1)
    screen: bool = checked(True, flag)

    def check(self) -> None:
        """Raise `InputError` for a parameter that cannot be used, or contradicts another."""
        super().check()
        biased = self.variant in ("bope", "g-ope", "newope")
        self._require(biased or self.p == 0.5, "p", f"0.5 in the variant {self.variant!r}")
        keeps = self.schedule == "practical" or self.init == "uniform"
        self._require(keeps, "init", "'uniform' in the literal schedule, which ignores its start")

    def kernel(self, n_topics: int, seed: int) -> OPESettings:
        return replace(
            self._settings(n_topics, seed),
            seed=seed if self.coins == "document" else None,
            tol=float(self.tol),
            screen=bool(self.screen),
        )

    def check_for(self, n_topics: int) -> None:
        """Raise `InputError` for an epsilon that leaves no room inside the simplex."""
        fits = self.schedule == "practical" or n_topics * self.epsilon <= 0.5
        self._require(fits, "epsilon", f"at most {0.5 / n_topics:.3g} for {n_topics} topics")

    def _settings(self, n_topics: int, seed: int) -> OPESettings:
        self.check_for(n_topics)
        others = (getattr(self, name) for name in OF_WALK)
        # an update's number changes which document follows which of many sequences, not those
        seed = seed & 0xFFFFFFFF if self.coins == "document" else seed
        return make_walk(n_topics, seed, *others)

    def prefixes(self) -> Iterator[tuple[int, Method]]:
        """Yield the same walk after each move: with fewer iterations the coins differ."""
        first = 2 if self.schedule == "practical" else 1
        own = vars(self)
        return ((t, _Stopped(**own, n_moves=t - first + 1)) for t in range(first, self.n_iter + 1))

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        walk = self._settings(len(document.alpha), seed)
        n_sequences = len(walk.a)
        first = document.key % n_sequences if self.coins == "document" else 0
        walks = [
            self._walk(document, walk, (first + r) % n_sequences) for r in range(self.n_restarts)
        ]
        _, theta, n_moves = max(walks, key=lambda found: found[0])
        return theta, n_moves + walk.first_t - 1

    def _walk(
        self, document: Document, walk: OPESettings, sequence: int
    ) -> tuple[float, Vector, int]:
        """Return f and the mixture at the end of a walk, and the number of moves."""
        d, beta, alpha = document.counts, document.beta, document.alpha
        n_topics, n_moves = len(alpha), walk.a.shape[1]
        shrink = self.epsilon if self.schedule == "literal" else 0.0

        def f(theta: Vector) -> float:
            return float(d @ np.log(theta @ beta) + (alpha - 1) @ np.log(theta))

        def slopes(theta: Vector) -> tuple[Vector, Vector]:
            return beta @ (d / (theta @ beta)), (alpha - 1) / theta

        def step(a: float, b: float, t: int) -> Vector:
            # Algorithm 1: e_t maximises <F'_t, e>, F_t = (2/t)(a g1 + b g2)
            likelihood, prior = slopes(theta)
            vertex = np.full(n_topics, shrink)
            vertex[np.argmax(a * likelihood + b * prior)] += 1 - n_topics * shrink
            moved: Vector = theta + (vertex - theta) / t
            return moved

        theta = walk.start.astype(np.float64)
        for s in range(n_moves):
            t = s + walk.first_t
            after = step(walk.a[sequence, s], walk.b[sequence, s], t)
            if walk.a2 is not None and walk.b2 is not None:
                other = step(walk.a2[sequence, s], walk.b2[sequence, s], t)
                rise = f(other) - f(after)
                # OPE2 keeps the first with probability exp(f1) / (exp(f1) + exp(f2))
                chance = 1 / (1 + np.exp(np.clip(rise, -700, 700)))
                if rise > 0 if walk.coin is None else walk.coin[s] >= chance:
                    after = other
            theta = after
            done = s + 1
            if self.tol > 0 and done % 5 == 0 and done < n_moves:
                slope = sum(slopes(theta))
                if np.max(slope) - slope @ theta <= self.tol * document.n_tokens:
                    return f(theta), theta, done
        return f(theta), theta, n_moves


@dataclass
class _Stopped(OPE):
    """The walk of OPE with the same coins, after its first moves."""

    n_moves: int = 1

    def _settings(self, n_topics: int, seed: int) -> OPESettings:
        walk, n = super()._settings(n_topics, seed), self.n_moves
        cut: dict[str, Any] = {
            name: np.ascontiguousarray(getattr(walk, name)[..., :n])
            for name in ("a", "b", "a2", "b2", "coin")
            if getattr(walk, name) is not None
        }
        return replace(walk, **cut, base=walk.base[: n + 1])


@lru_cache(maxsize=8)  # serving one document at a time must not draw 1,024 sequences for each
def make_walk(n_topics: int, seed: int, *of_walk: Any) -> OPESettings:
    """Draw from the seed what does not depend on the document; `of_walk` are the `OF_WALK`."""
    n_iter, variant, schedule, coins, p, nu, init, epsilon, n_restarts = of_walk
    rng = np.random.default_rng([seed, 1])
    practical = schedule == "practical"
    n_sequences = min(1024, max(2**21 // n_iter, n_restarts))  # documents share them
    shape = (n_sequences if coins == "document" else n_restarts, n_iter)
    p = p if variant in ("bope", "g-ope", "newope") else 0.5

    def weights(starts_with_g1: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        picks = _draw(rng, shape, p, coins == "balanced")
        if practical:
            picks[:, 0] = starts_with_g1
        a, b = np.cumsum(picks, axis=1), np.cumsum(~picks, axis=1)
        if practical:  # the first pick moves nothing
            a, b = a[:, 1:], b[:, 1:]
        if variant in ("bope", "g-ope"):
            return np.maximum(a / p, TIE_BREAK), b / (1 - p)
        return np.maximum(a, TIE_BREAK), b.astype(np.float64)

    a, b = weights(starts_with_g1=True)
    n_moves = a.shape[1]
    a2 = b2 = coin = None
    if variant not in ("ope", "g-ope"):
        a2, b2 = weights(starts_with_g1=False)
        if variant in ("ope1", "ope4"):
            # both sequences make one: a coin per move, or a mixture
            first = rng.random(a.shape) < 0.5 if variant == "ope1" else nu
            a, b = first * a + (1.0 - first) * a2, first * b + (1.0 - first) * b2
            a2 = b2 = None
        elif variant == "ope2":
            coin = rng.random((n_moves,))
    base = np.ones(n_moves + 1)
    if not practical:
        base[1:] = np.arange(1, n_moves + 1) * (n_topics * epsilon / (1 - n_topics * epsilon))
    start = np.full(n_topics, 1.0 / n_topics)
    if init == "random":  # inside the simplex: log theta must exist
        start = rng.dirichlet(np.ones(n_topics)) + 1e-6
        start /= start.sum()
    arrays = {"a": a, "b": b, "a2": a2, "b2": b2, "coin": coin, "base": base, "start": start}
    single: dict[str, Any] = {
        name: None if values is None else np.ascontiguousarray(values, np.float32)
        for name, values in arrays.items()
    }
    return OPESettings(**single, first_t=2 if practical else 1, n_restarts=int(n_restarts))


def _draw(
    rng: np.random.Generator, shape: tuple[int, int], p: float, balanced: bool
) -> NDArray[np.bool_]:
    """Return picks of g1. Balanced: each pair of picks holds one of each, in random order."""
    if not balanced:
        return rng.random(shape) < p
    n_sequences, n = shape
    first = rng.random((n_sequences, n // 2 + 1)) < 0.5
    pairs = np.stack([first, ~first], axis=2).reshape(n_sequences, -1)
    # pick 1 moves nothing and stands alone, so that pairs are (2, 3), (4, 5), ...
    return np.concatenate([first[:, :1], pairs], axis=1)[:, :n]
