"""The parameters of `LDA` and `LDAModel`: MLlib's and opelda's."""

from typing import Any

from pyspark.ml.clustering import _LDAParams
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType

from opelda import TopicModel
from opelda.corpus import Tokenizer
from opelda.errors import InputError
from opelda.learning import Online, Streaming

OPTIMIZERS = "online", "em", "sda"
# The type that MLlib converts to, and what the parameter is.
MINE = {
    "preset": ("String", "best, fast or paper; see opelda.TopicModel"),
    "prevalence": ("String", "columns that topics depend on, by a formula"),
    "inference": ("String", "the method of inference while learning"),
    "textCol": ("String", "a column of texts instead of vectors"),
    "language": ("String", "the language of the stop words; auto or none"),
    "minDF": ("Float", "the minimum number of texts with a word; below 1, their share"),
    "maxDF": ("Float", "the maximum number of texts with a word; below 1, their share"),
    "maxVocabSize": ("Int", "the maximum number of words; only the most frequent are used"),
    "vocabulary": ("ListString", "the words of the vectors' entries"),
    "sampleSize": ("Int", "documents of the sample before sweeps"),
    "localDocs": ("Int", "the maximum number of documents that the driver learns alone"),
    "maxLoss": ("Float", "the maximum loss of a mixture against the optimum, in nats"),
    "transformMethod": ("String", "the method of inference of the model"),
    "certificateCol": ("String", "output column: how far from optimal a mixture can be"),
    "scoreCol": ("String", "output column: how well held-out tokens are predicted"),
    "verbose": ("Int", "1: a progress bar or occasional lines, 2: a line per update"),
}

# Parameters that a `TopicModel` calls otherwise.
NAMES = {
    "n_components": "k",
    "n_sweeps": "maxIter",
    "n_passes": "maxIter",
    "doc_topic_prior": "docConcentration",
    "topic_word_prior": "topicConcentration",
    "decay": "learningDecay",
    "offset": "learningOffset",
    "transform_method": "transformMethod",
    "max_loss": "maxLoss",
    "random_state": "seed",
}


class LDAParams(_LDAParams):  # type: ignore[misc]  # untyped
    """MLlib's parameters, without its defaults, and ours."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._defaultParamMap.clear()
        self._setDefault(
            k=10,
            featuresCol="features",
            topicDistributionCol="topicDistribution",
            optimizer="online",
            checkpointInterval=10,
            keepLastCheckpoint=True,
            optimizeDocConcentration=True,
            preset="best",
            language="auto",
            sampleSize=400_000,
            localDocs=400_000,
            verbose=0,
        )

    def _given(self, name: str) -> Any:
        """Return a parameter; None if neither set nor a default."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _checked_model(self) -> TopicModel:
        """Return the local model; errors name the parameters of `LDA`."""
        optimizer, preset = self._given("optimizer"), self._given("preset")
        if optimizer not in OPTIMIZERS:
            names = ", ".join(OPTIMIZERS)
            raise InputError(f"must be one of {names}, got {optimizer!r}.", "optimizer")
        n_topics, alpha = self._given("k"), self._given("docConcentration")
        if alpha is not None and len(alpha) == 1:
            alpha = float(alpha[0])
        if alpha is None and not self._given("optimizeDocConcentration"):
            alpha = 1.0 / n_topics
        iterations = {"n_sweeps" if preset == "best" else "n_passes": self._given("maxIter")}
        if optimizer == "sda":
            n_rounds = self._given("maxIter")
            iterations = {"n_passes": n_rounds, "n_sweeps": 0, "learning": Streaming()}
        steps = {"decay": self._given("learningDecay"), "offset": self._given("learningOffset")}
        if optimizer != "sda" and set(steps.values()) != {None}:
            iterations["learning"] = Online(**steps)
        seed = self._given("seed")
        model = TopicModel(
            n_topics,
            preset=preset,
            inference=self._given("inference"),
            doc_topic_prior=alpha,
            topic_word_prior=self._given("topicConcentration"),
            transform_method=self._given("transformMethod"),
            max_loss=self._given("maxLoss"),
            random_state=None if seed is None else seed % 2**32,
            verbose=self._given("verbose"),
            **{name: value for name, value in iterations.items() if value is not None},
        )
        try:
            plan = model._plan(listen=False)
        except InputError as error:
            name = NAMES.get(error.parameter or "", error.parameter)
            raise InputError(error.message, name, **error.advice) from None
        if self._given("prevalence") is not None and not plan.schedule.n_sweeps:
            raise InputError("needs sweeps; use the preset 'best' without 'sda'.", "prevalence")
        return model

    def _tokenizer(self) -> Tokenizer:
        language = self._given("language")
        return Tokenizer(stop_words=None if language == "none" else language)


for _name, (_type, _doc) in MINE.items():
    _converter = getattr(TypeConverters, f"to{_type}")
    setattr(LDAParams, _name, Param(Params._dummy(), _name, _doc, typeConverter=_converter))


def documents_of(table: DataFrame, features: str, texts: str | None) -> DataFrame:
    """Return the column of vectors, or of texts if one is named; raise for another type."""
    name, parameter = (features, "featuresCol") if texts is None else (texts, "textCol")
    check_column(table, name, parameter)
    found, wanted = table.schema[name].dataType, VectorUDT if texts is None else StringType
    if not isinstance(found, wanted):
        vectors = "vectors of word counts, as CountVectorizer makes them, or name a textCol"
        raise InputError(
            f"is {name!r}, a column of {found.simpleString()}; pass "
            f"{vectors if texts is None else 'a column of strings'}.",
            parameter,
        )
    return table.select(f"`{name}`")


def check_column(table: DataFrame, name: str, parameter: str) -> None:
    """Raise for a missing column."""
    if name not in table.columns:
        raise InputError(
            f"is {name!r}, a missing column; the table has the columns {', '.join(table.columns)}.",
            parameter,
        )


def with_setters(*names: str) -> Any:
    """Give a class a setter for each parameter that is named."""

    def decorate(cls: type) -> type:
        for name in names:
            setter = lambda self, value, name=name: self._set(**{name: value})  # noqa: E731
            _add(cls, "set", name, setter, f"Set {name}.")
        return cls

    return decorate


def _add(cls: type, verb: str, name: str, method: Any, doc: str) -> None:
    method.__name__, method.__doc__ = f"{verb}{name[0].upper()}{name[1:]}", doc
    setattr(cls, method.__name__, method)


ALL = (
    *["k", "maxIter", "seed", "featuresCol", "topicDistributionCol", "optimizer"],
    *["learningOffset", "learningDecay", "subsamplingRate", "optimizeDocConcentration"],
    *["docConcentration", "topicConcentration", "checkpointInterval", "keepLastCheckpoint"],
    *MINE,
)
OF_MODELS = ["seed", "featuresCol", "textCol", "topicDistributionCol", "maxLoss", "transformMethod"]
OF_MODELS += ["certificateCol", "scoreCol"]

for _name in ALL:
    _getter = lambda self, name=_name: self._given(name)  # noqa: E731
    _doc = f"Return {_name}; None where it is not set, and the preset decides."
    _add(LDAParams, "get", _name, _getter, _doc)
