"""The arrays of a page: topics and documents as gzipped little-endian bytes in base64."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._word_ranking import SMALLEST
from opelda.report.page._gathered import Gathered

LEVELS = 65_535  # of 16 bits
SHOWN = 30  # words of a topic that a page shows at a time


def as_base64(values: Any, dtype: Any) -> str:
    """Return an array's bytes as base64.

    >>> as_base64([1, 2], np.uint8)
    'AQI='
    """
    return base64.b64encode(_bytes(np.asarray(values, dtype))).decode()


def packed(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a header and arrays as gzipped bytes in base64; the same values, the same bytes.

    A line of JSON, with names, types and lengths of the arrays, and then the arrays, aligned to
    eight bytes, as typed arrays in a page need.
    """
    listed = [[name, array.dtype.name, int(array.size)] for name, array in arrays.items()]
    line = json.dumps({**header, "arrays": listed}).encode()
    parts = [line + b" " * (-(len(line) + 1) % 8) + b"\n"]
    for array in arrays.values():
        data = _bytes(array)
        parts += [data, bytes(-len(data) % 8)]
    return base64.b64encode(gzip.compress(b"".join(parts), 6, mtime=0)).decode()


def joined(texts: Any, separator: str) -> NDArray[np.uint8]:
    return np.frombuffer(separator.join(texts).encode("utf-8", "replace"), np.uint8)


def _bytes(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


@dataclass(frozen=True)
class ExportedTopics:
    """For each word its most probable topics, and one probability for all other topics."""

    offsets: NDArray[np.int64]  # (V + 1,)
    topic: NDArray[np.uint16]  # ascending for each word
    log_value: NDArray[np.float32]  # log p(w|t)
    rest: NDArray[np.float32]  # (V,), the mean of p(w|t) over the topics that are not listed
    ratio: float  # entries below this part of the word's largest are left out

    @classmethod
    def of(cls, topics: NDArray[Any], most: int = 4_000_000) -> "ExportedTopics":
        """Keep at most `most` entries of topics (K, V), the largest of each word.

        An entry has 4 bytes, about 3 when compressed.
        """
        ratio = 0.0
        if topics.size > most:  # the smallest ratio that keeps few enough entries
            ratios = 10.0 ** -np.arange(0.25, 8.25, 0.25)
            n = np.zeros(len(ratios), np.int64)
            for words in _pieces(topics):
                relative = words / np.maximum(words.max(axis=1, keepdims=True), SMALLEST)
                n += [int((relative >= each).sum()) for each in ratios]
            ratio = float(ratios[n <= most].min(initial=1.0))
        parts = []
        for words in _pieces(topics):
            keep = words > 0 if not ratio else words >= ratio * words.max(axis=1, keepdims=True)
            rest = np.where(keep, 0.0, words).sum(axis=1) / np.maximum((~keep).sum(axis=1), 1)
            row, topic = np.nonzero(keep)
            logs = np.log(np.maximum(words[row, topic], SMALLEST)).astype(np.float32)
            parts.append((keep.sum(1), topic.astype(np.uint16), logs, rest.astype(np.float32)))
        counts, listed, values, rests = (np.concatenate(part) for part in zip(*parts, strict=True))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(offsets, listed, values, rests, ratio)

    def packed(self, words: Any, n_topics: int) -> str:
        """Return the topics for the page's own inference, in 16 bits a probability."""
        low = float(self.log_value.min()) if len(self.log_value) else -1.0
        step = max(-low, 1e-6) / LEVELS
        value = np.clip(np.rint((self.log_value - low) / step), 0, LEVELS).astype(np.uint16)
        header = {"n_words": len(self.rest), "low": low, "step": step, "n_topics": n_topics}
        arrays = {
            "vocabulary": joined((str(word).replace("\0", " ") for word in words), "\0"),
            "offsets": self.offsets.astype(np.uint32),
            "topic": self.topic,
            "value": value,
            "rest": self.rest,
        }
        return packed(header, arrays)

    def ranked_words(
        self, n_topics: int, marginal: NDArray[np.float64]
    ) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Return each topic's best words by relevance for any lambda (`rank_words`), and p(w|t)."""
        all_words = np.repeat(np.arange(len(self.rest)), np.diff(self.offsets))
        order = np.argsort(self.topic, kind="stable")
        ends = np.searchsorted(self.topic[order], np.arange(1, n_topics))
        logs = np.log(np.maximum(marginal, SMALLEST))
        found = []
        for mine in np.split(order, ends):
            words, values = all_words[mine], self.log_value[mine].astype(np.float64)
            chosen = np.zeros(len(words), np.bool_)
            n = min(SHOWN, len(words))
            for part in 1.0 - np.linspace(0.0, 1.0, 21) if n else ():
                score = values - part * logs[words]
                chosen[np.argpartition(-score, n - 1)[:n]] = True
            found.append((words[chosen], np.exp(values[chosen])))
        return found


def _pieces(topics: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    size = max(1, 2**22 // len(topics))
    for start in range(0, topics.shape[1], size):
        yield np.ascontiguousarray(topics[:, start : start + size].T, np.float64)


def documents(found: Gathered, meta: dict[str, Any]) -> str:
    entries = list(found.entries.values())
    index = {number: i for i, number in enumerate(found.entries)}
    typical = [[index[n] for n in row if n in index] for row in found.typical]
    told = [i for i, entry in enumerate(entries) if entry.text is not None or entry.counts]
    shares: dict[str, list[Any]] = {
        "weight": [entry.weights for entry in entries],
        "low": [entry.low for entry in entries],
        "high": [entry.high for entry in entries],
        "main": [[entry.main] for entry in entries],
    }
    arrays: dict[str, NDArray[Any]] = {
        "names": joined((" ".join(str(entry.name).split())[:500] for entry in entries), "\n"),
        "number": np.array(list(index), np.uint32),
        **_ragged("offsets", "topic", [entry.topics for entry in entries], np.uint16),
        **{name: _levels(parts) for name, parts in shares.items()},
        "tokens": np.array([entry.tokens for entry in entries], np.float32),
        "loss": np.array([entry.loss for entry in entries], np.float32),
        **_ragged("typical_offsets", "typical", typical, np.uint32),
        "text_of": np.array(told, np.uint32),
    }
    for name, sums in (("time", found.bins), ("period", found.periods)):
        if sums is not None:
            bins = {start: i for i, start in enumerate(sorted(sums.sums))}
            arrays[name] = np.array([bins.get(sums.key(e.time), -1) for e in entries], np.int16)
    if meta["groups"] is not None:
        groups = {name: i for i, name in enumerate(meta["groups"]["names"])}
        arrays["group"] = np.array([groups.get(entry.group, -1) for entry in entries], np.int16)
    if found.texts_are_known:
        arrays["texts"] = joined(((entries[i].text or "").replace("\0", " ") for i in told), "\0")
    else:
        counts: list[Any] = [entries[i].counts or ([], []) for i in told]
        arrays |= _ragged("count_offsets", "count_words", [ids for ids, _ in counts], np.uint32)
        arrays["counts"] = np.concatenate([[], *(n for _, n in counts)]).astype(np.float32)
    return packed({"n_docs": len(entries)}, arrays)


def _levels(parts: list[Any]) -> NDArray[np.uint16]:
    """Return shares as whole numbers."""
    found: NDArray[np.uint16] = np.rint(np.concatenate([[], *parts]) * LEVELS).astype(np.uint16)
    return found


def _ragged(ends: str, name: str, parts: Any, dtype: Any) -> dict[str, NDArray[Any]]:
    """Return the ends of parts of different lengths, and the parts in one array."""
    offsets = np.cumsum([0, *map(len, parts)]).astype(np.uint32)
    return {ends: offsets, name: np.concatenate([[], *parts]).astype(dtype)}
