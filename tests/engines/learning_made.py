"""Methods, rules, documents and mixtures for the tests of updates and statistics."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import psi

from opelda.engines.seam import Wanted
from opelda.inference import CGS, CVB0, EM, FW, OFW, OPE, TLI, VB, Method
from opelda.learning._rules import ML, SCVB0, Online, Streaming

from .made import as_lambda, as_topics, make_documents, make_weights

K, V, SEED = 5, 25, 7
METHODS = [
    OPE(n_iter=15),
    OPE(n_iter=15, init="random"),
    EM(n_kept=3),
    VB(n_iter=20, tol=0),
    CVB0(burn_in=3, n_samples=3),
    CGS(burn_in=2, n_samples=3),
    FW(n_iter=10),  # leaves topics unused
    OFW(n_iter=10),  # without a kernel
    TLI(),  # reads topics of words that the documents do not hold
]
RULES = {
    "ml": ML(),
    "online": Online(),
    "online, start unbounded": Online(bound_start=False),
    "scvb0": SCVB0(),
    "streaming": Streaming(),
    "streaming, start kept": Streaming(keep_start=True),
    "streaming, prior kept": Streaming(keep_prior=True),
}
every_method = pytest.mark.parametrize("method", METHODS, ids=repr)
some_methods = pytest.mark.parametrize("method", [METHODS[0], *METHODS[2:5]], ids=repr)
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


@dataclass
class Vertex(Method):
    """Every document is of the first topic."""

    name: ClassVar[str] = "vertex"

    def check(self):
        pass

    def reference(self, document, seed):
        return np.eye(len(document.alpha))[0], 1


def made(engine, prior="number", n_docs=12, seed=0, **options):
    """Return weights without a word that no topic has, and documents."""
    rng = np.random.default_rng(seed)
    host = make_weights(rng, V, K, prior, **options)
    return engine.weights(host), engine.documents(make_documents(rng, n_docs, V))


def held(engine, weights, documents, task, rule):
    """Return the topics (K, V) to infer with, and the mixtures that tokens' topics are of.

    exp(E[log beta]) of a word may be as large as one likes: only ratios between topics matter.
    """
    lam = as_lambda(weights.host())
    beta = as_topics(lam)
    if rule.divide and task.method.expects_logs:
        logs = psi(np.maximum(lam, 1e-30)) - psi(lam.sum(axis=1, keepdims=True))
        beta = 1e-3 * np.exp(logs - logs.max(axis=0))
    found = engine.infer(engine.topics(beta), documents, task, Wanted(factors=rule.divide))
    mixture = found.factors if rule.divide and found.factors is not None else found.theta
    full = documents.matrix.sum(axis=1) > 0
    return beta, np.where(full[:, None], np.asarray(mixture, np.float64), 1 / K)
