"""Values that options can have, known without importing what they choose."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import opelda
from opelda.errors import InputError

PRESETS = {
    "best": "the best topics that were measured",
    "fast": "good topics in a fraction of the time",
    "paper": "the settings of the paper's experiments",
}
ENGINES = ("cpu", "reference")
TRANSFORM_METHODS = (
    "same", "ope", "em", "vb", "cvb", "cvb0", "cgs", "fw", "ofw", "cccp", "smm", "tli", "pmd",
    "hamcmc",
)  # fmt: skip
FORMATS = {
    "lines": "a document a line",
    "files": "a folder, a document a file",
    "jsonl": "JSON Lines",
    "csv": "comma-separated values",
    "tsv": "tab-separated values",
    "parquet": "Apache Parquet",
    "mallet": "name, label and text a line",
    "vw": "Vowpal Wabbit's text form",
    "uci": "UCI bag of words (docword)",
    "ldac": "Blei's LDA-C",
    "mm": "Matrix Market",
    "npz": "scipy's sparse matrices",
}

Completion = Callable[[str], Iterator[Any]]


def dashed(class_name: str) -> str:
    """Return what the command line calls a learner.

    >>> dashed("MLOPE"), dashed("OnlineCVB0"), dashed("TopicModel")
    ('ml-ope', 'online-cvb0', 'topic-model')
    """
    return re.sub("^(ML|[A-Z][a-z]+)", r"\1-", class_name).lower()


# the paper's seven: the command line's name -> class
LEARNERS = {dashed(name): name for name in opelda._LEARNERS if name != "TopicModel"}


def learner_class(name: str) -> Any:
    """Return the class of a learner's name on the command line."""
    if name not in LEARNERS:
        raise InputError(f"must be one of {', '.join(LEARNERS)}, not {name!r}.", "learner")
    return getattr(opelda, LEARNERS[name])


def learner_name(model: Any) -> str:
    """Return what the command line calls a model's learner."""
    return dashed(type(model).__name__)


def complete_preset(incomplete: str) -> Iterator[tuple[str, str]]:
    """Offer the presets that begin so."""
    return ((name, text) for name, text in PRESETS.items() if name.startswith(incomplete))


def complete_format(incomplete: str) -> Iterator[tuple[str, str]]:
    """Offer the formats that begin so."""
    return ((name, text) for name, text in FORMATS.items() if name.startswith(incomplete))


def complete_model(incomplete: str) -> Iterator[str]:
    """Offer model files, and folders that may hold some."""
    at = incomplete.rfind("/") + 1
    folder = incomplete[:at]
    try:
        entries = sorted(Path(folder or ".").iterdir())
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") and not incomplete[at:].startswith(".")
        if hidden or not entry.name.startswith(incomplete[at:]):
            continue
        if entry.is_dir():
            yield f"{folder}{entry.name}/"
        elif entry.suffix == ".opelda":
            yield folder + entry.name


def one_of(*names: str) -> Completion:
    """Offer a few names."""

    def complete(incomplete: str) -> Iterator[str]:
        return (name for name in names if name.startswith(incomplete))

    return complete
