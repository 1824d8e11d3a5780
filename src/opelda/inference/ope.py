"""OPE: online maximum a posteriori estimation (Than & Doan, Algorithm 1) and its variants."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from opelda.engines._settings import OPESettings
from opelda.inference._method import Document, Method
from opelda.inference._plan import N_DOCUMENT_SEQUENCES, Plan, Schedule, make_plan

Variant = Literal["ope", "ope1", "ope2", "ope3", "ope4", "bope", "g-ope", "newope"]
VARIANTS = ("ope", "ope1", "ope2", "ope3", "ope4", "bope", "g-ope", "newope")
GAP_EVERY = 5  # moves between two looks at the gap when tol > 0


@dataclass
class OPE(Method):
    """Online MAP estimation: a stochastic Frank-Wolfe walk over the simplex of mixtures.

    Before each step one of likelihood and prior is picked at random; the step goes towards the
    topic that the picks so far favour most, by 1/t.

    Parameters
    ----------
    n_iter : int
        T of the paper. In the practical schedule T iterations are T - 1 moves.
    variant : {"ope", "ope1", "ope2", "ope3", "ope4", "bope", "g-ope", "newope"}
        See docs/inference.md. "newope" with p other than 1/2 optimises p g1 + (1 - p) g2, not f.
    schedule : {"practical", "literal"}
        "literal" is Algorithm 1 as printed: its first step lands on a vertex and, for alpha < 1,
        the walk stays there. It is here to be compared with.
    coins : {"document", "shared", "balanced"}
        Where the random picks between likelihood and prior come from: one of 1,024 sequences,
        chosen by the document's content; one sequence for all documents; or one for all in which
        each pair of picks holds one of each. None depends on a document's neighbours. One
        sequence for all makes the whole result depend on how lucky it is: docs/inference.md has
        the figures.
    p : float
        Probability of picking the likelihood, for "bope", "g-ope" and "newope".
    nu : float
        Weight of the first sequence in "ope4".
    init : {"uniform", "random"}
        The start; "random" is one draw per seed, the same for all documents.
    epsilon : float
        How far the literal schedule's vertices stay inside the simplex.
    tol : float
        Stop when the gap is at most tol per token (looked at every 5 moves); 0: never.
    n_restarts : int
        Sequences tried per document; the mixture with the largest f is kept.
    screen : bool
        Skip topics that provably cannot be picked. The result is the same, bit for bit; False is
        for measuring.

    References
    ----------
    Than & Doan, "Guaranteed inference in topic models", Algorithm 1; OPE1 to OPE4: Bui et al.,
    "New stochastic approaches to posterior inference" (2017-2020); BOPE: IEEE Access (2020).

    Examples
    --------
    >>> from opelda.inference import infer
    >>> result = infer([[4, 0, 2]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], method=OPE(n_iter=20),
    ...                doc_topic_prior=1.0, random_state=0)
    >>> bool(result.gap[0] < 1.0)
    True
    """

    name: ClassVar[str] = "ope"

    n_iter: int = 50
    variant: Variant = "ope"
    schedule: Literal["practical", "literal"] = "practical"
    coins: Literal["document", "shared", "balanced"] = "document"
    p: float = 0.5
    nu: float = 0.5
    init: Literal["uniform", "random"] = "uniform"
    epsilon: float = 1e-10
    tol: float = 0.0
    n_restarts: int = 1
    screen: bool = True

    def check(self) -> None:
        """Raise `InputError` for a parameter that cannot be used."""
        self._require_count("n_iter", least=2)
        self._require(self.variant in VARIANTS, "variant", f"one of {', '.join(VARIANTS)}")
        schedules = ("practical", "literal")
        self._require(self.schedule in schedules, "schedule", "'practical' or 'literal'")
        sources = ("document", "shared", "balanced")
        self._require(self.coins in sources, "coins", "'document', 'shared' or 'balanced'")
        self._require_number("p", 0.001, 0.999, open_low=True)
        biased = self.variant in ("bope", "g-ope", "newope")
        self._require(biased or self.p == 0.5, "p", f"0.5 in the variant {self.variant!r}")
        self._require_number("nu", 0.0, 1.0, open_low=False)
        self._require(self.init in ("uniform", "random"), "init", "'uniform' or 'random'")
        keeps = self.schedule == "practical" or self.init == "uniform"
        self._require(keeps, "init", "'uniform' in the literal schedule, which forgets its start")
        self._require_number("epsilon", 1e-10, 1e-2, open_low=False)
        self._require_number("tol", 0.0, 1e30, open_low=False)
        self._require_count("n_restarts")
        self._require(isinstance(self.screen, bool | np.bool_), "screen", "True or False")

    def kernel(self, n_topics: int, seed: int) -> OPESettings:
        """Return the settings of the engine's kernel."""
        return OPESettings(
            **vars(self._plan(n_topics, seed)),
            seed=seed if self.coins == "document" else None,
            n_restarts=int(self.n_restarts),
            tol=float(self.tol),
            screen=bool(self.screen),
        )

    def check_for(self, n_topics: int) -> None:
        """Raise `InputError` for an epsilon that leaves no room inside the simplex."""
        fits = self.schedule == "practical" or n_topics * self.epsilon <= 0.5
        self._require(fits, "epsilon", f"at most {0.5 / n_topics:.3g} for {n_topics} topics")

    def _plan(self, n_topics: int, seed: int) -> Plan:
        self.check_for(n_topics)
        parameters = {field.name: getattr(self, field.name) for field in fields(Schedule)}
        # an update's number changes which document follows which of many sequences, not those
        seed = seed & 0xFFFFFFFF if self.coins == "document" else seed
        return make_plan(Schedule(**parameters), n_topics, seed)

    def reference(self, document: Document, seed: int) -> tuple[NDArray[np.float64], int]:
        """Return one document's mixture, computed step by step as the paper writes it."""
        plan = self._plan(len(document.alpha), seed)
        first = document.key % N_DOCUMENT_SEQUENCES if self.coins == "document" else 0
        walks = [
            self._walk(document, plan, (first + r) % len(plan.a)) for r in range(self.n_restarts)
        ]
        f, _ = objective(document)
        theta, n_moves = max(walks, key=lambda walk: f(walk[0]))
        return theta, n_moves + plan.first_t - 1

    def _walk(
        self, document: Document, plan: Plan, sequence: int
    ) -> tuple[NDArray[np.float64], int]:
        f, slopes = objective(document)
        n_topics = len(document.alpha)
        literal = self.schedule == "literal"
        shrink = self.epsilon if literal else 0.0
        theta = plan.start.astype(np.float64)

        def step(a: float, b: float, t: int) -> NDArray[np.float64]:
            likelihood, prior = slopes(theta)
            vertex = np.full(n_topics, shrink)
            vertex[np.argmax(a * likelihood + b * prior)] += 1 - n_topics * shrink
            moved: NDArray[np.float64] = theta + (vertex - theta) / t
            return moved

        for s in range(plan.n_moves):
            t = s + plan.first_t
            after = step(plan.a[sequence, s], plan.b[sequence, s], t)
            if plan.a2 is not None and plan.b2 is not None:
                other = step(plan.a2[sequence, s], plan.b2[sequence, s], t)
                if _prefers_second(f(after), f(other), plan, s):
                    after = other
            theta = after
            done = s + 1
            if self.tol > 0 and done % GAP_EVERY == 0 and done < plan.n_moves:
                slope = sum(slopes(theta))
                if np.max(slope) - slope @ theta <= self.tol * document.n_tokens:
                    return theta, done
        return theta, plan.n_moves


def objective(
    document: Document,
) -> tuple[
    Callable[[NDArray[np.float64]], float],
    Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]],
]:
    """Return f and the gradients of its two terms, g1 (likelihood) and g2 (prior)."""
    d, beta, alpha = document.counts, document.beta, document.alpha

    def f(theta: NDArray[np.float64]) -> float:
        return float(d @ np.log(theta @ beta) + (alpha - 1) @ np.log(theta))

    def slopes(theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return beta @ (d / (theta @ beta)), (alpha - 1) / theta

    return f, slopes


def _prefers_second(first: float, second: float, plan: Plan, s: int) -> bool:
    if plan.coin is None:
        return second > first
    # OPE2: keep the first with probability exp(f1) / (exp(f1) + exp(f2))
    return bool(plan.coin[s] >= 1 / (1 + np.exp(np.clip(second - first, -700, 700))))
