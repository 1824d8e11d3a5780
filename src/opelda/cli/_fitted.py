"""What `opelda fit` says at its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opelda.cli._choices import learner_name
from opelda.cli._errors import tell
from opelda.cli._numbers import count, duration, plain, speed
from opelda.cli._options import Show
from opelda.cli._output import note, print_facts, print_json, print_line
from opelda.cli._topic_rows import as_plain, heaviest, print_topics

PROBLEMS_SHOWN = 3


@dataclass(frozen=True)
class Fitted:
    """A model and how it came about."""

    model: Any
    path: str
    corpus: Any
    held_out: Any
    reading_seconds: float
    learning_seconds: float
    interrupted: bool


def print_fitted(fitted: Fitted, *, as_json: bool, show: Show) -> None:
    """Sum up: documents, words, time, the score, some topics, and what to do next."""
    model, corpus = fitted.model, fitted.corpus
    score = None if fitted.held_out is None else float(model.score(fitted.held_out))
    shown = heaviest(model)
    skipped_documents(corpus.n_skipped, corpus.problems, show)
    if as_json:
        print_json(_plain(fitted, score, shown))
    elif not show.quiet:
        print_facts(_facts(fitted, score))
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


def _facts(fitted: Fitted, score: float | None) -> list[tuple[str, str]]:
    from math import exp

    model, corpus = fitted.model, fitted.corpus
    n_docs = len(corpus)
    facts = [
        ("documents", f"{n_docs:,}" + (f" ({corpus.n_empty:,} empty)" if corpus.n_empty else "")),
        ("words", f"{corpus.X.shape[1]:,} ({count(float(corpus.X.sum()), 'token')})"),
        ("topics", f"{model.n_components:,} by {learner_name(model)}"),
        ("reading", _time(n_docs, fitted.reading_seconds)),
        ("learning", _time(model.n_docs_seen_, fitted.learning_seconds)),
    ]
    if score is not None:
        facts.append(("held-out", f"{score:.4f} per word (perplexity {exp(-score):,.1f})"))
    facts.append(("model", fitted.path))
    return facts


def _time(n_docs: int, seconds: float) -> str:
    return f"{duration(seconds)} ({count(n_docs, 'document')}, {speed(n_docs, seconds)})"


def _plain(fitted: Fitted, score: float | None, shown: list[Any]) -> dict[str, Any]:
    model, corpus = fitted.model, fitted.corpus
    return {
        "model": fitted.path,
        "learner": learner_name(model),
        "topics": model.n_components,
        "passes": model.n_passes,
        "batch_size": model.batch_size,
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
        "interrupted": fitted.interrupted,
        "first_topics": [as_plain(row) for row in shown],
    }
