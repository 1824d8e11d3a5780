"""The data of a page: one JSON object for the first view, arrays for the others."""

from datetime import UTC, datetime
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE
from opelda.corpus.text._markup import SPELLED
from opelda.inference import EM
from opelda.inference._infer import as_prior
from opelda.report.page._encoded_arrays import as_base64, joined, packed
from opelda.report.page._exported import ExportedTopics, ranked_words
from opelda.report.page._gathered import LONGEST, WITHIN, Gathered

FORMAT = 1
N_RELATED = 8
MOST_GROUPS_SHOWN, GROUP_SHARES = 500, 50_000  # groups, and groups times topics
NOT_SHOWN = ("callbacks", "engine", "n_jobs", "verbose", "sparse_output")
WEIGHT_LEVELS = 65_535


def number(value: Any) -> float | None:
    """Return a number fit for JSON; None for what is none."""
    return float(value) if value is not None and isfinite(value) else None


def model_facts(model: Any, name: str) -> dict[str, Any]:
    """Return what the model is, and how it learned."""
    given = model.get_params(deep=False)
    settings = [
        [key, str(value)[:200]]
        for key, value in given.items()
        if key not in NOT_SHOWN and value is not None and key != "n_components"
    ]
    return {
        "name": name,
        "learner": type(model).__name__,
        "n_topics": int(model.components_.shape[0]),
        "n_words": int(model.n_features_in_),
        "n_docs": int(model.n_docs_),
        "settings": settings,
    }


def topic_facts(
    model: Any,
    weights: NDArray[np.float64],
    positions: NDArray[np.float64],
    alike: NDArray[np.float64],
    coherence: NDArray[np.float64] | None,
    stability: NDArray[np.float64] | None,
) -> list[dict[str, Any]]:
    """Return one object for each topic, in the model's own order."""
    labels, given = model.topic_labels_, model._state.labels
    found = []
    for k in range(len(weights)):
        others = np.argsort(-alike[k], kind="stable")
        others = others[others != k][:N_RELATED]
        found.append(
            {
                "label": labels[k],
                "given": k in given,
                "weight": round(float(weights[k]), 7),
                "coherence": None if coherence is None else number(round(float(coherence[k]), 4)),
                "stability": None if stability is None else number(round(float(stability[k]), 4)),
                "x": round(float(positions[k, 0]), 4),
                "y": round(float(positions[k, 1]), 4),
                "related": [[int(j), round(float(alike[k, j]), 3)] for j in others],
            }
        )
    return found


def word_facts(
    words: Any, topics: ExportedTopics, marginal: NDArray[np.float64], n_topics: int
) -> dict[str, Any]:
    """Return the words that topics are shown by, with their probabilities."""
    best = ranked_words(topics, n_topics, marginal)
    used = np.unique(np.concatenate([ids for ids, _ in best]))
    offsets = np.cumsum([0, *(len(ids) for ids, _ in best)])
    return {
        "words": [str(words[j]) for j in used],
        "frequency": as_base64(marginal[used], np.float32),
        "ranked": {
            "offsets": as_base64(offsets, np.uint32),
            "words": as_base64(
                np.concatenate([np.searchsorted(used, ids) for ids, _ in best]), np.uint32
            ),
            "probability": as_base64(np.concatenate([p for _, p in best]), np.float32),
        },
    }


def guarantee(found: Gathered) -> dict[str, Any]:
    """Return how far documents' mixtures can be from the most likely ones."""
    n = max(found.n_docs, 1)
    return {
        "n_docs": found.n_docs,
        "within": [[nats, float(x)] for nats, x in zip(WITHIN, found.within / n, strict=True)],
        "mean": number(found.loss_sum / n),
        "max": number(found.loss_max),
    }


def over_time(found: Gathered) -> dict[str, Any] | None:
    """Return the topics' shares over time, where documents have times."""
    if found.times is None or len(bins := found.times.finish()) < 2:
        return None
    return {
        "column": found.time,
        "unit": found.times.unit,
        "bins": [found.times.label(key) for key in bins],
        **found.times.shares.facts(bins, found.unmixing),
    }


def by_group(found: Gathered) -> dict[str, Any] | None:
    """Return the topics' shares by group, the largest groups first."""
    if found.groups is None or len(found.groups.sums) < 2:
        return None
    n_docs = found.groups.n_docs
    names = sorted(n_docs, key=lambda name: (-n_docs[name], name))
    shown = names[: min(MOST_GROUPS_SHOWN, max(20, GROUP_SHARES // found.n_topics))]
    return {
        "column": found.group,
        "names": shown,
        **found.groups.facts(shown, found.unmixing),
        "n_others": len(names) - len(shown),
    }


def tokenizing(model: Any) -> dict[str, Any]:
    """Return how the page cuts texts into the model's words, or why it cannot."""
    vocabulary = model._state.vocabulary
    if vocabulary is None:
        why = "The model learned from counts and has no words: texts cannot be given to it."
        return {"kind": "default", "pattern": None, "lower": True, "ngrams": [1, 1],
                "stop_words": [], "phrases": [], "pairs": False, "markup": None,
                "why_not": why}  # fmt: skip
    tokenizer = vocabulary.tokenizer
    kinds = {None: "default", WHITESPACE: "whitespace", COUNT_VECTORIZER: "count_vectorizer"}
    why_not = None
    if tokenizer.stem is not None:
        why_not = "The model's words are stems, which the page cannot make; use opelda transform."
    if tokenizer.split is not None:
        why_not = "The model's words are cut by a function that the page does not have."
    if tokenizer.unspaced == "words":
        why_not = "The model's words were cut by a package that the page does not have."
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


def inferring(model: Any) -> dict[str, Any]:
    """Return how the page infers a document's topics."""
    method = model._transform_method()
    n_topics = int(model.components_.shape[0])
    says = None
    if not isinstance(method, EM):
        says = (
            f"The model infers mixtures by {type(method).__name__}; the page finds the most "
            "likely one, which may differ."
        )
    return {
        "method": "em" if says is None else "exact",
        "n_iter": int(getattr(method, "n_iter", 0) or 0) if says is None else 0,
        "n_kept": int(getattr(method, "n_kept", 0) or 0) if says is None else 0,
        "alpha": as_base64(as_prior(model.doc_topic_prior, n_topics), np.float32),
        "says": says,
    }


def exported(topics: ExportedTopics, words: Any, n_topics: int) -> str:
    """Return the topics for the page's own inference."""
    header, arrays = topics.arrays(joined((str(word).replace("\0", " ") for word in words), "\0"))
    return packed(header | {"n_topics": n_topics}, arrays)


def documents(found: Gathered, meta: dict[str, Any]) -> str:
    """Return the documents that the page lists."""
    numbers = list(found.entries)
    entries = list(found.entries.values())
    index = {n: i for i, n in enumerate(numbers)}
    typical = [[index[n] for n in row if n in index] for row in found.typical()]
    told = [i for i, entry in enumerate(entries) if entry.text is not None or entry.counts]
    arrays: dict[str, NDArray[Any]] = {
        "names": joined((one_line(entry.name) for entry in entries), "\n"),
        "number": np.array(numbers, np.uint32),
        "offsets": _ends([len(entry.topics) for entry in entries]),
        "topic": _concatenated([entry.topics for entry in entries], np.uint16),
        "weight": np.rint(
            _concatenated([entry.weights for entry in entries], np.float64) * WEIGHT_LEVELS
        ).astype(np.uint16),
        "tokens": np.array([entry.tokens for entry in entries], np.float32),
        "loss": np.array([entry.loss for entry in entries], np.float32),
        "typical_offsets": _ends([len(row) for row in typical]),
        "typical": np.array([i for row in typical for i in row], np.uint32),
        "text_of": np.array(told, np.uint32),
    }
    if meta["time"] is not None and (times := found.times) is not None:
        bins = {name: i for i, name in enumerate(meta["time"]["bins"])}
        starts = [times.bin(entry.time) for entry in entries]
        where = [-1 if start is None else bins.get(times.label(start), -1) for start in starts]
        arrays["time"] = np.array(where, np.int16)
    if meta["groups"] is not None:
        groups = {name: i for i, name in enumerate(meta["groups"]["names"])}
        arrays["group"] = np.array([groups.get(entry.group, -1) for entry in entries], np.int16)
    if found.texts_are_known:
        arrays["texts"] = joined(((entries[i].text or "").replace("\0", " ") for i in told), "\0")
    else:
        counts = [entries[i].counts or (np.zeros(0), np.zeros(0)) for i in told]
        arrays["count_offsets"] = _ends([len(words) for words, _ in counts])
        arrays["count_words"] = _concatenated([words for words, _ in counts], np.uint32)
        arrays["counts"] = _concatenated([values for _, values in counts], np.float32)
    return packed({"n_docs": len(entries)}, arrays)


def one_line(text: str) -> str:
    """Return a name without what would begin another one."""
    return " ".join(str(text).split())[:500]


def _ends(lengths: list[int]) -> NDArray[np.uint32]:
    return np.cumsum([0, *lengths]).astype(np.uint32)


def _concatenated(parts: list[Any], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype)


def sampled(found: Gathered, limit: int, topics: ExportedTopics) -> list[str]:
    """Return sentences that say what of the documents and topics is not in the page."""
    said = []
    n_listed = len(found.entries)
    if n_listed < found.n_docs:
        said.append(
            f"{n_listed:,} of {found.n_docs:,} documents are listed: those that are typical of a "
            "topic, and a random sample; all figures are of all documents."
        )
    told = [entry for entry in found.entries.values() if entry.text is not None or entry.counts]
    if len(told) < n_listed:
        kind = "texts" if found.texts_are_known else "words"
        said.append(f"The {kind} of {len(told):,} documents are in the page.")
    if limit < LONGEST or any(len(e.text or "") > LONGEST for e in found.entries.values()):
        said.append(f"Texts are cut after {limit:,} characters.")
    if found.groups is not None and found.groups.n_left:
        said.append(
            f"{found.groups.n_left:,} documents of groups that came after the first "
            f"{len(found.groups.sums):,} are in no group."
        )
    if topics.ratio:
        said.append(
            "Of each word the page knows the topics that give it at least "
            f"{topics.ratio:.1e} of its largest probability; mixtures of pasted texts are "
            "therefore approximate."
        )
    return said


def stamp() -> dict[str, str]:
    """Return when and by which version a page was made."""
    now = datetime.now(UTC).replace(microsecond=0)
    return {"created": now.isoformat().replace("+00:00", "Z"), "version": version("opelda")}


def score_facts(score: Any) -> dict[str, Any]:
    """Return a log predictive probability as the page has it."""
    return {
        "lpp": number(score.macro),
        "error": number(score.standard_error),
        "perplexity": number(score.perplexity),
        "n_docs": int(score.n_documents),
    }
