"""The paper's seven learners (Than & Doan, "Guaranteed inference in topic models", sections 4, 5).

Each is an inference method and an update rule; `TopicModel` combines any two.
"""

from opelda.inference import CGS, CVB0, OPE, VB
from opelda.learning._documented import documented
from opelda.learning._families import MLLearner, OnlineLearner, StreamingLearner


@documented
class MLOPE(MLLearner):
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
    """Streaming-VB: variational Bayes, one mini-batch's posterior the next one's prior.

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
