"""Facts of a model and of gathered documents, as a page states them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.corpus._matrix import row_sums
from opelda.errors import InputError
from opelda.learning._runs import another, compared_words, run_seeds
from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability, match_topics, topic_diversity
from opelda.metrics._matching import similarities, stability_over_runs
from opelda.metrics._ranking import topic_weights
from opelda.report._topic_map import map_positions
from opelda.report.page import _payload as payload
from opelda.report.page._encoded_arrays import as_base64
from opelda.report.page._exported import ExportedTopics
from opelda.report.page._gathered import Gathered

SCORED, LEAST_TOKENS = 1_000, 2  # documents, and words of each
N_COMPARED_WORDS = 12
# Beyond so many weights, or with fewer documents a topic, topics are not learned anew.
LARGEST_LEARNED_ANEW, LEAST_DOCUMENTS = 20_000_000, 10
STABILITY = (
    "Share of common words in the topic's twenty best words and those of the topic it matches when "
    "topics are learned anew with {}."
)
# Facts that a model alone does not have.
NOT_KNOWN = ("score", "coherence", "guarantee", "time", "groups", "stability", "compare", "live")


def facts(
    model: Any, topics: NDArray[Any], found: Gathered, held_out: Any, *, stability: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the first view shows, and the arrays of the others."""
    shares = topic_weights(model)
    weights = found.mass / max(found.mass.sum(), 1e-300) if shares is None else shares
    kept, sample = ExportedTopics.of(topics), found.sample()
    coherence, of = model.coherence_, "the documents that the model learned from"
    if coherence is None and sample.shape[0] and topics.shape[1] > 1:
        coherence, of = npmi(model, sample), f"{sample.shape[0]:,} of the documents shown"
    again, runs = model.topic_stability_, "other seeds, a mean over the runs"
    if again is None and stability:
        again = _stability(model, topics, sample)
        runs = f"another seed, from {sample.shape[0]:,} of the documents"
    limit = found.shorten()
    score = _score(model, sample, SCORED) if held_out is None else _score(model, held_out)
    meta = model_facts(model, topics, weights, kept, coherence, again) | {
        "score": score and score | {"held_out": held_out is not None},
        "coherence": None if coherence is None else {"mean": float(np.mean(coherence)), "of": of},
        "guarantee": payload.guarantee(found),
        "time": payload.over_time(found),
        "groups": payload.by_group(found),
        "stability": None if again is None else STABILITY.format(runs),
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


def counted(model: Any, held_out: Any) -> Any:
    """Return counts of documents that can be scored."""
    counts = model._checked(held_out)
    if not (row_sums(counts) >= LEAST_TOKENS).any():
        raise InputError(
            f"holds no document with {LEAST_TOKENS} words that the model knows; give others.",
            "held_out",
        )
    return counts


def _score(model: Any, counts: Any, n: int | None = None) -> dict[str, Any] | None:
    """Return the score of documents, of which n are drawn if given."""
    counts = counts[row_sums(counts) >= LEAST_TOKENS]
    if n is not None:
        counts = counts[np.sort(np.random.default_rng(0).permutation(counts.shape[0])[:n])]
    if not counts.shape[0]:
        return None
    found = log_predictive_probability(model, counts, method=None, random_state=model._state.seed)
    return payload.score_facts(found)


def _stability(model: Any, topics: NDArray[Any], sample: Any) -> NDArray[np.float64] | None:
    """Learn anew from the sample with another seed; return how alike the matched topics are."""
    if topics.size > LARGEST_LEARNED_ANEW or sample.shape[0] < LEAST_DOCUMENTS * len(topics):
        return None
    other = another(model, run_seeds(model._state.seed, 2)[1])
    try:
        other.fit(sample, vocabulary=model._state.vocabulary)
    except InputError:  # seed words of a topic may all be missing
        return None
    found = stability_over_runs([compared_words(model), compared_words(other)])
    return np.asarray(found[0])


def _curve(model: Any) -> dict[str, Any] | None:
    points = model.learning_curve_
    if len(points) < 2:
        return None
    return {"of": model.learning_curve_of_, "points": [[int(n), float(y)] for n, y in points]}


def corpus_facts(opened: Any, found: Gathered) -> dict[str, Any]:
    """Return how many documents and words there are."""
    return {
        "n_docs": found.n_docs,
        "n_tokens": found.n_tokens,
        "n_unknown_tokens": found.n_unknown,
        "n_empty": found.n_empty,
        "n_skipped": opened.problems.n_skipped,
    }


def compared(model: Any, other: Any, name: str) -> dict[str, Any]:
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
