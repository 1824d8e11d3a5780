"""`LDA`: topics learned from a Spark table."""

from typing import Any

from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit, unwrap_udt
from scipy import sparse

from opelda.corpus import Vocabulary
from opelda.errors import InputError
from opelda.learning._learner import Given
from opelda.spark import _sda
from opelda.spark._cluster import Cluster
from opelda.spark._model import LDAModel
from opelda.spark._params import ALL, LDAParams, documents_of, with_setters
from opelda.spark._rows import with_rows
from opelda.spark._text import find_vocabulary
from opelda.spark._worker import Counter


@with_setters(*ALL)
class LDA(Estimator, LDAParams, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]  # untyped
    """Topics from the documents of a Spark table, as `opelda.TopicModel` learns them.

    Parameters have the names of `pyspark.ml.clustering.LDA`; docs/spark.md compares them. The
    preset decides parameters that are not set. The driver learns topics from a sample of documents
    chosen by content; then closing sweeps cover all partitions. The topics are bit-identical for
    any partitioning, row order or repeated tasks. Without a sample they equal `TopicModel`'s.

    Parameters
    ----------
    k : int
        Topics; by default 10.
    maxIter : int
        Closing sweeps of the preset "best", passes of other presets, rounds of "sda" (20).
    seed : int
        The same seed and documents give the same topics. Not set: random.
    featuresCol : str
        A column of vectors of word counts, as `CountVectorizer` makes them. Null rows are skipped.
    textCol, language, minDF, maxDF, maxVocabSize
        A column of texts instead, and the choice of words, as for `opelda.corpus.read`.
    vocabulary : list of str
        The words of vectors, for `describeTopics`; the words of texts that count.
    topicDistributionCol, certificateCol, scoreCol : str
        Columns that the model adds; see `LDAModel`.
    preset : {"best", "fast", "paper"}
        "fast" ends before the sweeps.
    optimizer : {"online", "em", "sda"}
        "online" and "em": the preset's. "sda": the paper's streaming rule over partitions, each of
        `maxIter` rounds with other documents.
    docConcentration : list of float
        alpha; one number stands for all topics. Not set: learned, or 1/k if
        `optimizeDocConcentration` is False.
    topicConcentration, learningOffset, learningDecay : float
        eta; tau and kappa of the steps.
    subsamplingRate : float
        The share of the sample in a mini-batch.
    sampleSize, localDocs : int
        Documents of the sample; the maximum that the driver learns alone. Both are 400,000.
    inference, maxLoss, transformMethod, verbose
        As for `TopicModel`.
    prevalence : str
        Columns that topics depend on, by a formula such as ``"party + s(year)"``, with at most a
        million distinct combinations of values (docs/covariates.md). It needs sweeps.
    checkpointInterval : int
        Sweeps between checkpoints in the session's checkpoint folder, if any; below 1: never.
    keepLastCheckpoint : bool
        Ignored.
    """

    @keyword_only
    def __init__(self, **params: Any) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    @keyword_only
    def setParams(self, **params: Any) -> "LDA":  # noqa: N802  # MLlib's name
        """Set parameters."""
        unknown = sorted(set(self._input_kwargs) - set(ALL))
        if unknown:
            raise InputError(f"LDA has no parameter {unknown[0]!r}; it has {', '.join(ALL)}.")
        return self._set(**self._input_kwargs)  # type: ignore[no-any-return]

    def _fit(self, dataset: DataFrame) -> LDAModel:
        model = self._checked_model()  # before anything is counted
        column = documents_of(dataset, self._given("featuresCol"), self._given("textCol"))
        texts, given = self._given("textCol") is not None, self._given("vocabulary")
        words = None if given is None else Vocabulary(given, tokenizer=self._tokenizer())
        if texts and words is None:
            bounds = (self._given(name) for name in ("minDF", "maxDF", "maxVocabSize"))
            words = find_vocabulary(column, self._tokenizer(), *bounds)
        (name,), formula = column.columns, self._given("prevalence")
        table, row, found = dataset, lit(0).cast("long"), None
        if formula is not None:
            plan = model._plan(listen=False)
            table, row, found = with_rows(dataset, name, formula, plan.n_topics, plan.seed)
        table = table.select(col(f"`{name}`") if texts else unwrap_udt(name), row)
        counter = Counter(None if words is None else len(words), words if texts else None)
        cluster = Cluster(table, counter, self._given("checkpointInterval"))
        try:
            self._learn(model, cluster, words, found)
        finally:
            cluster.close()
        return self._copyValues(LDAModel(model))  # type: ignore[no-any-return]

    def _learn(self, model: Any, cluster: Cluster, words: Vocabulary | None, found: Any) -> None:
        if not cluster.n_docs:
            raise InputError("The table has no documents to learn from.")
        if self._given("optimizer") == "sda":
            cluster.number_copies()
            _sda.fit(model, cluster, words, self._given("maxIter"))
            return
        size, alone = self._given("sampleSize"), cluster.n_docs <= self._given("localDocs")
        if not alone:
            cluster.number_copies()
        whole = alone or size >= cluster.n_docs
        X, rows = cluster.matrix() if whole else cluster.sample(size)
        self._set_batch_size(model, X)
        how = Given(prevalence=found, data=rows if alone and found else None)
        model._fit(X, words, how=how, collection=None if alone else cluster)

    def _set_batch_size(self, model: Any, X: sparse.csr_array) -> None:
        rate = self._given("subsamplingRate")
        if rate is not None:
            model.batch_size = max(1, round(rate * X.shape[0]))
