"""Facts of a model and of gathered documents, as the first view of a page states them."""

from datetime import UTC, datetime
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._names import UNITS
from opelda._word_ranking import SMALLEST
from opelda.corpus._matrix import row_sums
from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE
from opelda.corpus.text._markup import SPELLED
from opelda.errors import InputError
from opelda.inference import EM
from opelda.inference._infer import as_prior
from opelda.learning._learner import another, compared_words, run_seeds
from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability, match_topics, topic_diversity
from opelda.metrics._matching import similarities, stability_over_runs
from opelda.metrics._top_words import shares_or_even, topic_weights
from opelda.report._times import FEW_DRAWN, PERIODS, fitting_unit, gaps_after, label_of
from opelda.report._topic_map import map_positions
from opelda.report._topic_table import words_by_group
from opelda.report.page._gathered import NEAR, SHORTER, WITHIN, Gathered, SummedShares
from opelda.report.page._payload import ExportedTopics, as_base64, documents

LEAST_TOKENS = 2  # of a document that is scored
LEARNED = "the documents that the model learned from"
# Facts that a model alone does not have.
NOT_KNOWN = ("score", "coherence", "guarantee", "shares", "time", "groups", "stability", "live")


def facts(
    model: Any, name: str, found: Gathered, held_out: Any, *, stability: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the facts of the first view, and the arrays of the other views."""
    topics = np.asarray(model.components_)
    weights = topic_weights(model)
    if weights is None:
        weights = found.mass / max(found.mass.sum(), 1e-300)
    kept, sample = ExportedTopics.of(topics), found.sample()
    n_sampled, coherence, of = f"{sample.shape[0]:,}", model.coherence_, LEARNED
    if coherence is None and sample.shape[0] and topics.shape[1] > 1:
        coherence, of = npmi(model, sample), f"{n_sampled} of the documents shown"
    again, runs = model.topic_stability_, "other seeds, a mean over the runs"
    if again is None and stability:
        again = _stability(model, topics, sample)
        runs = f"another seed, from {n_sampled} of the documents"
    marginal = weights @ topics
    scored = (sample, marginal, 1_000) if held_out is None else (held_out, marginal)
    score = _score(model, *scored)
    n = max(found.n_docs, 1)
    meta = model_facts(model, name, topics, kept, weights, coherence, of, again) | {
        "score": score and score | {"held_out": held_out is not None},
        "guarantee": {
            "within": [[nats, float(x)] for nats, x in zip(WITHIN, found.within / n, strict=True)],
            "near": [NEAR, found.n_near / n],
            "mean": number(found.loss_sum / n),
            "max": number(found.loss_max),
        },
        **_shares(found),
        "stability": None if again is None else runs,
        "sampled": _left_out(found, kept),
    }
    for topic, best in zip(meta["topics"], found.typical, strict=True):
        topic["headline"] = [best[0], found.entries[best[0]].name[:200]] if best else None
    packed = kept.packed(model._words(), len(topics))
    return meta, {"topics": packed, "documents": documents(found, meta)}


def model_facts(
    model: Any,
    name: str,
    topics: NDArray[Any],
    kept: ExportedTopics,
    weights: NDArray[np.float64] | None = None,
    coherence: NDArray[np.float64] | None = None,
    of: str = LEARNED,
    stability: NDArray[np.float64] | None = None,
    positions: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    if weights is None:
        weights = shares_or_even(model, len(topics))
    if positions is None:
        positions = map_positions(topics)
    points = [[int(n), float(y)] for n, y in model.learning_curve_]
    hidden = ("callbacks", "engine", "n_jobs", "verbose", "sparse_output", "n_components")
    settings = [
        [key, str(value)[:200]]
        for key, value in model.get_params(deep=False).items()
        if key not in hidden and value is not None
    ]
    return {
        **stamp(),
        "model": {
            "name": name,
            "learner": type(model).__name__,
            "n_topics": len(topics),
            "n_words": int(model.n_features_in_),
            "n_docs": int(model.n_docs_),
            "settings": settings,
        },
        "diversity": float(topic_diversity(model)),
        "curve": {"of": model.learning_curve_of_, "points": points} if len(points) > 1 else None,
        "topics": _topic_facts(model, topics, weights, positions, coherence, stability),
        **_word_facts(model._words(), kept, weights @ topics, len(topics)),
        "tokenizer": _tokenizing(model),
        "inference": _inferring(model),
        "sampled": [],
        "content": _group_words(model),
        **dict.fromkeys(NOT_KNOWN),
        "coherence": None if coherence is None else {"mean": float(np.mean(coherence)), "of": of},
    }


def _group_words(model: Any) -> dict[str, Any] | None:
    """Return the words of groups by topic, for a model fitted with `content`."""
    if (content := model._state.content) is None:
        return None
    rows = [[row.topic, row.group, ", ".join(row.words)] for row in words_by_group(model, 6)]
    return {"column": content.factor.column, "rows": rows}


def stamp() -> dict[str, str]:
    return {"created": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "version": version("opelda")}


def number(value: Any) -> float | None:
    """Return a finite number, for JSON; None otherwise."""
    return float(value) if value is not None and isfinite(value) else None


def _topic_facts(
    model: Any, topics: NDArray[Any], weights: Any, positions: Any, coherence: Any, stability: Any
) -> list[dict[str, Any]]:
    labels = model.topic_labels_
    roots = np.sqrt(np.asarray(topics, np.float32))
    alike = np.clip(roots @ roots.T, 0.0, 1.0).astype(np.float64)  # sum_w sqrt(p(w|s) p(w|t))

    def rounded(values: Any, k: int) -> float | None:
        return None if values is None else number(round(float(values[k]), 4))

    found = []
    for k in range(len(weights)):
        others = np.argsort(-alike[k], kind="stable")
        others = others[others != k][:8]
        found.append(
            {
                "label": labels[k],
                "weight": round(float(weights[k]), 7),
                "coherence": rounded(coherence, k),
                "stability": rounded(stability, k),
                "x": rounded(positions[:, 0], k),
                "y": rounded(positions[:, 1], k),
                "related": [[int(j), round(float(alike[k, j]), 3)] for j in others],
            }
        )
    return found


def _word_facts(
    words: Any, topics: ExportedTopics, marginal: NDArray[np.float64], n_topics: int
) -> dict[str, Any]:
    """Return the words that topics are shown by, with their probabilities."""
    best = topics.ranked_words(n_topics, marginal)
    used, places = np.unique(np.concatenate([ids for ids, _ in best]), return_inverse=True)
    return {
        "words": [str(words[j]) for j in used],
        "frequency": as_base64(marginal[used], np.float32),
        "ranked": {
            "offsets": as_base64(np.cumsum([0, *(len(ids) for ids, _ in best)]), np.uint32),
            "words": as_base64(places, np.uint32),
            "probability": as_base64(np.concatenate([p for _, p in best]), np.float32),
        },
    }


def _tokenizing(model: Any) -> dict[str, Any]:
    """Return how the page cuts texts into the model's words, or why it cannot."""
    vocabulary = model._state.vocabulary
    if vocabulary is None:
        why = "The model learned from counts and has no words, so texts are unsupported."
        return {"kind": "default", "pattern": None, "lower": True, "ngrams": [1, 1],
                "stop_words": [], "phrases": [], "pairs": False, "markup": None,
                "why_not": why}  # fmt: skip
    tokenizer = vocabulary.tokenizer
    kinds = {None: "default", WHITESPACE: "whitespace", COUNT_VECTORIZER: "count_vectorizer"}
    why_not = None
    if tokenizer.stem is not None:
        why_not = "The model's words are stems, which the page cannot make; use opelda transform."
    if tokenizer.split is not None or tokenizer.unspaced == "words":
        why_not = "The model splits texts into words with Python code that the page does not have."
    return {
        "kind": kinds.get(tokenizer.pattern, "regex"),
        "pattern": None if tokenizer.pattern in kinds else tokenizer.pattern,
        "lower": tokenizer.lower,
        "ngrams": list(tokenizer.ngrams),
        "stop_words": tokenizer._removed[1:],
        "phrases": list(tokenizer.phrases),
        "pairs": tokenizer.unspaced == "pairs",
        "markup": None if tokenizer.keep_markup else SPELLED,
        "why_not": why_not,
    }


def _inferring(model: Any) -> dict[str, Any]:
    """Return how the page infers a document's topics."""
    method = model._transform_method()
    alpha = as_base64(as_prior(model.doc_topic_prior, len(model.components_)), np.float32)
    if isinstance(method, EM):
        return {"method": "em", "n_iter": method.n_iter or 0, "n_kept": method.n_kept or 0,
                "alpha": alpha, "says": None}  # fmt: skip
    says = (
        f"The model infers mixtures by {type(method).__name__}; the page finds the most likely "
        "one, which may differ."
    )
    return {"method": "exact", "n_iter": 0, "n_kept": 0, "alpha": alpha, "says": says}


def counted(model: Any, held_out: Any) -> Any:
    """Return counts of documents that can be scored."""
    counts = model._checked(held_out)
    if not (row_sums(counts) >= LEAST_TOKENS).any():
        raise InputError(
            f"holds no document with {LEAST_TOKENS} words of the model's vocabulary; pass "
            "other documents.",
            "held_out",
        )
    return counts


def _score(
    model: Any, counts: Any, marginal: NDArray[np.float64], n: int | None = None
) -> dict[str, Any] | None:
    counts = counts[row_sums(counts) >= LEAST_TOKENS]
    if n is not None:
        counts = counts[np.sort(np.random.default_rng(0).permutation(counts.shape[0])[:n])]
    if not counts.shape[0]:
        return None
    score = log_predictive_probability(model, counts, method=None, random_state=model._state.seed)
    alone = counts @ np.log(np.maximum(marginal, SMALLEST)) / row_sums(counts)
    return {
        "lpp": number(score.macro),
        "error": number(score.standard_error),
        "perplexity": number(score.perplexity),
        "unigram": number(np.exp(-alone.mean())),  # perplexity of the words' frequencies
        "n_docs": int(score.n_documents),
    }


def _stability(model: Any, topics: NDArray[Any], sample: Any) -> NDArray[np.float64] | None:
    """Return the topics' stability over another seed; None for large models and few documents."""
    if topics.size > 20_000_000 or sample.shape[0] < 10 * len(topics):
        return None
    other = another(model, run_seeds(model._state.seed, 2)[1])
    try:
        other.fit(sample, vocabulary=model._state.vocabulary)
    except InputError:  # seed words of a topic may all be missing
        return None
    return np.asarray(stability_over_runs([compared_words(model), compared_words(other)])[0])


def _shares(found: Gathered) -> dict[str, Any]:
    """Return the topics' shares over time and by group, if there are two bins or groups."""
    shares: dict[str, Any] = {}
    if found.all.sums:
        shares["shares"] = found.all.facts([0], found.unmixing)["shares"][0]
    if found.times is not None and len(found.times.sums) >= 2:
        shares["time"] = _over_time(found, found.times)
    if found.groups is not None and len(found.groups.sums) >= 2:
        n_docs = found.groups.n_docs
        names = sorted(n_docs, key=lambda name: (-n_docs[name], name))
        shown = names[: min(500, max(20, 50_000 // found.n_topics))]
        shares["groups"] = {
            "column": found.group,
            "names": shown,
            **found.groups.facts(shown, found.unmixing),
            "n_others": len(names) - len(shown),
        }
    return shares


def _over_time(found: Gathered, times: SummedShares) -> dict[str, Any] | None:
    """Return shares in bins of the fitting unit, and in longer periods that a reader compares."""
    held = str(times.unit)
    units = UNITS[UNITS.index(held) :]
    unit = fitting_unit(times.sums, sum(times.n_docs.values()), units)
    by_unit = {each: times.by(each) for each in (*PERIODS[unit], unit)}
    longer = next(each for each, sums in by_unit.items() if len(sums.sums) >= 2 or each == unit)
    bins, periods = (sorted(by_unit[each].sums) for each in (unit, longer))
    if len(bins) < 2:
        return None
    found.bins, found.periods = by_unit[unit], by_unit[longer]
    counted = np.array([by_unit[unit].n_docs[key] for key in bins])
    drawn = np.flatnonzero(counted >= FEW_DRAWN)
    if len(drawn) < 2:
        drawn = np.arange(len(bins))
    ends, n = SummedShares(), max(1, len(drawn) // 3)
    for part, places in enumerate((drawn[:n], drawn[-n:])):
        for key in (bins[i] for i in places):
            ends.put(part, by_unit[unit].sums[key], by_unit[unit].n_docs[key])
    return {
        "column": found.time,
        "unit": unit,
        "span": [held, *(label_of(key, held) for key in (min(times.sums), max(times.sums)))],
        "bins": [label_of(key, unit) for key in bins],
        **by_unit[unit].facts(bins, found.unmixing),
        "drawn": drawn.tolist(),
        "gaps": gaps_after([bins[i] for i in drawn], unit),
        "ends": ends.facts([0, 1], found.unmixing),  # the first and the last third
        "periods": {
            "unit": longer,
            "bins": [label_of(key, longer) for key in periods],
            **by_unit[longer].facts(periods, found.unmixing),
        },
    }


def _left_out(found: Gathered, topics: ExportedTopics) -> list[str]:
    """Return sentences about the documents and topics that are not in the page."""
    entries, limit, longest = found.entries.values(), found.longest, SHORTER[0]
    n_told = sum(entry.text is not None or bool(entry.counts) for entry in entries)
    is_cut = limit < longest or any(len(entry.text or "") > longest for entry in entries)
    kind = "texts" if found.texts_are_known else "words"
    n_left, n_groups = (found.groups.n_left, len(found.groups.sums)) if found.groups else (0, 0)
    said = (
        (
            len(entries) < found.n_docs,
            f"{len(entries):,} of {found.n_docs:,} documents are listed: those that are typical of "
            "a topic, and a random sample; all figures are of all documents.",
        ),
        (n_told < len(entries), f"The {kind} of {n_told:,} documents are in the page."),
        (is_cut, f"Texts are cut after {limit:,} characters."),
        (
            n_left,
            f"{n_left:,} documents of groups that came after the first {n_groups:,} are in no "
            "group.",
        ),
        (
            topics.ratio,
            "For each word, the page stores only the topics that give it at least "
            f"{topics.ratio:.1e} of its largest probability; mixtures of pasted texts are "
            "therefore approximate.",
        ),
    )
    return [sentence for holds, sentence in said if holds]


def compared(model: Any, other: Any, name: str) -> dict[str, Any]:
    """Return another model's topics, matched to this model's."""
    order, _ = match_topics(model, other)
    values = similarities(model, other)
    weights, coherence, labels = topic_weights(other), other.coherence_, other.topic_labels_
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
            for k, words in enumerate(other.top_words(12))
        ],
        "matches": [
            [k, int(j), round(float(values[k, j]), 3)] for k, j in enumerate(order) if j >= 0
        ],
        "similarity": {
            "rows": values.shape[0],
            "columns": values.shape[1],
            "values": as_base64(np.rint(np.clip(values, 0, 1) * 255), np.uint8),
        },
    }
