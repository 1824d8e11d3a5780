"""The closing words of `opelda fit`."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from opelda.cli._choices import learner_name
from opelda.cli._errors import tell
from opelda.cli._numbers import count, duration, plain, speed
from opelda.cli._options import Show
from opelda.cli._output import note, print_facts, print_json, print_line
from opelda.cli._progress import to_score
from opelda.cli._topic_rows import as_plain, heaviest, print_topics

PROBLEMS_SHOWN = 3


@dataclass(frozen=True)
class Fitted:
    """A model and how it came about."""

    model: Any
    path: str
    corpus: Any
    held_out: Any
    n_passes: int
    n_sweeps: int
    reading_seconds: float
    learning_seconds: float
    interrupted: bool


def print_fitted(fitted: Fitted, *, as_json: bool, show: Show) -> None:
    """Sum up: documents, words, time, the score, some topics, and what to do next."""
    model, corpus = fitted.model, fitted.corpus
    wanted = as_json or not show.quiet
    score = _score(model, fitted.held_out)
    seen = _score(model, to_score(corpus.X)) if wanted and fitted.held_out is None else None
    shown = heaviest(model)
    skipped_documents(corpus.n_skipped, corpus.problems, show)
    if as_json:
        print_json(_plain(fitted, score, seen, shown))
    elif not show.quiet:
        print_facts(_facts(fitted, score, seen))
        print_line()
        print_topics(shown)
    if fitted.interrupted:
        return
    path = fitted.path
    note(
        show,
        f"saved as {path}. Next: `opelda topics {path}`, or `opelda transform {path} CORPUS -o "
        "theta.parquet`.",
    )


def skipped_documents(number: int, problems: Sequence[str], show: Show) -> None:
    """Say which documents could not be read, also to those who want to hear little."""
    if not number:
        return
    tell(f"{count(number, 'document')} could not be read and skipped.")
    for problem in problems[: None if show.verbose else PROBLEMS_SHOWN]:
        note(show, f"  {problem}")


def _score(model: Any, documents: Any) -> float | None:
    return None if documents is None else float(model.score(documents))


def _facts(fitted: Fitted, score: float | None, seen: float | None) -> list[tuple[str, str]]:
    model, corpus = fitted.model, fitted.corpus
    n_docs = len(corpus)
    facts = [
        ("documents", f"{n_docs:,}" + (f" ({corpus.n_empty:,} empty)" if corpus.n_empty else "")),
        ("words", f"{corpus.X.shape[1]:,} ({count(float(corpus.X.sum()), 'token')})"),
        ("topics", f"{model.n_components:,} by {how(model)}"),
        ("reading", _time(n_docs, fitted.reading_seconds)),
        ("learning", _time(model.n_docs_seen_, fitted.learning_seconds)),
    ]
    if score is not None:
        facts.append(("held-out", _per_word(score)))
    if seen is not None:
        facts.append(("score", f"{_per_word(seen)}, of documents learned from"))
    facts.append(("model", fitted.path))
    return facts


def how(model: Any) -> str:
    """Return the preset or the learner that topics come from."""
    return f"preset {model.preset}" if hasattr(model, "preset") else learner_name(model)


def _per_word(score: float) -> str:
    return f"{score:.4f} per word (perplexity {exp(-score):,.1f})"


def _time(n_docs: int, seconds: float) -> str:
    return f"{duration(seconds)} ({count(n_docs, 'document')}, {speed(n_docs, seconds)})"


def _plain(
    fitted: Fitted, score: float | None, seen: float | None, shown: list[Any]
) -> dict[str, Any]:
    model, corpus = fitted.model, fitted.corpus
    return {
        "model": fitted.path,
        "learner": learner_name(model),
        "topics": model.n_components,
        "preset": getattr(model, "preset", None),
        "passes": fitted.n_passes,
        "sweeps": fitted.n_sweeps,
        "batch_size": model._schedule(len(corpus)).batch_size,
        "seed": model.random_state,
        "updates": model.n_batch_iter_,
        "documents": len(corpus),
        "words": corpus.X.shape[1],
        "tokens": float(corpus.X.sum()),
        "empty_documents": corpus.n_empty,
        "skipped_documents": corpus.n_skipped,
        "problems": list(corpus.problems),
        "documents_seen": model.n_docs_seen_,
        "reading_seconds": fitted.reading_seconds,
        "learning_seconds": fitted.learning_seconds,
        "held_out_score": plain(score),
        "training_score": plain(seen),
        "interrupted": fitted.interrupted,
        "first_topics": [as_plain(row) for row in shown],
    }
