"""`TopicModel`: any inference method with any update rule, and presets for defaults."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from opelda._names import PRESETS
from opelda._validation import choice, whole
from opelda.engines.seam import Rule
from opelda.errors import InputError
from opelda.inference import CVB0, OPE, Method
from opelda.inference._infer import as_method
from opelda.learning._learner import Learner, listed
from opelda.learning._plan import MOST_SWEPT_TOPICS
from opelda.learning._rules import SCVB0, Online, Updater, bounded, rule_of
from opelda.learning._seeds import Seeds


def preset_settings(preset: str, n_docs: int | None = None, n_topics: int = 1) -> dict[str, Any]:
    """Return the parameters of a preset, for a number of documents; None is a stream.

    docs/learning.md has them as a table. Small collections have more passes and smaller batches.
    """
    best, n_docs = preset == "best", 10**9 if n_docs is None else max(n_docs, 1)
    batch_size = max(50, n_docs // 20)  # at least 20 updates per pass
    if best:  # at most 200, each with K documents or more
        batch_size = min(batch_size, max(250, n_docs // 200, n_topics))
    settings = {
        "inference": OPE(n_iter=20),
        "learning": Online(decay=0.6, offset=10.0, init="documents"),
        "topic_word_prior": None,  # 1/K, or learned by sweeps
        "batch_size": min(1000, batch_size),
        "n_passes": min(2 if best else 10, max(1, round((300_000 if best else 40_000) / n_docs))),
        "n_sweeps": 80 + min(30, 600_000 // n_docs) if best else 0,
    }
    if preset == "paper":
        settings |= {"inference": OPE(n_iter=50), "batch_size": 5000, "n_passes": 1}
        settings["learning"] = Online(decay=0.9, offset=1.0, init="random")
    return settings


@listed
@dataclass(eq=False, repr=False, kw_only=True)
class TopicModel(Learner):
    """Topics learned by any inference method and any update rule.

    The defaults are the best measured settings (docs/learning.md). `preset` determines all
    parameters that are None.

    Parameters
    ----------
    n_components : int
        K, the number of topics.
    preset : {"best", "fast", "paper"}
        "best": Online-OPE and closing sweeps of Gibbs sampling, streams by sweeps of their last
        documents; "fast": Online-OPE with larger steps than the paper's; "paper": the settings of
        `OnlineOPE`.
    inference : str, Method or None
        A method of `opelda.inference`, or its name. None: ``OPE(n_iter=20)``; preset "paper": 50
        iterations; rule "scvb0": ``CVB0(burn_in=1, n_samples=1)``. The rule "sgrld" uses no method.
    learning : {None, "ml", "online", "streaming", "scvb0", "sgrld"} or rule
        The update rule (docs/learning.md). Rule objects of `opelda.learning` have step sizes and a
        start: ``Online(decay=0.7, offset=64)``. Model files cannot store custom rules
        (docs/contributing-a-method.md). None: "online", with decay .6, offset 10 and a start from
        documents; preset "paper": .9, 1, random.
    doc_topic_prior : number, vector (K,) or None
        alpha, the Dirichlet prior of a document's mixture; None is 1/K, and closing sweeps adapt it
        to the documents.
    topic_word_prior : number, vector (V,), matrix (K, V) or None
        eta, the Dirichlet prior of a topic's words. None: 1/K; with closing sweeps .05 before them,
        then a learned value per word.
    batch_size : int or None
        S, documents per update. None: 1000, fewer for collections below 200,000 documents ("fast":
        20,000); "paper": 5000.
    n_passes : int or None
        Passes of `fit` over the collection, each in its own order. None: 2, or 1 above 200,000
        documents; "fast": at most 10, for 40,000 views of documents; "paper": 1.
    n_sweeps : int or None
        Closing sweeps of collapsed Gibbs sampling in `fit` (docs/learning.md). None: 80 to 110 for
        "best", else 0. With sweeps, `partial_fit` and `fit_stream` sweep a window of the last
        400,000 documents or 4 million tokens (docs/streams.md).
    n_groups : int or None
        Groups of similar documents, which `fit` finds for the prior of mixtures
        (docs/short-texts.md). None: K for "best" and at least 1,000 documents of at most 25 words
        on average, and with embeddings; else 0.
    n_runs : int
        Runs of `fit`, each with its own seed, the first with `random_state`. `fit` keeps the most
        typical run (Rieger et al. 2020) and its `topic_stability_` (docs/howto/stable-topics.md).
    seeds : mapping from str to lists of words, Seeds or None
        Seed words by topic name (docs/seeds.md): the first topics, in this order, start from
        documents with these words, and keep name, number and theme (in streams without sweeps, not
        always the theme). Words may be numbers of columns. ``Seeds(words, strength=...)`` sets
        their weight.
    transform_method : str, Method or None
        The inference method of `transform`: a name, a method object, or "same" for `inference`.
        None: EM if `inference` is OPE or None, because its mixtures predict unseen words better and
        cost less; else `inference`.
    max_loss : float, PerToken or None
        Largest loss of likelihood in `transform`, `infer` and `score`: nats per document, or
        ``PerToken(0.01)`` nats per token. The optimum (`opelda.inference.Exact`) replaces other
        mixtures; it may predict new words of short texts worse. None: no limit.
    sparse_output : bool
        Return mixtures of `transform` and `infer` as CSR arrays, which are small if most topics
        have no share, as with ``transform_method="exact"``.
    engine : str or Engine
        "cpu", "cuda" (a GPU, docs/gpu.md), "auto" (the GPU where it is faster), "reference" (slow,
        plain NumPy), or an engine object.
    n_jobs : int or None
        Number of threads; None means every core, but one core inside a worker of joblib and similar
        libraries. Results do not depend on the number of threads.
    random_state : int, RandomState, Generator or None
    verbose : int
        0: silent. 1: a progress bar, or lines in the log without a terminal. 2: a line per update.
    callbacks : callable, list of callables or None
        Called with a `BatchReport` after every update; learning stops if a callback returns True.

    Attributes
    ----------
    components_ : float32 array (K, V)
        The topics; rows sum to 1.
    n_batch_iter_, n_docs_, n_docs_seen_ : int
        Updates; documents; documents times passes and sweeps.
    n_features_in_ : int
        V.
    n_unknown_tokens_ : float
        The number of stream tokens whose words have no column.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["the green tea", "black tea with milk", "red wine", "a dry white wine"] * 50
    >>> drinks = TopicModel(3, seeds={"wine": ["wine"], "tea": ["tea"]}, random_state=0)
    >>> drinks.fit(texts).topic_labels_[:2], drinks.transform(texts).shape
    (['wine', 'tea'], (200, 3))
    """

    preset: Literal["best", "fast", "paper"] = "best"
    inference: str | Method | None = None
    learning: Literal["ml", "online", "streaming", "scvb0", "sgrld"] | Rule | Updater | None = None
    batch_size: int | None = None
    n_passes: int | None = None
    n_sweeps: int | None = None
    n_groups: int | None = None
    n_runs: int = 1
    seeds: Mapping[str, Iterable[str | int]] | Seeds | None = None

    def _settings(self, n_docs: int | None = None) -> dict[str, Any]:
        n_topics = whole("n_components", self.n_components)
        preset = preset_settings(choice("preset", self.preset, PRESETS), n_docs, n_topics)
        rule = preset["learning"] if self.learning is None else rule_of(self.learning)
        if isinstance(rule, SCVB0):
            preset["inference"] = CVB0(burn_in=1, n_samples=1)
        elif isinstance(rule, Updater):
            if not rule.infers:
                whole("n_components", self.n_components, most=MOST_SWEPT_TOPICS)
            for name in ("seeds",) if rule.infers else ("inference", "seeds"):
                if getattr(self, name) is not None:
                    raise InputError(
                        f"has no effect with the rule {self.learning!r}; remove one of the two.",
                        name,
                    )
        settings: dict[str, Any] = self.get_params(deep=False)
        settings |= {name: value for name, value in preset.items() if settings[name] is None}
        method = as_method(settings["inference"], "inference")
        rules = {"learning": bounded(rule, method), "default_rule": preset["learning"]}
        return settings | rules | {"inference": method}
