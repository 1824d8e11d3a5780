"""What options can be chosen from, known without importing what they choose."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from opelda.errors import InputError

# command line's name -> class and what it is
LEARNERS = {
    "online-ope": ("OnlineOPE", "OPE inference, stochastic variational updates"),
    "ml-ope": ("MLOPE", "OPE inference, maximum likelihood topics"),
    "streaming-ope": ("StreamingOPE", "OPE inference, streaming Bayes"),
    "online-vb": ("OnlineVB", "variational Bayes, stochastic updates"),
    "streaming-vb": ("StreamingVB", "variational Bayes, streaming"),
    "online-cvb0": ("OnlineCVB0", "collapsed variational inference of order zero"),
    "online-cgs": ("OnlineCGS", "Gibbs sampling within, variational updates"),
}

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


def learner_class(name: str) -> Any:
    """Return the class of a learner's name on the command line."""
    if name not in LEARNERS:
        raise InputError(f"There is no learner {name!r}; choose one of {', '.join(LEARNERS)}.")
    import opelda

    return getattr(opelda, LEARNERS[name][0])


def learner_name(model: Any) -> str:
    """Return what the command line calls a model's learner."""
    name = type(model).__name__
    return next((key for key, (cls, _) in LEARNERS.items() if cls == name), name)


def complete_learner(incomplete: str) -> Iterator[tuple[str, str]]:
    """Offer the learners that begin so."""
    return ((name, text) for name, (_, text) in LEARNERS.items() if name.startswith(incomplete))


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
