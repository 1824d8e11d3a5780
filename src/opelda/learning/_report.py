"""What a learner tells its listeners after each update."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BatchReport:
    """One update of the topics, as callbacks see it.

    Attributes
    ----------
    model : Any
        The model itself, already updated. Look, do not change.
    n_updates : int
        Updates over the model's life, this one included.
    n_docs : int
        Documents done in this call, over all its passes.
    n_docs_total : int or None
        Documents this call will do, where that is known.
    n_pass : int
        Which pass over the documents this is, from 1.
    n_passes : int or None
        How many there will be, where that is known.
    docs_per_second : float
        Documents a second in this call so far.
    e_seconds : float
        Time this batch's inference took.
    m_seconds : float
        Time the update of the topics took.
    step_size : float
        How far this update moved: rho_t of the Online and ML rules.
    mean_gap : float
        Mean Frank-Wolfe gap of this batch's documents, the certificate of their mixtures.
    held_out_score : float or None
        Log predictive probability per word of the validation documents, where they were scored
        after this update; larger is better.
    n_words : int
        Words in the vocabulary now.
    n_words_added : int
        Words that were added while learning.
    n_words_dropped : int
        Words that were dropped while learning.
    n_unknown_tokens : float
        Tokens that were left out because their word is not in the vocabulary.

    Examples
    --------
    >>> from opelda import OnlineOPE
    >>> from opelda.corpus import generate
    >>> def stop_after_three(report):
    ...     return report.n_updates == 3
    >>> X = generate(500, n_words=60, n_topics=3, separated=True).X
    >>> model = OnlineOPE(n_components=3, batch_size=50, callbacks=stop_after_three).fit(X)
    >>> model.n_batch_iter_
    3
    """

    model: Any
    n_updates: int
    n_docs: int
    n_docs_total: int | None
    n_pass: int
    n_passes: int | None
    docs_per_second: float
    e_seconds: float
    m_seconds: float
    step_size: float
    mean_gap: float
    held_out_score: float | None
    n_words: int
    n_words_added: int
    n_words_dropped: int
    n_unknown_tokens: float
