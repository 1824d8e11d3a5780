"""The served model: prepared once, and replaced atomically by a newer model."""

import json
import logging
import math
import threading
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opelda.corpus._document_counts import count_words
from opelda.corpus._matrix import remap_columns, row_sums
from opelda.engines.seam import EVERYTHING, FEW_TOPICS, MIXTURES, SPARSE
from opelda.errors import InputError, OpeldaError
from opelda.learning._learner import Learner
from opelda.learning.persistence._model_arrays import as_parts
from opelda.model_file import followed, read, stamp_of
from opelda.report import topic_table, write_report
from opelda.report.page._write import model_page

N_WORDS, N_WORDS_ALONE = 10, 50  # words of each topic in the list, and of a single topic
POLL = 1.0  # seconds between two looks at the file

logger = logging.getLogger("opelda.serve")


class Asked(NamedTuple):
    """Options of a request for mixtures."""

    top: int | None = None  # topics of a document at most
    min_weight: float = 0.01
    certificate: bool = True


class Mixtures(NamedTuple):
    """Mixtures of some texts; the loss is None without certificates."""

    theta: NDArray[np.float32]
    tokens: NDArray[np.float64]
    unknown: NDArray[np.float64]
    loss: NDArray[np.float64] | None


class Served:
    """A model with its version, its topics and their labels; it never changes."""

    def __init__(self, model: Any, checksum: int, name: str) -> None:
        if model._state.vocabulary is None:
            raise InputError(
                "The model learned from counts and has no words for texts; fit a model on "
                "texts or a corpus."
            )
        self.model = model.set_params(sparse_output=False)
        self.version, self.name = f"{checksum:08x}", name
        self.topics = _topics(model)
        labels = [json.dumps(topic["label"], ensure_ascii=False) for topic in self.topics]
        self._heads = [f'{{"topic":{k},"label":{x},"weight":' for k, x in enumerate(labels)]
        self.infer([" ".join(self.topics[0]["words"])], True)  # makes tables for the first request

    def facts(self) -> dict[str, Any]:
        """Return the name, the learner and the sizes of the model."""
        return {
            "name": self.name,
            "learner": type(self.model).__name__,
            "topics": len(self.topics),
            "words": int(self.model.n_features_in_),
            "documents": int(self.model.n_docs_),
        }

    def infer(self, texts: list[str], certified: bool) -> Mixtures:
        """Infer mixtures; the mixture of a text does not depend on other texts."""
        words = self.model._state.vocabulary
        counted = count_words(texts, "Text {}".format, words.tokenizer.decided)
        X, _ = remap_columns(counted.counts, words.columns(counted.words), len(words))
        wanted = (EVERYTHING, SPARSE) if certified else (MIXTURES, FEW_TOPICS)
        _, found, _ = self.model._inferred(X, *wanted)
        tokens = row_sums(X)
        unknown = row_sums(counted.counts) - tokens
        return Mixtures(np.asarray(found.theta), tokens, unknown, found.loss if certified else None)

    def written(self, found: Mixtures, first: int, end: int, asked: Asked) -> bytes:
        """Return documents from one row to another as JSON, separated by commas."""
        theta = found.theta[first:end]
        keep = theta >= asked.min_weight
        keep[np.arange(len(keep)), theta.argmax(axis=1)] = True
        keep[found.tokens[first:end] == 0] = False  # a text without known words has no topics
        rows, topics = np.nonzero(keep)
        weights = theta[rows, topics]
        order = np.lexsort((topics, -weights, rows))  # a document's heaviest topic first
        said = [
            f"{self._heads[k]}{weight:.6g}}}"
            for k, weight in zip(topics[order].tolist(), weights[order].tolist(), strict=True)
        ]
        ends = np.cumsum(keep.sum(axis=1)).tolist()
        documents = []
        for row, (begin, stop) in enumerate(pairwise([0, *ends]), first):
            loss = ""
            if found.loss is not None:
                loss = f',"loss":{json.dumps(rounded_up(float(found.loss[row])))}'
            documents.append(
                f'{{"tokens":{found.tokens[row]:.0f},"unknown_tokens":{found.unknown[row]:.0f},'
                f'"topics":[{",".join(said[begin:stop][: asked.top])}]{loss}}}'
            )
        return ",".join(documents).encode()

    def page(self, corpus: Any) -> bytes:
        """Return the page about the model and the documents of `corpus`, if given."""
        if corpus is None:
            return model_page(self.model, self.name, self.name).encode()
        with TemporaryDirectory(prefix="opelda-") as folder:
            path = Path(folder, "page.html")
            return write_report(self.model, corpus, path, name=self.name).read_bytes()


class Newest:
    """Holds the served model; an unreadable new file keeps the former model."""

    def __init__(self, model: Any, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._path: Path | None = None
        if isinstance(model, Learner):
            with model._learned().lock:  # another thread may be learning on it
                own, checksum = deepcopy(model), as_parts(model)[1]["checksum"]
            self._name = type(model).__name__
        else:
            self._path = Path(model)
            self._name = self._path.name
            stamp = stamp_of(self._path)  # older than the model read after it
            own, checksum = read(self._path)
            self._later = followed(
                self._path,
                POLL,
                since=(stamp, checksum),
                wait=self._stop.wait,
                complain=self._complain,
            )
        self.served = self._made(own, checksum)

    def follow(self) -> None:
        """Start watching the file for changes.

        In the process that serves: threads do not survive a fork.
        """
        if self._thread is None and self._path is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True, name="opelda-follow")
            self._thread.start()

    def close(self) -> None:
        """Stop watching the file."""
        self._stop.set()

    def _made(self, model: Any, checksum: int) -> Served:
        return Served(model.set_params(**self._settings), checksum, self._name)

    def _watch(self) -> None:
        for model, checksum in self._later:
            try:
                self.served = self._made(model, checksum)
            except Exception as error:
                self._complain(error)
            else:
                logger.info("%s was replaced; %s answers now.", self._path, self.served.version)

    def _complain(self, error: Exception) -> None:
        what = str(error) if isinstance(error, OpeldaError) else type(error).__name__
        logger.error("%s continues to answer: %s", self.served.version, what)


def _topics(model: Any) -> list[dict[str, Any]]:
    coherence = model.coherence_
    return [
        {
            "topic": row.topic,
            "label": row.label,
            "share": None if row.weight is None else round(row.weight, 6),
            "coherence": None if coherence is None else round(float(coherence[row.topic]), 4),
            "words": list(row.words),
            "probabilities": [float(f"{p:.4g}") for p in row.probabilities],
        }
        for row in topic_table(model, N_WORDS_ALONE)
    ]


def rounded_up(loss: float) -> float | None:
    """Return a bound rounded up to six digits; None if it is infinite.

    >>> rounded_up(0.0012345678), rounded_up(float("inf"))
    (0.001235, None)
    """
    return math.ceil(loss * 1e6) / 1e6 if math.isfinite(loss) else None
