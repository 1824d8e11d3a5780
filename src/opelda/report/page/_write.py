"""The page: one HTML file that shows a model and works offline."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from opelda.corpus import stream
from opelda.corpus.formats._writing import write_in_one_step
from opelda.errors import InputError
from opelda.metrics import log_predictive_probability, match_topics, npmi, topic_diversity
from opelda.metrics._matching import similarities
from opelda.report._map import map_positions
from opelda.report._ranking import topic_weights
from opelda.report.page import _payload as payload
from opelda.report.page._exported import ExportedTopics
from opelda.report.page._gathered import Gathered
from opelda.report.page._packing import as_base64

BLOCK = 4096
SCORED = 1_000  # documents
N_TYPICAL, MANY_TOPICS, N_TYPICAL_OF_MANY = 10, 200, 4
N_COMPARED_WORDS = 12
# Beyond so many weights, or with fewer documents a topic, topics are not learned anew.
LARGEST_LEARNED_ANEW, LEAST_DOCUMENTS = 20_000_000, 10
STABILITY = (
    "How alike the topic is to the one it matches when topics are learned anew from {n:,} of the "
    "documents, with another seed: the cosine of their words' probabilities."
)
# Facts that a model alone does not have.
NOT_KNOWN = ("score", "coherence", "guarantee", "time", "groups", "stability", "compare", "live")
POLICY = "img-src data: blob:; base-uri 'none'; form-action 'none'"


def write_report(
    model: Any,
    corpus: Any,
    path: str | PathLike[str],
    *,
    title: str | None = None,
    name: str = "model.opelda",
    time: str | None = None,
    group: str | None = None,
    compare: Any = None,
    compare_name: str = "the other model",
    held_out: Any = None,
    stability: bool = True,
    progress: Callable[[str, int], None] | None = None,
    **reading: Any,
) -> Path:
    """Write a page about a model and documents: one HTML file that works offline.

    Parameters
    ----------
    model : fitted learner of opelda
    corpus : documents
        A `Corpus`, or anything that `opelda.corpus.stream` reads; texts are shown where there are
        any. They are read once, in bounded memory.
    path : path
        The file, which appears in one step.
    title : str, optional
        By default the corpus's name, where it is a file or a folder.
    name : str
        What the page calls the model.
    time, group : str, optional
        Columns of the documents' times and groups, for topics over time and by group; found by
        their usual names, such as "date" and "section", if not given.
    compare : fitted learner, optional
        Another model, whose topics are shown beside those they match.
    held_out : counts, Corpus or texts, optional
        Documents that the model has not learned from, for the score; by default 1,000 of `corpus`.
    stability : bool
        Whether to learn topics anew from up to 10,000 of the documents with another seed, to see
        which come again.
    progress : callable, optional
        Called with what is done and the documents done so far.
    **reading
        As for `opelda.corpus.stream`, such as ``text_column``.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from opelda import TopicModel
    >>> from opelda.report import write_report
    >>> texts = ["cats chase dogs", "dogs chase cats", "bonds rise", "bonds fall"] * 20
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> page = write_report(model, texts, f"{tempfile.mkdtemp()}/report.html")
    >>> "<noscript>" in page.read_text()
    True
    """
    tell = progress or (lambda doing, n_docs: None)
    topics = np.asarray(model.components_)
    metadata = [column for column in (time, group) if column is not None] or "auto"
    vocabulary, n_words = model._state.vocabulary, int(model.n_features_in_)
    opened = stream(corpus, batch_size=BLOCK, vocabulary=vocabulary, metadata=metadata, **reading)
    batches = opened.batches(vocabulary, n_words, learn=False)
    n_typical = N_TYPICAL if len(topics) <= MANY_TOPICS else N_TYPICAL_OF_MANY
    found = Gathered(model, n_typical, time=time, group=group)
    for batch in batches:
        found.add(batch)
        tell("inferring", found.n_docs)
    if not found.n_docs:
        raise InputError(f"{opened.label} holds no documents; look at what is in there.")
    found.prune()
    tell("measuring", found.n_docs)
    meta, more = _facts(model, topics, found, held_out, stability=stability)
    where = re.split(r"[/\\\\]", opened.label)[-1] if isinstance(corpus, str | PathLike) else ""
    meta["title"] = title or where or "Topics"
    meta["model"]["name"] = name
    meta["corpus"] = {"name": where} | _corpus_facts(opened, found)
    if compare is not None:
        meta["compare"] = _compared(model, compare, compare_name)
    with write_in_one_step(path) as file:
        file.write(page(meta, **more).encode())
    return Path(path)


def page(meta: dict[str, Any], **data: str) -> str:
    """Return the page of a model's facts, with arrays by their names."""
    assets = files("opelda.report.page")
    style, script, text = (
        assets.joinpath(f"page.{k}").read_text("utf-8") for k in ("css", "js", "html")
    )
    sources = f"script-src {_digest(script)}; style-src {_digest(style)}"
    connect = "; connect-src 'self'" if meta.get("live") else ""
    elements = [("meta", "application/json", as_json(meta))]
    elements += [(name, "text/plain", packed) for name, packed in data.items()]
    parts = {
        "policy": f"default-src 'none'; {sources}; {POLICY}{connect}",
        "title": html.escape(meta["title"]),
        "style": style,
        "script": script,
        "data": "\n".join(
            f'<script type="{kind}" id="{name}">{text}</script>' for name, kind, text in elements
        ),
    }
    # all in one go: what is put in is not looked at again
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text)


def as_json(meta: dict[str, Any]) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(meta, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace").decode().replace("<", "\\u003c")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _facts(
    model: Any, topics: NDArray[Any], found: Gathered, held_out: Any, *, stability: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the first view shows, and the arrays of the others."""
    shares = topic_weights(model)
    weights = found.mass / max(found.mass.sum(), 1e-300) if shares is None else shares
    kept, sample = ExportedTopics.of(topics), found.sample()
    coherence, of = model.coherence_, "the documents that the model learned from"
    if coherence is None and sample.shape[0]:
        coherence, of = npmi(model, sample), f"{sample.shape[0]:,} of the documents shown"
    again = _stability(model, topics, sample) if stability else None
    limit = found.shorten()
    score = _score(model, sample if held_out is None else held_out)
    meta = model_facts(model, topics, weights, kept, coherence, again) | {
        "score": score and score | {"held_out": held_out is not None},
        "coherence": None if coherence is None else {"mean": float(np.mean(coherence)), "of": of},
        "guarantee": payload.guarantee(found),
        "time": payload.over_time(found),
        "groups": payload.by_group(found),
        "stability": None if again is None else STABILITY.format(n=sample.shape[0]),
        "sampled": payload.sampled(found, limit, kept),
    }
    more = {
        "topics": payload.exported(kept, model._words(), len(topics)),
        "documents": payload.documents(found, meta),
    }
    return meta, more


def model_facts(
    model: Any,
    topics: NDArray[Any],
    weights: NDArray[np.float64],
    kept: ExportedTopics,
    coherence: NDArray[np.float64] | None = None,
    stability: NDArray[np.float64] | None = None,
    positions: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Return what a page says of a model, with nothing of any documents."""
    if positions is None:
        positions = map_positions(topics)
    return {
        "format": payload.FORMAT,
        **payload.stamp(),
        "model": payload.model_facts(model, "model"),
        "diversity": float(topic_diversity(model)),
        "curve": _curve(model),
        "topics": payload.topic_facts(
            model, weights, positions, alike(topics), coherence, stability
        ),
        **payload.word_facts(model._words(), kept, weights @ topics, len(topics)),
        "tokenizer": payload.tokenizing(model),
        "inference": payload.inferring(model),
        "sampled": [],
        **dict.fromkeys(NOT_KNOWN),
    }


def alike(topics: NDArray[Any]) -> NDArray[np.float64]:
    """Return how alike topics are, from 0 to 1: sum_w sqrt(p(w|s) p(w|t))."""
    roots = np.sqrt(np.asarray(topics, np.float32))
    found: NDArray[np.float64] = np.clip(roots @ roots.T, 0.0, 1.0).astype(np.float64)
    return found


def _score(model: Any, documents: Any) -> dict[str, Any] | None:
    if hasattr(documents, "shape"):
        documents = documents[:SCORED]
        if not documents.shape[0] or documents.sum(axis=1).max() < 2:
            return None
    found = log_predictive_probability(model, documents, random_state=model._state.seed)
    return payload.score_facts(found)


def _stability(model: Any, topics: NDArray[Any], sample: Any) -> NDArray[np.float64] | None:
    """Learn anew from the sample with another seed; return how alike the matched topics are."""
    if topics.size > LARGEST_LEARNED_ANEW or sample.shape[0] < LEAST_DOCUMENTS * len(topics):
        return None
    other = clone(model).set_params(random_state=model._state.seed % 2**31 + 1)
    other.set_params(callbacks=None, verbose=0, n_jobs=model.n_jobs, engine=model.engine)
    return match_topics(topics, other.fit(sample).components_)[1]


def _curve(model: Any) -> dict[str, Any] | None:
    points = model.learning_curve_
    if len(points) < 2:
        return None
    return {"of": model.learning_curve_of_, "points": [[int(n), float(y)] for n, y in points]}


def _corpus_facts(opened: Any, found: Gathered) -> dict[str, Any]:
    return {
        "n_docs": found.n_docs,
        "n_tokens": found.n_tokens,
        "n_unknown_tokens": found.n_unknown,
        "n_empty": found.n_empty,
        "n_skipped": opened.problems.n_skipped,
    }


def _compared(model: Any, other: Any, name: str) -> dict[str, Any]:
    """Return another model's topics, and which of them are which of this one's."""
    order, _ = match_topics(model, other)
    values = similarities(model, other)
    weights, coherence, labels = topic_weights(other), other.coherence_, other.topic_labels_
    pairs = [[k, int(j), round(float(values[k, j]), 3)] for k, j in enumerate(order) if j >= 0]
    return {
        "name": name,
        "n_topics": len(labels),
        "topics": [
            {
                "label": labels[k],
                "weight": None if weights is None else float(weights[k]),
                "coherence": None if coherence is None else float(coherence[k]),
                "words": words,
            }
            for k, words in enumerate(other.top_words(N_COMPARED_WORDS))
        ],
        "matches": pairs,
        "similarity": {
            "rows": values.shape[0],
            "columns": values.shape[1],
            "values": as_base64(np.rint(np.clip(values, 0, 1) * 255), np.uint8),
        },
    }
