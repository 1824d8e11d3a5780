"""The report of `opelda fit`: an estimate before, scores on the way, a summary at the end."""

from dataclasses import replace
from math import exp
from time import perf_counter
from typing import Any

from opelda.cli._models import learner_name, seeds_found, seeds_text, topic_facts
from opelda.cli._options import Show
from opelda.cli._show import (
    count,
    duration,
    heaviest,
    plain,
    print_topics,
    roughly,
    skipped_documents,
    speed,
    topic_as_plain,
)
from opelda.cli._standard_streams import note, print_facts, print_json, print_line
from opelda.cli._topic_tables import note_similar

# With fewer documents for each topic than these, the user is told.
DOCUMENTS_PER_TOPIC = 50
LEARNED_FROM = ", of documents learned from"
# Scoring takes this share of the time at most.
SCORING_SHARE = 0.05
N_SCORED = 200
# Near copies are named from this share on, found by so many bands: of 100,000 abstracts in 0.6 s of
# one core, of which sweeps take 60. Without sweeps so many documents are looked at.
MANY_COPIES, BANDS_LOOKED_AT, FEW_DOCUMENTS = 0.05, 2, 20_000
# A trial learns from so many documents at least, and from two mini-batches.
TRIAL = 500
TRIAL_SECONDS = 1.0
TRIAL_SWEEPS = 3
# A trial needs topics of its own: beyond so many weights it would take long itself.
MOST_WEIGHTS = 2**27


def announce(documents: Any, model: Any, topics: int | None, show: Show) -> None:
    """Say how topics are learned, and how long that takes by a trial on a few documents."""
    if show.quiet:
        return
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
    counted = f"{count(n_docs, 'document')} of {count(n_words, 'word')}{_language(documents)}"
    lines = [f"{counted}: {', '.join(chosen)}."]
    if topics is None and n_docs < DOCUMENTS_PER_TOPIC * model.n_components:
        fewer = max(2, n_docs // DOCUMENTS_PER_TOPIC)
        lines.append(f"these are many topics for so few documents; -k {fewer} may say more.")
    copies = _near_copies(documents, n_docs if schedule.n_sweeps else FEW_DOCUMENTS)
    if copies:
        lines.append(copies)
    if model.n_components * n_words <= MOST_WEIGHTS:
        lines.append(_how_long(model, documents.X))
    for line in lines:  # after the trial, which complains of settings that cannot be
        note(show, line)


def _language(documents: Any) -> str:
    """Return the language whose stop words were left out; nothing for a list of one's own."""
    from opelda.corpus.text._languages import languages

    words = documents.vocabulary and documents.vocabulary.tokenizer.stop_words
    name = languages().get(words) if isinstance(words, str) else None
    return f" ({name.title()} stop words left out)" if name else ""


def _near_copies(documents: Any, n: int) -> str:
    """Return a sentence on near copies among the first n documents; none if there are few."""
    if documents.n_duplicates:
        return f"{count(documents.n_duplicates, 'near copy', 'near copies')} left out."
    import numpy as np

    from opelda.corpus import near_duplicates

    found = near_duplicates(documents.X[:n], n_bands=BANDS_LOOKED_AT)
    copies = np.flatnonzero(found >= 0)
    if len(copies) < MANY_COPIES * len(found):
        return ""
    which = "" if len(found) == len(documents) else f" first {len(found):,}"
    return (
        f"at least {len(copies) / len(found):.0%} of the{which} documents are near copies of "
        f"others: document {copies[0]:,} is a copy of document {found[copies[0]]:,}; leave them "
        "out with --dedupe."
    )


def _how_long(model: Any, X: Any) -> str:
    n_docs, rates = X.shape[0], Rates(model, X)
    schedule = model._schedule(n_docs)
    seconds = rates.seconds(n_docs, schedule.n_passes, schedule.n_sweeps)
    said = f"it takes about {roughly(model.n_runs * seconds)}"
    if getattr(model, "preset", None) == "best":
        from opelda.learning.topic_model import preset_settings

        fast = preset_settings("fast", n_docs)
        seconds = rates.seconds(n_docs, fast["n_passes"], fast["n_sweeps"])
        faster = roughly(model.n_runs * seconds)
        said += "; --preset fast takes " + ("less" if faster in said else f"about {faster}")
    return f"{said}."


def how_learned(model: Any) -> str:
    """Return the preset or the learner that topics come from."""
    return f"preset {model.preset}" if hasattr(model, "preset") else learner_name(model)


class Rates:
    """Seconds that learning takes, by a short trial of a clone on some of the documents."""

    needs_gap = False

    def __init__(self, model: Any, X: Any) -> None:
        from opelda.learning._runs import another

        schedule = model._schedule(X.shape[0])
        self._started = perf_counter()
        self._sweeps = min(TRIAL_SWEEPS, schedule.n_sweeps)
        self._reports: list[Any] = []
        sample = _spread(X, max(TRIAL, 2 * schedule.batch_size))
        fixed: dict[str, Any] = {"batch_size": schedule.batch_size, "callbacks": [self]}
        fixed["n_passes"] = 1
        if hasattr(model, "n_sweeps"):
            fixed |= {"n_sweeps": self._sweeps, "seeds": None}
        another(model, model.random_state, **fixed).fit(sample)
        self.per_document = 0.0  # of an update
        self.per_sweep = 0.0  # of the whole collection
        if not self._reports:  # not a word in the sample
            return
        updates = self._reports[: len(self._reports) - self._sweeps]
        # the first one takes longer, for it warms up; it is all there is of a small collection
        before = updates.pop(0).n_docs if len(updates) > 1 else 0
        seconds = sum(report.e_seconds + report.m_seconds for report in updates)
        self.per_document = seconds / max(updates[-1].n_docs - before, 1) if updates else 0.0
        if self._sweeps:
            last = self._reports[-1]
            # sampling takes time for every token, the rest for every word of the vocabulary
            larger = X.sum() / max(sample.sum(), 1)
            self.per_sweep = last.e_seconds * larger + last.m_seconds

    def __call__(self, report: Any) -> bool:
        """Keep a report; stop where updates alone take long."""
        self._reports.append(report)
        return not self._sweeps and perf_counter() - self._started > TRIAL_SECONDS

    def seconds(self, n_docs: int, n_passes: int, n_sweeps: int = 0) -> float:
        """Return how long so many passes and sweeps take."""
        return n_docs * n_passes * self.per_document + n_sweeps * self.per_sweep


def _spread(X: Any, n: int) -> Any:
    """Return so many documents at most, evenly spread."""
    import numpy as np

    if X.shape[0] <= n:
        return X
    return X[np.linspace(0, X.shape[0] - 1, n).astype(np.int64)]


class Scored:
    """A display that is told now and then how well the topics predict some documents."""

    def __init__(self, display: Any, documents: Any) -> None:
        self._display, self._documents = display, documents
        self.needs_gap = display.needs_gap

    def begin(self, model: Any) -> None:
        """Start the clock."""
        self._started, self._spent = perf_counter(), 0.0
        self._display.begin(model)

    def __call__(self, report: Any, /) -> None:
        """Pass a report on, with a score if it is time."""
        begun = perf_counter()
        if self._spent <= SCORING_SHARE * (begun - self._started):
            score = report.model.score(self._documents, n_splits=1)
            report = replace(report, held_out_score=score)
            self._spent += perf_counter() - begun
        self._display(report)

    def end(self, model: Any) -> None:
        """Leave the display as it is."""
        self._display.end(model)


def to_score(X: Any) -> Any:
    """Return some documents of two tokens and more, evenly spread; None if none has."""
    import numpy as np

    long = X[np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() >= 2)]
    return _spread(long, N_SCORED) if long.shape[0] else None


def print_fitted(
    model: Any, corpus: Any, facts: dict[str, Any], held_out: Any, *, as_json: bool, show: Show
) -> None:
    """Sum up a fit; `facts` are those of the JSON that neither model nor corpus knows."""
    skipped_documents(corpus.n_skipped, corpus.problems, show)
    if show.quiet and not as_json:
        return  # without scoring, which takes time
    scored = to_score(corpus.X) if held_out is None else held_out
    score = None if scored is None else float(model.score(scored))
    topics = heaviest(model)
    found = topic_facts(model.coherence_, model.topic_stability_, seeds_found(model))
    if as_json:
        print_json(
            {
                **facts,
                "learner": learner_name(model),
                "topics": model.n_components,
                "preset": getattr(model, "preset", None),
                "batch_size": model._schedule(len(corpus)).batch_size,
                "seed": model.random_state,
                "updates": model.n_batch_iter_,
                "documents": len(corpus),
                "words": corpus.X.shape[1],
                "tokens": float(corpus.X.sum()),
                "empty_documents": corpus.n_empty,
                "skipped_documents": corpus.n_skipped,
                "near_copies": corpus.n_duplicates,
                "problems": list(corpus.problems),
                "documents_seen": model.n_docs_seen_,
                "held_out_score": None if held_out is None else plain(score),
                "training_score": plain(score) if held_out is None else None,
                **found,
                "first_topics": [topic_as_plain(row) for row in topics],
            }
        )
        return
    n_docs, empty = len(corpus), f" ({corpus.n_empty:,} empty)" if corpus.n_empty else ""

    def time(told: str, seconds: float) -> str:
        return f"{duration(seconds)} ({count(n_docs, 'document')}{told}, {speed(n_docs, seconds)})"

    n_passes = facts["runs"] * (facts["passes"] + facts["sweeps"])
    lines = [
        ("documents", f"{n_docs:,}{empty}"),
        ("words", f"{corpus.X.shape[1]:,} ({count(float(corpus.X.sum()), 'token')})"),
        ("topics", f"{model.n_components:,} by {how_learned(model)}"),
        ("reading", time("", facts["reading_seconds"])),
        ("learning", time(f", {count(n_passes, 'pass', 'passes')}", facts["learning_seconds"])),
    ]
    if score is not None:
        name, which = ("held-out", "") if held_out is not None else ("score", LEARNED_FROM)
        lines.append((name, f"{score:.4f} per word (perplexity {exp(-score):,.1f}){which}"))
    if found["coherence"] is not None:
        below = f"{found['incoherent_topics']:,} of {model.n_components:,} topics below 0"
        lines.append(("coherence", f"{found['coherence']:.3f} (NPMI; {below})"))
    if "stability" in found:
        said = f"{found['stability']:.2f} (words in common with the other runs)"
        lines.append(("stability", said))
    if "seed_words_in_top_20" in found:
        lines.append(("seed words", seeds_text(found["seed_words_in_top_20"])))
    print_facts([*lines, ("model", facts["model"])])
    print_line()
    print_topics(topics)
    note_similar(model.components_, facts["model"], show)
