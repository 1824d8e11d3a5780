"""`opelda fit`: topics of a collection."""

import shlex
from dataclasses import replace
from functools import partial
from math import exp
from time import perf_counter
from typing import Any

from opelda.cli import _inputs as inputs
from opelda.cli import _options as options
from opelda.cli import _terminal as terminal
from opelda.cli._app import command, option
from opelda.cli._callbacks import learning_display, name_markup
from opelda.cli._exit import Stop, StoppedError
from opelda.cli._outputs import check_model_output, save_model
from opelda.cli._terminal import count, note, noted
from opelda.errors import InputError

OUTPUT = "model.opelda"
FEW_ROWS = 50_000  # documents that a spreadsheet shows without delay


@command(
    "opelda fit texts.txt -k 20",
    "opelda fit articles.jsonl.gz -t title -t body -k 50 -o articles.opelda",
    "zcat logs.gz | opelda fit - -k 20 --stop-words none --json",
    "opelda fit more.txt --continue articles.opelda",
)
def fit(
    *,
    corpus: list[str] = options.SOURCES,
    n_components: int | None = options.TOPICS,
    output: str | None = option("--output -o FILE", f"Path of the model; default: {OUTPUT}."),
    valid: str | None = option("--valid CORPUS", "Held-out documents for the score."),
    resume: str | None = option(
        "--continue MODEL",
        "Model to continue, with its vocabulary.",
        autocompletion=options.complete_model,
    ),
    embeddings: str | None = options.EMBEDDINGS,
    prevalence: str | None = options.PREVALENCE,
    content: str | None = options.CONTENT,
    learning: options.CollectionLearning,
    reading: options.NamelessReading,
    text: options.Text,
    engine: str | None = options.ENGINE,
    as_json: bool = options.AS_JSON,
) -> None:
    """Learn the topics of a collection and save them as a model.

    It is [bold]opelda.TopicModel(K, preset=..., random_state=SEED)[/bold]. Ctrl-C stops early and
    saves the model.
    """
    path = check_model_output(output or resume or OUTPUT, corpus)
    if resume is None:
        model = inputs.on_machine(
            inputs.new_learner(learning, n_components), reading.n_jobs, engine
        )
    else:
        new = {"-k": n_components, "--embeddings": embeddings}
        new |= {"--prevalence": prevalence, "--content": content}
        for which in (name for name, value in new.items() if value is not None):
            raise InputError(f"{which} has no effect with --continue; remove one of the options.")
        options.refuse(text, "the model's tokenizer is fixed")
        model = inputs.changed(inputs.load_model(resume, reading.n_jobs, engine), learning)
    begun = perf_counter()
    try:
        if resume is None:
            given = inputs.Embeddings(embeddings)
            kept = inputs.with_columns(given.reading, prevalence, content)
            with noted():
                documents = inputs.read_corpus(corpus, reading, text, **kept)
            vectors = given.of(documents)
            if reading.limit is None:
                given.end()
        else:
            documents = inputs.read_over(inputs.columns_of(model), corpus, reading)
        if not documents.X.nnz:
            raise InputError("The documents have no words; see `opelda info`.")
        held_out = None
        if valid is not None:  # counted with the collection's own words
            from opelda.metrics._predictive import can_be_split

            columns = documents.vocabulary, documents.X.shape[1]
            held_out = inputs.read_over(columns, [valid], replace(reading, limit=None)).X
            if not can_be_split(held_out):
                raise InputError(
                    f"No document in {valid} has two tokens to score; choose other documents."
                )
    except KeyboardInterrupt:
        raise StoppedError("stopped while reading; no model was saved.") from None
    reading_seconds = perf_counter() - begun
    if resume is None:
        schedule = model._schedule(len(documents))
        n_passes, n_sweeps = schedule.n_passes, schedule.n_sweeps
        _announce(documents, model, n_components)
        if documents.vocabulary is not None:
            known = documents.vocabulary
            name_markup(known, known.document_frequency, len(documents))
        learn = partial(
            model.fit, documents, embeddings=vectors, prevalence=prevalence, content=content
        )
    else:
        n_passes, n_sweeps = learning.n_passes or 1, 0
        note(f"continuing {resume} with {count(len(documents), 'document')}.")
        learn = partial(_more, model, documents, n_passes)
    display = learning_display(lines=True)
    if display is not None and not terminal.VERBOSITY.verbose:
        display.tell, display.wait = _time_left, 1.0  # first updates are slow
    # from here to the report a signal cuts short the learning alone: the model is always saved
    with Stop() as stop:
        model.callbacks = [stop] if display is None else [display, stop]
        begun = perf_counter()
        stop.attempt(learn)
        interrupted, learning_seconds = stop.stopped, perf_counter() - begun
        if interrupted and not getattr(model, "n_batch_iter_", 0):
            raise StoppedError("stopped before the first update; no model was saved.")
        save_model(model, path)
        facts = {
            "model": str(path),
            "passes": n_passes,
            "sweeps": n_sweeps,
            "runs": model.n_runs if resume is None and not interrupted else 1,
            "reading_seconds": reading_seconds,
            "learning_seconds": learning_seconds,
            "interrupted": interrupted,
        }
        valid_X = None if interrupted else held_out
        report = partial(_print_fitted, model, documents, facts, valid_X, as_json=as_json)
        # scoring takes a while, so that another Ctrl-C ends it
        report() if interrupted else stop.attempt(report)
    again, named = inputs.as_given(corpus, reading), shlex.quote(str(path))
    if interrupted:
        raise StoppedError(
            f"stopped after {count(model.n_batch_iter_, 'update')}; the partial model is in "
            f"{path}. Continue with: opelda fit {again} --continue {named}"
        )
    if stop.stopped:
        raise StoppedError(f"stopped; the model is in {path}.")
    table = "theta.xlsx" if len(documents) <= FEW_ROWS else "theta.parquet"
    note(
        f"saved as {path}. Next:",
        f"opelda topics {named} {again} --docs 3",
        f"opelda report {named} {again} -o report.html",
        f"opelda transform {named} {again} -o {table}",
    )


def _more(model: Any, documents: Any, n_passes: int) -> None:
    """Continue with the documents in a random order, another order for each pass."""
    import numpy as np

    # the order depends on the updates before, so that continuing never repeats an order
    for number in range(n_passes):
        seed = [model._state.seed, model.n_batch_iter_, number]
        order = np.random.default_rng(seed).permutation(len(documents))
        model.partial_fit(documents.X[order])


def _time_left(report: Any, *_: Any) -> str:
    """Return the time that learning still takes."""
    from opelda.learning._listeners import seconds_left

    seconds = seconds_left(report)
    left = f"about {terminal.duration(max(seconds, 1), 0)} left" if seconds else "done"
    return f"learning {count(report.model.n_components, 'topic')}: {left}"


def _announce(documents: Any, model: Any, topics: int | None) -> None:
    """Say how topics are learned, and what to know about the documents before."""
    if terminal.VERBOSITY.quiet:
        return
    import numpy as np

    from opelda.corpus.text._languages import languages

    model._plan(listen=False)  # rejects unusable settings before it says them
    n_docs, n_words = documents.X.shape
    schedule = model._schedule(n_docs)
    chosen = [
        count(model.n_components, "topic"),
        _how_learned(model),
        count(schedule.n_passes, "pass", "passes"),
        f"{count(schedule.batch_size, 'document')} per update",
        count(schedule.n_sweeps, "closing sweep"),
        count(model.n_runs, "run"),
        f"seed {model.random_state}",
    ]
    counted = f"{count(n_docs, 'document')} of {count(n_words, 'word')}"
    words = documents.vocabulary and documents.vocabulary.tokenizer.stop_words
    if isinstance(words, str) and words in languages():
        counted += f" ({languages()[words].title()} stop words left out)"
    if terminal.VERBOSITY.verbose:
        note(f"{counted}: {', '.join(chosen)}.")
    if topics is None and n_docs < 50 * model.n_components:
        fewer = max(2, n_docs // 50)
        note(f"too many topics for this number of documents; try -k {fewer}.")
    lengths = np.sort(documents.X.sum(axis=1))
    longest = lengths[-max(n_docs // 100, 1) :]
    if n_docs >= 50 and longest.sum() > 0.3 * lengths.sum():
        which = "the longest document has" if len(longest) == 1 else "1% of the documents have"
        note(
            f"{which} {longest.sum() / lengths.sum():.0%} of all words, and may have topics of "
            "its own; exclude or split long files."
        )
    # of 100,000 abstracts, copies are found in 0.6 s of one core, and sweeps take 60 s
    copies = _near_copies(documents, n_docs if schedule.n_sweeps else 20_000)
    if copies:
        note(copies)


def _near_copies(documents: Any, n: int) -> str:
    """Return a sentence on near copies among the first n documents, from 5% on."""
    if documents.n_duplicates:
        return f"{count(documents.n_duplicates, 'near duplicate')} removed."
    import numpy as np

    from opelda.corpus import near_duplicates

    found = near_duplicates(documents.X[:n], n_bands=2)
    copies = np.flatnonzero(found >= 0)
    if len(copies) < 0.05 * len(found):
        return ""
    which = "" if len(found) == len(documents) else f" first {len(found):,}"
    return (
        f"at least {len(copies) / len(found):.0%} of the{which} documents are near "
        f"duplicates; document {copies[0]:,} is a duplicate of document {found[copies[0]]:,}; "
        "remove duplicates with --dedupe."
    )


def _how_learned(model: Any) -> str:
    """Return the preset or the learner that topics come from."""
    return (
        f"preset {model.preset}"
        if hasattr(model, "preset")
        else options.dashed(type(model).__name__)
    )


def to_score(X: Any) -> Any:
    """Return at most 200 documents of two tokens and more, evenly spread; None without any."""
    import numpy as np

    long = np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() >= 2)
    if len(long) > 200:
        long = long[np.linspace(0, len(long) - 1, 200).astype(np.int64)]
    return X[long] if len(long) else None


def _print_fitted(
    model: Any, corpus: Any, facts: dict[str, Any], held_out: Any, *, as_json: bool
) -> None:
    """Sum up a fit; `facts` are entries of the JSON beside the model's and the corpus's."""
    verbose = terminal.VERBOSITY.verbose
    if terminal.VERBOSITY.quiet and not as_json:
        return  # without scoring, which takes time
    scored = to_score(corpus.X) if held_out is None and (verbose or as_json) else held_out
    score = None if scored is None else float(model.score(scored))
    topics, (n_docs, n_words) = terminal.heaviest(model), corpus.X.shape
    found = inputs.topic_facts(model.coherence_, model.topic_stability_, inputs.seeds_found(model))
    if as_json:
        terminal.print_json(
            {
                **facts,
                "learner": options.dashed(type(model).__name__),
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

    empty = f" ({corpus.n_empty:,} empty)" if corpus.n_empty else ""
    lines = [
        ("documents", f"{n_docs:,}{empty}"),
        ("words", f"{n_words:,} ({count(float(corpus.X.sum()), 'token')})"),
        ("topics", f"{model.n_components:,} by {_how_learned(model)}"),
        ("reading", terminal.duration(facts["reading_seconds"])),
        ("learning", terminal.duration(facts["learning_seconds"])),
    ]
    if score is not None:
        of = "documents learned from" if held_out is None else "held-out documents"
        perplexity = f"1 in {exp(-score):,.1f} words (perplexity; {score:.4f} per word)"
        lines.append(("prediction", f"{perplexity}, of {of}"))
    if found["coherence"] is not None:
        below = f"{found['incoherent_topics']:,} of {model.n_components:,} topics below 0"
        lines.append(
            (
                "coherence",
                f"{found['coherence']:.3f} (1: words always co-occur, 0: "
                f"independent words; {below})",
            )
        )
    if "stability" in found:
        said = f"{found['stability']:.2f} (overlap of top words with the other runs)"
        lines.append(("stability", said))
    if "seed_words_in_top_20" in found:
        lines.append(("seed words", inputs.seeds_text(found["seed_words_in_top_20"])))
    if not verbose:
        lines = [line for line in lines if line[0] == "prediction"]  # of --valid
    if lines:
        terminal.print_facts(lines)
        terminal.print_line()
    terminal.print_topics(topics)
    terminal.note_similar(model.components_, facts["model"])
