"""opelda.spark without Spark, and its messages about failures; needs no Java."""

import subprocess
import sys

import pytest

import opelda.spark
from opelda import TopicModel
from opelda._validation import Every
from opelda.errors import EngineError, InputError
from opelda.learning.persistence._checkpoint import Checkpoint
from opelda.spark._errors import LostError, explained, last_batch
from tests.cases import cases


@pytest.mark.parametrize("make", [list, iter])
def test_checkpoint_of_another_stream_is_rejected(make, tmp_path):
    """As `learn` looks at a folder before its first micro-batch."""
    model = TopicModel(2, random_state=0)
    model.fit_stream(make(["tea cup"] * 9), checkpoint=tmp_path)
    with Checkpoint(tmp_path, (), Every("every", 1)) as saved:
        with pytest.raises(InputError, match=r"^\S+ has a checkpoint of another .* path\.$"):
            last_batch(saved.resume(model), tmp_path)
        saved.commit(model, {"batch": 7})
        assert last_batch(saved.resume(model), tmp_path) == 7
    assert last_batch(None, tmp_path) == -1


HIDING = """
import sys

class Hiding:
    def find_spec(self, name, *_):
        if name.split(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hiding())
import opelda.spark
assert dir(opelda.spark) == ["LDA", "LDAEvaluator", "LDAModel", "learn", "session"]
for name in dir(opelda.spark):
    try:
        getattr(opelda.spark, name)
    except opelda.errors.EngineError as error:
        print(error)
"""


@pytest.mark.parametrize(("missing", "n_needing"), [("pyspark", 5), ("pyarrow", 3)])
def test_missing_pyspark_error_explains_installation(missing, n_needing):
    command = [sys.executable, "-W", "ignore", "-c", HIDING.format(missing=missing)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    said = run.stdout.splitlines()
    assert len(said) >= n_needing
    assert set(said) <= {
        f"opelda.spark needs {name}, which is not installed; run pip install 'opelda[spark]'."
        for name in ("pyspark", missing)
    }


def test_unknown_attribute_of_spark_raises():
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        opelda.spark.other  # noqa: B018


FAILED = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/somewhere/pyspark.zip/pyspark/worker.py", line 4327, in invoke_udf
    run_process()
"""


@cases(
    ("text", "kind", "sentence"),
    [
        (
            "ModuleNotFoundError: No module named 'opelda'",
            EngineError,
            "The executors have no module op",
        ),
        (
            "ModuleNotFoundError: No module named 'polars'",
            EngineError,
            "The executors have no module po",
        ),
        ("[PYTHON_VERSION_MISMATCH] Python in worker", EngineError, "Python version mismatch"),
        (
            "Total size of serialized results of 4 tasks (1030.8 MiB) is bigger than "
            "spark.driver.maxResultSize 1024.0 MiB.",
            EngineError,
            "decrease sampleSize and localDocs",
        ),
        (
            "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_9_1 not found!",
            LostError,
            "was lost",
        ),
        ("opelda.errors.InputError: X has a count of -1.", InputError, "^X has a count of -1.$"),
    ],
)
def test_failures_of_executors_are_explained(text, kind, sentence):
    with pytest.raises(kind, match=sentence) as caught, explained():
        raise RuntimeError(FAILED + text + "\n\tat java.base/java.lang.Thread.run(Thread.java)")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["No module named 'theirs'", "anything else"])
def test_other_errors_are_unchanged(text):
    with pytest.raises(RuntimeError, match=text), explained():
        raise RuntimeError(f"{FAILED}ModuleNotFoundError: {text}")
