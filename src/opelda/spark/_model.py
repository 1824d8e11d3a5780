"""`LDAModel`: topics and mixtures on Spark; `LDAEvaluator` compares models."""

from copy import copy
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pyspark import keyword_only
from pyspark.ml import Model
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.linalg import DenseMatrix, DenseVector, VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udf, col, struct, unwrap_udt
from pyspark.sql.functions import sum as added
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

import opelda
from opelda.corpus import Vocabulary
from opelda.errors import InputError
from opelda.inference._infer import as_prior
from opelda.spark._errors import explained
from opelda.spark._executor_inference import CERTIFICATE, MIXTURE, SCORE, TYPES, Shipped, inferring
from opelda.spark._params import OF_MODELS, LDAParams, documents_of, with_setters

CHUNK = 32 * 2**20  # bytes of a model file in a row
ANSWER = "opelda_answer"  # a column for a moment


@with_setters(*OF_MODELS)
class LDAModel(Model, LDAParams, MLReadable, MLWritable):  # type: ignore[misc]  # untyped
    """Topics on Spark: a `TopicModel` with the methods of MLlib's `LDAModel`.

    `transform` adds `topicDistributionCol`, the mixtures as vectors; if set also `certificateCol`,
    the bounds of `opelda.inference.Inference`, and `scoreCol`, the log probability of a document's
    held-out tokens and their number, for `LDAEvaluator`. A null document has null values. Columns
    of `prevalence` and `content` are used if the table has all columns of the formula.

    Parameters
    ----------
    model : TopicModel or path, optional
        A fitted model of opelda, or its file.
    """

    def __init__(self, model: Any = None) -> None:
        super().__init__()
        self._model = opelda.load(model) if isinstance(model, str | PathLike) else model

    def toLocal(self) -> Any:  # noqa: N802
        """Return the `TopicModel`."""
        if self._model is None:
            raise InputError("This LDAModel has no topics; fit an LDA, or load one.")
        names = {"maxLoss": "max_loss", "transformMethod": "transform_method"}
        given = {own: self._given(name) for name, own in names.items() if self.isSet(name)}
        if all(getattr(self._model, own) == value for own, value in given.items()):
            return self._model
        # copies of this LDAModel, with other parameters, have the same model
        return copy(self._model).set_params(**given)

    def setVocabulary(self, words: Any) -> "LDAModel":  # noqa: N802
        """Set the words of the vectors' entries, as `CountVectorizerModel` has them."""
        words, state = Vocabulary(words), self.toLocal()._learned()
        if len(words) != state.weights.n_words:
            raise InputError(
                f"The vocabulary has {len(words)} words, but the model was fitted to vectors of "
                f"{state.weights.n_words} entries; pass the vocabulary of the CountVectorizer that "
                "made the vectors."
            )
        state.vocabulary = words
        return self

    def vocabSize(self) -> int:  # noqa: N802
        """Return the number of words."""
        return int(self.toLocal()._learned().weights.n_words)

    def isDistributed(self) -> bool:  # noqa: N802
        """Return False: the topics are the driver's."""
        return False

    def estimatedDocConcentration(self) -> DenseVector:  # noqa: N802
        """Return the alpha of inference."""
        model = self.toLocal()
        return DenseVector(as_prior(model.doc_topic_prior, model._learned().weights.n_topics))

    def topicsMatrix(self) -> DenseMatrix:  # noqa: N802
        """Return the topics, words x topics; the columns sum to 1, unlike MLlib's counts."""
        topics = np.asarray(self.toLocal().components_, np.float64)
        return DenseMatrix(topics.shape[1], topics.shape[0], topics.ravel())

    def describeTopics(self, maxTermsPerTopic: int = 10) -> DataFrame:  # noqa: N802
        """Return each topic's heaviest words: topic, termIndices, termWeights; if known, terms."""
        model = self.toLocal()
        topics, words = model.components_, model._learned().vocabulary
        n = min(maxTermsPerTopic, topics.shape[1])
        order = np.argsort(-topics, axis=1, kind="stable")[:, :n]
        weights = np.take_along_axis(topics, order, axis=1).astype(float).tolist()
        rows: list[Any] = list(zip(range(len(topics)), order.tolist(), weights, strict=True))
        schema = "topic int, termIndices array<int>, termWeights array<double>"
        if words is not None:
            rows = [(*row, [words.words[j] for j in row[1]]) for row in rows]
            schema += ", terms array<string>"
        return SparkSession.active().createDataFrame(rows, schema)

    def logPerplexity(self, dataset: DataFrame) -> float:  # noqa: N802
        """Return minus the log probability of a held-out token; lower is better.

        MLlib gives a variational bound: the two do not compare.
        """
        log_probability, n_tokens = self._scored(dataset)
        return -log_probability / n_tokens

    def logLikelihood(self, dataset: DataFrame) -> float:  # noqa: N802
        """Return the sum of log probabilities of held-out tokens."""
        return self._scored(dataset)[0]

    def _scored(self, dataset: DataFrame) -> tuple[float, float]:
        return summed_scores(self._answers(dataset, (SCORE,)).select(f"{ANSWER}.{SCORE}.*"))

    def _transform(self, dataset: DataFrame) -> DataFrame:
        columns = {
            MIXTURE: self._given("topicDistributionCol"),
            CERTIFICATE: self._given("certificateCol"),
            SCORE: self._given("scoreCol"),
        }
        named = {part: name for part, name in columns.items() if name}
        taken = [name for name in named.values() if name in dataset.columns]
        if taken:
            raise InputError(f"The table already has a column {taken[0]!r}; choose another name.")
        answered = self._answers(dataset, tuple(named))
        for part, name in named.items():
            answered = answered.withColumn(name, col(f"{ANSWER}.{part}"))
        return answered.drop(ANSWER)

    def _answers(self, dataset: DataFrame, wanted: tuple[str, ...]) -> DataFrame:
        """Return the table with a column of the wanted parts."""
        texts = self._given("textCol")
        documents_of(dataset, self._given("featuresCol"), texts)
        model = self.toLocal()
        if texts is not None and model._learned().vocabulary is None:
            raise InputError("The model has no vocabulary to count texts with; call setVocabulary.")
        types = {part: from_arrow_type(TYPES[part]) for part in wanted} | {MIXTURE: VectorUDT()}
        returned = StructType([StructField(part, types[part]) for part in wanted])
        state = model._learned()
        used = [] if state.prevalence is None else state.prevalence.design.columns
        used = used + ([] if state.content is None else [state.content.factor.column])
        names = [name for name in dict.fromkeys(used) if name in dataset.columns]
        infer = inferring(Shipped.of(model), wanted, names, texts=texts is not None)
        documents = unwrap_udt(self._given("featuresCol")) if texts is None else col(texts)
        given = struct(documents, *(col(f"`{name}`") for name in names))
        return dataset.withColumn(ANSWER, arrow_udf(infer, returnType=returned)(given))

    def write(self) -> "ModelWriter":
        """Return a writer; see `save`."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> "ModelReader":
        """Return a reader; see `load`."""
        return ModelReader()


def summed_scores(scores: DataFrame) -> tuple[float, float]:
    """Return the sum of held-out log probabilities and the number of held-out tokens."""
    with explained():
        sums = scores.agg(added("log_probability"), added("n_tokens")).toArrow().to_pylist()[0]
    log_probability, n_tokens = sums.values()
    if not n_tokens:
        raise InputError("The table has no document with at least two tokens to score.")
    return float(log_probability), float(n_tokens)


class LDAEvaluator(Evaluator, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]  # untyped
    """The log probability of a held-out token by its document's others; larger is better.

    Parameters
    ----------
    scoreCol : str
        The models' `scoreCol`; by default "score".
    """

    scoreCol: Any = Param(  # noqa: N815
        Params._dummy(), "scoreCol", "a column of scores", typeConverter=TypeConverters.toString
    )

    @keyword_only
    def __init__(self, *, scoreCol: str = "score") -> None:
        super().__init__()
        self._setDefault(scoreCol="score")
        self._set(**self._input_kwargs)

    def _evaluate(self, dataset: DataFrame) -> float:
        name = self.getOrDefault(self.scoreCol)
        if name not in dataset.columns:
            raise InputError(
                f"is {name!r}, a missing column; set the same scoreCol in LDA.",
                "scoreCol",
            )
        log_probability, n_tokens = summed_scores(dataset.select(f"`{name}`.*"))
        return log_probability / n_tokens


class ModelWriter(MLWriter):  # type: ignore[misc]  # untyped
    """Writes the parameters as MLlib does, and the model file in rows beside them."""

    def __init__(self, model: LDAModel) -> None:
        super().__init__()
        self._instance = model

    def saveImpl(self, path: str) -> None:  # noqa: N802
        spark = self.sparkSession
        DefaultParamsWriter.saveMetadata(self._instance, path, spark)
        data = Shipped.of(self._instance.toLocal()).data
        rows = [(at, data[at : at + CHUNK]) for at in range(0, len(data), CHUNK)]
        table = spark.createDataFrame(rows, "at long, bytes binary")
        table.write.parquet(f"{path}/model")


class ModelReader(MLReader):  # type: ignore[misc]  # untyped
    """Reads what `ModelWriter` wrote."""

    def load(self, path: str) -> LDAModel:
        spark = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, spark)
        if not metadata["class"].startswith("opelda."):
            raise InputError(f"{path} contains a {metadata['class']}, not a model of opelda.spark.")
        rows = spark.read.parquet(f"{path}/model").toArrow().sort_by("at")
        with TemporaryDirectory() as folder:
            file = Path(folder, "model")
            file.write_bytes(b"".join(rows.column("bytes").to_pylist()))
            model = LDAModel(file)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
