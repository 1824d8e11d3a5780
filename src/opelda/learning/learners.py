"""The paper's seven learners (Than & Doan, "Guaranteed inference in topic models", sections 4, 5).

Each combines an inference method and an update rule; `TopicModel` combines any of both.
"""

import re
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from opelda._validation import number, whole
from opelda.inference import CGS, CVB0, OPE, VB, Method
from opelda.learning._learner import Learner, listed
from opelda.learning._rules import ML, Online, Streaming, bounded, rule_of
from opelda.learning.topic_model import TopicModel

Class = TypeVar("Class", bound="type[PaperLearner]")

# Parameters that differ from parameters of `TopicModel`, or that it lacks.
PARAMETERS = """
    doc_topic_prior : number, vector (K,) or None
        alpha, the Dirichlet prior of a document's mixture; None is 1/K.
    topic_word_prior : number, vector (V,), matrix (K, V) or None
        eta, the Dirichlet prior of a topic's words; None is 1/K.
    batch_size : int
        S, documents per update.
    learning_decay, learning_offset : float
        kappa and tau: update t moves the topics by (t + tau)^-kappa.
    n_iter : int
        Iterations of inference per document; OPE's T.
    n_passes : int
        Passes of `fit` over the collection, each in its own order.
    population : float or None
        D, the number of documents that the topics represent (population VB, McInerney et al. 2015).
        None: the collection's size in `fit`, the number of seen documents in streams.
    keep_start : bool
        Keep the random start in lambda, as the paper writes it. For comparison only.
"""
EXAMPLES = """    Examples
    --------
    >>> from opelda import {name}
    >>> {name}(n_components=2, random_state=0).fit([[4, 1], [0, 3]]).components_.shape
    (2, 2)"""


def documented(cls: Class) -> Class:
    """Append the parameters and attributes of `TopicModel`, and more, to a docstring."""
    head, attributes, _ = re.split(r"(?=    Attributes\n|    Examples\n)", TopicModel.__doc__ or "")
    entry, known = r"^    (\w+)(?:, \w+)* : .*\n(?:        .*\n)*", cls().get_params()
    entries = {found[1]: found[0] for found in re.finditer(entry, head + PARAMETERS, re.MULTILINE)}
    parameters = "".join(text for name, text in entries.items() if name in known)
    cls.__doc__ = (
        f"{(cls.__doc__ or '').rstrip()}\n\n    Parameters\n    ----------\n{parameters}\n"
        f"{attributes}{EXAMPLES.format(name=cls.__name__)}"
    )
    return listed(cls)


@dataclass(eq=False, repr=False, kw_only=True)
class PaperLearner(Learner):
    """A learner of the paper; subclasses name the method and the rule."""

    batch_size: int = 5000
    learning_decay: float = 0.9
    learning_offset: float = 1.0
    n_iter: int = 50
    n_passes: int = 1

    _method: ClassVar[type[Method]]
    _learning: ClassVar[type] = ML

    def _settings(self, n_docs: int | None = None) -> dict[str, Any]:
        steps = Online(
            decay=number("learning_decay", self.learning_decay, 0.0, 1.0),
            offset=number("learning_offset", self.learning_offset, 0.0, 1e12),
            init="random",
        )
        n_iter = whole("n_iter", self.n_iter)
        if self._method in (CVB0, CGS):  # half of the sweeps are burn-in
            method = self._method(burn_in=n_iter // 2, n_samples=n_iter - n_iter // 2)
        else:
            method = self._method(n_iter=n_iter)
        parameters: dict[str, Any] = self.get_params(deep=False)
        own = {field.name for field in fields(self._learning)} & parameters.keys()
        rule = rule_of(self._learning(**{name: parameters[name] for name in own}))
        objects = {"inference": method, "learning": bounded(rule, method), "default_rule": steps}
        return parameters | objects


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineLearner(PaperLearner):
    """Stochastic variational inference."""

    population: float | None = None
    _learning = Online


@dataclass(eq=False, repr=False, kw_only=True)
class StreamingLearner(PaperLearner):
    """Streaming Bayes."""

    keep_start: bool = False
    _learning = Streaming


@documented
class MLOPE(PaperLearner):
    """ML-OPE: OPE's mixtures, regularised maximum likelihood topics (the paper's Algorithm 2).

    beta <- (1 - rho) beta + rho beta^, beta^_kj proportional to sum_d d_j theta_dk.
    """

    _method = OPE


@documented
class OnlineOPE(OnlineLearner):
    """Online-OPE: OPE's mixtures, topics by stochastic variational inference (Algorithm 3).

    lambda <- (1 - rho) lambda + rho (eta + (D / S) sum_d d_j phi_djk).
    """

    _method = OPE


@documented
class StreamingOPE(StreamingLearner):
    """Streaming-OPE: OPE's mixtures, topics by streaming Bayes (Algorithm 4).

    lambda <- lambda + sum_d d_j phi_djk. The random start is replaced by eta after the first
    update; the paper keeps it (``keep_start=True``), and its mass drowns the data.
    """

    _method = OPE


@documented
class OnlineVB(OnlineLearner):
    """Online-VB: variational Bayes throughout (Hoffman, Blei & Bach, NIPS 2010).

    phi_djk is proportional to exp(E[log theta_dk] + E[log beta_kj]).
    """

    _method = VB


@documented
class StreamingVB(StreamingLearner):
    """Streaming-VB: variational Bayes; the posterior is the next mini-batch's prior.

    Broderick et al., "Streaming variational Bayes" (NIPS 2013), its sequential form.
    """

    _method = VB


@documented
class OnlineCVB0(OnlineLearner):
    """Online-CVB0: collapsed variational inference of order zero (Foulds et al., KDD 2013)."""

    _method = CVB0


@documented
class OnlineCGS(OnlineLearner):
    """Online-CGS: Gibbs sampling within, a variational update of topics (Mimno et al., ICML 2012).

    P(z = k) is proportional to (alpha + N_dk) exp(E[log beta_kj]). The statistics are the tokens'
    expected topics given the mean of the sampled mixtures, where Mimno et al. average the samples.
    """

    _method = CGS
