"""Failures of executors, in one sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opelda.errors import EngineError, InputError


class LostError(EngineError):
    """The executor that held documents was lost."""


@contextmanager
def explained() -> Iterator[None]:
    """Raise known failures of a job as errors in a sentence."""
    try:
        yield
    except Exception as error:
        found = _sentence(str(error))
        if found is None:
            raise
        raise found from None


def last_batch(position: Any, folder: Path) -> int:
    """Return the number of a checkpoint's last micro-batch; -1 for none."""
    match position:
        case None:
            return -1
        case {"batch": int(number)}:
            return number
    raise InputError(
        f"{folder} has a checkpoint of another stream, not of opelda.spark.learn; choose another "
        "path."
    )


def _sentence(text: str) -> Exception | None:
    if "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in text or "Checkpoint block rdd" in text:
        return LostError("An executor that held documents was lost.")
    said = re.search(r"opelda\.errors\.InputError: (.+)", text)
    if said:
        return InputError(said[1].strip())
    missing = re.search(r"ModuleNotFoundError: No module named '(\w+)", text)
    if missing and missing[1] in ("opelda", "pyarrow", "numpy", "scipy", "polars", "pandas"):
        return EngineError(
            f"The executors have no module {missing[1]}; install it in their Python "
            "(PYSPARK_PYTHON) or in their image, or ship an environment packed by conda-pack with "
            "addArtifacts."
        )
    if "PYTHON_VERSION_MISMATCH" in text:
        return EngineError(
            "Python version mismatch between the executors and the driver; set PYSPARK_PYTHON to a "
            "Python of the driver's version."
        )
    if "spark.driver.maxResultSize" in text:
        return EngineError(
            "The sample of documents exceeds spark.driver.maxResultSize; increase that limit, or "
            "decrease sampleSize and localDocs."
        )
    return None
