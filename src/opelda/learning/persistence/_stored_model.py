"""The content of a model file, checked; with its topics as tables, by NumPy and safetensors alone.

`opelda topics` starts in a quarter of the time that importing the learners takes.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opelda import _store
from opelda._validation import number, whole
from opelda._word_ranking import LAMBDA, Rank, ranked, word_labels
from opelda.corpus._word_columns import unpack_words
from opelda.errors import ModelFileError
from opelda.learning._part import STABILITY, Arrays, Header, Part
from opelda.learning.editing._edit import LABELS

KIND = "opelda model"
FORMAT = 2
CHECKPOINT_FILE = "checkpoint.opelda"


class StoredTopic(NamedTuple):
    """One topic of a model file, with the attributes of `opelda.report.TopicRow`."""

    topic: int
    weight: float | None
    label: str
    words: tuple[str, ...]
    probabilities: tuple[float, ...]
    stability: float | None = None
    low: float | None = None
    high: float | None = None
    lows: tuple[float, ...] | None = None
    highs: tuple[float, ...] | None = None


def model_path(path: str | PathLike[str]) -> Path:
    """Return the file that holds a model: the path itself, or a checkpoint folder's file."""
    given = _store.as_path(path)
    if given.is_dir() and not (given / CHECKPOINT_FILE).exists():
        raise ModelFileError(f"{given} is a folder without a checkpoint; pass a model file.")
    return given / CHECKPOINT_FILE if given.is_dir() else given


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Turn the error of a check into the error of the file that holds the value."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(
            f"{path} is not a model this version can use: {shortened(str(error), 250)}; save the "
            "model again."
        ) from None


def shortened(value: Any, length: int = 60) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text.rstrip(".") if len(text) <= length else text[: length - 3] + "..."


def are_divisible(totals: NDArray[np.float64]) -> bool:
    """Whether single precision can divide by every topic's total weight."""
    return bool(((totals >= 1e-35) & (totals <= 1e35)).all())  # NaN is neither


def checksum(arrays: Arrays, header: Header) -> int:
    """Return the CRC-32 of everything but the checksum."""
    rest = {name: value for name, value in header.items() if name != "checksum"}
    crc = zlib.crc32(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        said = f"{name} {array.dtype.name} {array.shape}"
        crc = zlib.crc32(said.encode(), crc)
        crc = zlib.crc32(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data, crc)
    return crc


class StoredWeights(NamedTuple):
    """The weights of a file, as `HostWeights` has them, and the topics' totals."""

    rows: NDArray[np.float32]
    prior: Any
    scale: float
    prior_weight: float
    sums: NDArray[np.float64]
    totals: NDArray[np.float64]


@dataclass(frozen=True)
class StoredModel:
    """The arrays and the header of a model file; its methods raise `ValueError` for damage."""

    arrays: Arrays
    header: Header
    version: int
    path: Path

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "StoredModel":
        """Read a model file or a checkpoint folder; the checksum must match."""
        source = model_path(path)
        arrays, header, version = _store.read(source, kind=KIND, newest=FORMAT)
        if header.get("checksum") != checksum(arrays, header):
            raise ModelFileError(
                f"{source}: checksum mismatch, the file is corrupted; restore it from a backup or "
                "train again."
            )
        return cls(arrays, header, version, source)

    def array(self, name: str, dtype: type, ndim: int | None = None) -> NDArray[Any]:
        """Return an array of a type."""
        array = self.arrays.get(name)
        if array is None or array.dtype != dtype or (ndim is not None and array.ndim != ndim):
            raise ValueError(f"its array {name!r} is missing or of another type")
        return array

    def part(self, name: str) -> Arrays:
        """Return the arrays with the prefix ``name.``."""
        prefix = name + "."
        return {k.removeprefix(prefix): v for k, v in self.arrays.items() if k.startswith(prefix)}

    def json(self, name: str) -> Header:
        """Return a JSON object of the header."""
        found = self.header.get(name)
        if not isinstance(found, dict):
            raise ValueError(f"its {name} is {shortened(found)}")
        return found

    def count(self, name: str, most: int = 2**62) -> int:
        """Return a whole number of the header."""
        return whole(name, self.header.get(name), 0, most)

    def number(self, name: str, most: float = 1e300, least: float = 0.0) -> float:
        """Return a number of the header."""
        return number(name, self.header.get(name), least, most)

    @cached_property
    def n_topics(self) -> int:
        return whole("n_topics", self.header.get("n_topics"))

    @cached_property
    def weights(self) -> StoredWeights:
        n_topics, words = self.n_topics, self.count("n_features_in", 2**31)
        width = -(-n_topics // 16) * 16 if self.version == 1 else n_topics  # with padding

        def table(name: str) -> NDArray[np.float32]:
            array = self.array(name, np.float32, 2)
            if array.shape != (words, width) or array[:, n_topics:].any():
                raise ValueError(f"its {name} have the wrong shape")
            return array[:, :n_topics]

        rows = table("rows")
        # NaN fails both comparisons; comparing every entry would need an array of this shape
        if rows.size and not (rows.min() >= 0 and rows.max() < np.inf):
            raise ValueError("its topics have negative, infinite or NaN weights")
        prior: Any
        if "prior" not in self.arrays:
            prior = number("prior", self.header.get("prior"), 0.0, 1e6, above=True)
            of_prior = words * prior
        else:
            is_table = self.arrays["prior"].ndim == 2
            prior = table("prior") if is_table else self.array("prior", np.float32, 1)
            if len(prior) != words or not ((prior > 0) & (prior <= 1e6)).all():
                raise ValueError("its prior holds values out of range")
            of_prior = prior.sum(axis=0, dtype=float)
        scale, prior_weight = self.number("scale", 1.0, 1e-6), self.number("prior_weight", 1e12)
        sums = self.array("sums", np.float64, 1)
        if len(sums) != n_topics or not np.isfinite(sums).all():
            raise ValueError("its sums have the wrong length")
        totals = scale * sums + prior_weight * of_prior
        off = np.abs(rows.sum(axis=0, dtype=np.float64) - sums) * scale
        if words and not (are_divisible(totals) and (off <= 1e-3 * totals).all()):
            raise ValueError("its topics do not add up to their sums")
        return StoredWeights(rows, prior, scale, prior_weight, sums, totals)

    @cached_property
    def names(self) -> list[str] | None:
        """The names of the columns that the model was fitted on."""
        return self._words("feature_names")

    @cached_property
    def words(self) -> Sequence[str] | None:
        vocabulary = self._words("vocabulary")
        return self.names if vocabulary is None else vocabulary

    def _words(self, name: str) -> list[str] | None:
        part = self.part(name)
        words = unpack_words(part) if part else None
        if words is not None and len(words) != len(self.weights.rows):
            raise ValueError("its vocabulary and its topics have different sizes")
        return words

    def value(self, name: str, part: Part) -> Any:
        """Return a part of the model's state, or None."""
        arrays = self.part(name) | ({"": self.arrays[name]} if name in self.arrays else {})
        if name not in self.header if part.has_header else not arrays:
            return None
        said = self.json(name) if part.has_header else {}
        return part.load(arrays, said, (len(self.weights.rows), self.n_topics))

    @property
    def shares(self) -> NDArray[np.float64] | None:
        """The topics' shares of the tokens, which the ML rule does not keep."""
        if self.header.get("class") == "MLOPE" or self.json("parameters").get("learning") == "ml":
            return None
        mass = np.maximum(self.weights.sums, 0.0)
        if not self.count("n_updates") or not mass.any():
            mass = np.ones(self.n_topics)
        shares: NDArray[np.float64] = mass / mass.sum()
        return shares

    @cached_property
    def components(self) -> NDArray[np.float32]:
        """The topics (K, V), as `components_` of the model has them but for rounding."""
        rows, prior, *numbers, _, totals = self.weights
        found, prior = np.empty(rows.shape, np.float32), np.asarray(prior, np.float32)
        inverse = (1.0 / totals).astype(np.float32)
        scale, prior_weight = map(np.float32, numbers)
        for first in range(0, len(rows), 4096):
            words = slice(first, first + 4096)
            of_prior = prior_weight * (prior[words] if prior.ndim else prior)
            of_prior = of_prior[:, np.newaxis] if prior.ndim == 1 else of_prior
            # in double precision, rounded once: as engines multiply and add
            weights = rows[words].astype(np.float64) * scale + of_prior
            part = weights.astype(np.float32) * inverse
            part[part < 1e-15] = 0.0  # as engines do
            part[~part.any(axis=1)] = 1e-15
            found[words] = part
        return found.T

    @property
    def has_seed_words(self) -> bool:
        """Whether labels depend on seed words, which takes the model and its tokenizer."""
        parameters = self.json("parameters")
        return any(parameters.get(name) is not None for name in ("seeds", "seed_words"))

    def topics(
        self,
        n_words: int = 10,
        *,
        by: Rank = "relevance",
        lambda_: float = LAMBDA,
        only: Iterable[int] | None = None,
    ) -> list[StoredTopic]:
        """Return the rows of `opelda.report.topic_table`, by any rank but coherence."""
        with blaming(self.path):
            table, shares, words = self.components, self.shares, self.words
            given, stability = self.value("labels", LABELS), self.value("stability", STABILITY)
            packed = self.part("vocabulary.adjacent")
            phrases = unpack_words(packed) if packed else ()
        n_topics, n_columns = table.shape
        wanted = [whole("only", k, 0, n_topics - 1) for k in (only or range(n_topics))]
        words = [f"x{j}" for j in range(n_columns)] if words is None else words
        weights = np.ones(n_topics) if shares is None else shares
        weights = weights / weights.sum()
        best = ranked(table, min(whole("n_words", n_words), n_columns), by, weights, lambda_)
        labels = dict(enumerate(word_labels(table, words, phrases=phrases))) | (given or {})
        return [
            StoredTopic(
                k,
                None if shares is None else float(shares[k]),
                labels[k],
                tuple(words[j] for j in best[k]),
                tuple(float(p) for p in table[k, best[k]]),
                None if stability is None else float(stability[k]),
            )
            for k in wanted
        ]
