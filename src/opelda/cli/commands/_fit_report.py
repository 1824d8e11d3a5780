"""The report of `opelda fit`: an announcement before, scores on the way, a summary at the end."""

from dataclasses import replace
from math import exp
from time import perf_counter
from typing import Any

from opelda.cli import _terminal as terminal
from opelda.cli._inputs import seeds_found, seeds_text, topic_facts
from opelda.cli._options import dashed
from opelda.cli._terminal import count, note


def announce(documents: Any, model: Any, topics: int | None) -> None:
    """Say how topics are learned, and what to know about the documents before."""
    if terminal.VERBOSITY.quiet:
        return
    from opelda.corpus.text._languages import languages

    model._plan(listen=False)  # rejects unusable settings before it says them
    n_docs, n_words = documents.X.shape
    schedule = model._schedule(n_docs)
    chosen = [
        count(model.n_components, "topic") + (" (choose with -k)" if topics is None else ""),
        how_learned(model),
        count(schedule.n_passes, "pass", "passes"),
        f"{count(schedule.batch_size, 'document')} per update",
    ]
    if schedule.n_sweeps:
        chosen.append(count(schedule.n_sweeps, "closing sweep"))
    if model.n_runs > 1:
        chosen.append(count(model.n_runs, "run"))
    chosen.append(f"seed {model.random_state}")
    if getattr(model, "preset", None) == "best":
        chosen.append("--preset fast is faster")
    counted = f"{count(n_docs, 'document')} of {count(n_words, 'word')}"
    words = documents.vocabulary and documents.vocabulary.tokenizer.stop_words
    if isinstance(words, str) and words in languages():
        counted += f" ({languages()[words].title()} stop words left out)"
    note(f"{counted}: {', '.join(chosen)}.")
    if topics is None and n_docs < 50 * model.n_components:
        fewer = max(2, n_docs // 50)
        note(f"these are many topics for so few documents; -k {fewer} may say more.")
    # of 100,000 abstracts, copies are found in 0.6 s of one core, and sweeps take 60 s
    copies = _near_copies(documents, n_docs if schedule.n_sweeps else 20_000)
    if copies:
        note(copies)


def _near_copies(documents: Any, n: int) -> str:
    """Return a sentence on near copies among the first n documents, from 5% on."""
    if documents.n_duplicates:
        return f"{count(documents.n_duplicates, 'near copy', 'near copies')} left out."
    import numpy as np

    from opelda.corpus import near_duplicates

    found = near_duplicates(documents.X[:n], n_bands=2)
    copies = np.flatnonzero(found >= 0)
    if len(copies) < 0.05 * len(found):
        return ""
    which = "" if len(found) == len(documents) else f" first {len(found):,}"
    return (
        f"at least {len(copies) / len(found):.0%} of the{which} documents are near copies of "
        f"others: document {copies[0]:,} is a copy of document {found[copies[0]]:,}; leave them "
        "out with --dedupe."
    )


def how_learned(model: Any) -> str:
    """Return the preset or the learner that topics come from."""
    return f"preset {model.preset}" if hasattr(model, "preset") else dashed(type(model).__name__)


class Scored:
    """A display with the score of some documents, at most 5% of the time."""

    def __init__(self, display: Any, documents: Any) -> None:
        self._display, self._documents = display, documents
        self.needs_gap = display.needs_gap

    def begin(self, model: Any) -> None:
        """Start the clock."""
        self._started, self._spent = perf_counter(), 0.0
        self._display.begin(model)

    def __call__(self, report: Any, /) -> None:
        begun = perf_counter()
        if self._spent <= 0.05 * (begun - self._started):  # of the time, at most
            score = report.model.score(self._documents, n_splits=1)
            report = replace(report, held_out_score=score)
            self._spent += perf_counter() - begun
        self._display(report)

    def end(self, model: Any) -> None:
        """End the display."""
        self._display.end(model)


def to_score(X: Any) -> Any:
    """Return at most 200 documents of two tokens and more, evenly spread; None without any."""
    import numpy as np

    long = np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() >= 2)
    if len(long) > 200:
        long = long[np.linspace(0, len(long) - 1, 200).astype(np.int64)]
    return X[long] if len(long) else None


def print_fitted(
    model: Any, corpus: Any, facts: dict[str, Any], held_out: Any, *, as_json: bool
) -> None:
    """Sum up a fit; `facts` are entries of the JSON beside the model's and the corpus's."""
    if terminal.VERBOSITY.quiet and not as_json:
        return  # without scoring, which takes time
    scored = to_score(corpus.X) if held_out is None else held_out
    score = None if scored is None else float(model.score(scored))
    topics, (n_docs, n_words) = terminal.heaviest(model), corpus.X.shape
    found = topic_facts(model.coherence_, model.topic_stability_, seeds_found(model))
    if as_json:
        terminal.print_json(
            {
                **facts,
                "learner": dashed(type(model).__name__),
                "topics": model.n_components,
                "preset": getattr(model, "preset", None),
                "batch_size": model._schedule(n_docs).batch_size,
                "seed": model.random_state,
                "updates": model.n_batch_iter_,
                "documents": n_docs,
                "words": n_words,
                "tokens": float(corpus.X.sum()),
                "empty_documents": corpus.n_empty,
                "skipped_documents": corpus.n_skipped,
                "near_copies": corpus.n_duplicates,
                "problems": list(corpus.problems),
                "documents_seen": model.n_docs_seen_,
                "held_out_score": None if held_out is None else terminal.plain(score),
                "training_score": terminal.plain(score) if held_out is None else None,
                **found,
                "first_topics": [terminal.topic_as_plain(row) for row in topics],
            }
        )
        return

    def time(told: str, seconds: float) -> str:
        rate = n_docs / max(seconds, 1e-9)
        return (
            f"{terminal.duration(seconds)} ({count(n_docs, 'document')}{told}, {rate:,.0f} docs/s)"
        )

    n_passes = facts["runs"] * (facts["passes"] + facts["sweeps"])
    empty = f" ({corpus.n_empty:,} empty)" if corpus.n_empty else ""
    lines = [
        ("documents", f"{n_docs:,}{empty}"),
        ("words", f"{n_words:,} ({count(float(corpus.X.sum()), 'token')})"),
        ("topics", f"{model.n_components:,} by {how_learned(model)}"),
        ("reading", time("", facts["reading_seconds"])),
        ("learning", time(f", {count(n_passes, 'pass', 'passes')}", facts["learning_seconds"])),
    ]
    if score is not None:
        name, of = (
            ("score", ", of documents learned from") if held_out is None else ("held-out", "")
        )
        lines.append((name, f"{score:.4f} per word (perplexity {exp(-score):,.1f}){of}"))
    if found["coherence"] is not None:
        below = f"{found['incoherent_topics']:,} of {model.n_components:,} topics below 0"
        lines.append(("coherence", f"{found['coherence']:.3f} (NPMI; {below})"))
    if "stability" in found:
        said = f"{found['stability']:.2f} (words in common with the other runs)"
        lines.append(("stability", said))
    if "seed_words_in_top_20" in found:
        lines.append(("seed words", seeds_text(found["seed_words_in_top_20"])))
    terminal.print_facts([*lines, ("model", facts["model"])])
    terminal.print_line()
    terminal.print_topics(topics)
    terminal.note_similar(model.components_, facts["model"])
