"""How well models predict, for `CrossValidator`."""

from typing import Any

from pyspark import keyword_only
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.functions import sum as added

from opelda.errors import InputError
from opelda.spark._errors import explained


class LDAEvaluator(Evaluator, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]  # untyped
    """The log probability of a held-out token by its document's others; larger is better.

    Parameters
    ----------
    scoreCol : str
        The column that models were told to add by their `scoreCol`; by default "score".
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
                f"is {name!r}, which the table does not have; give LDA the same scoreCol.",
                "scoreCol",
            )
        sums = dataset.select(f"`{name}`.*").agg(added("log_probability"), added("n_tokens"))
        with explained():
            log_probability, n_tokens = sums.toArrow().to_pylist()[0].values()
        if not n_tokens:
            raise InputError("The table has no document of at least two tokens to score.")
        return float(log_probability / n_tokens)

    def isLargerBetter(self) -> bool:  # noqa: N802
        """Return True."""
        return True
