"""`opelda fit`: topics of a collection."""

import shlex
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

from opelda.cli import _inputs as inputs
from opelda.cli import _options as options
from opelda.cli._app import command, option
from opelda.cli._callbacks import learning_display, name_markup
from opelda.cli._exit import Stop, StoppedError
from opelda.cli._outputs import check_model_output, save_model
from opelda.cli._terminal import count, note
from opelda.cli.commands._fit_report import Scored, announce, print_fitted, to_score
from opelda.errors import InputError

OUTPUT = "model.opelda"


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
    output: str | None = option("--output -o FILE", f"Where the model goes; {OUTPUT}."),
    valid: str | None = option("--valid CORPUS", "Held-out documents to score the topics on."),
    resume: str | None = option(
        "--continue MODEL",
        "Continue this model, with its words, on these documents.",
        autocompletion=options.complete_model,
    ),
    n_jobs: int | None = options.JOBS,
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
        model = inputs.on_machine(inputs.new_learner(learning, n_components), n_jobs, engine)
    else:
        if n_components is not None:
            raise InputError("-k has no effect with --continue; leave one out.")
        options.refuse(text, "the model makes texts into words as it learned to")
        model = inputs.changed(inputs.load_model(resume, n_jobs, engine), learning)
    begun = perf_counter()
    try:
        if resume is None:
            documents = inputs.read_corpus(corpus, reading, text, n_jobs)
        else:
            documents = inputs.read_over(inputs.columns_of(model), corpus, reading)
        if not documents.X.nnz:
            raise InputError("The documents have no words; see `opelda info`.")
        held_out = None if valid is None else _held_out(valid, documents, reading, n_jobs)
    except KeyboardInterrupt:
        raise StoppedError("stopped while reading; nothing was learned.") from None
    reading_seconds = perf_counter() - begun
    if resume is None:
        schedule = model._schedule(len(documents))
        n_passes, n_sweeps = schedule.n_passes, schedule.n_sweeps
        announce(documents, model, n_components)
        if documents.vocabulary is not None:
            known = documents.vocabulary
            name_markup(known, known.document_frequency, len(documents))
        learn = partial(model.fit, documents)
    else:
        n_passes, n_sweeps = learning.n_passes or 1, 0
        note(f"going on with {resume} on {count(len(documents), 'document')}.")
        learn = partial(_more, model, documents, n_passes)
    display = learning_display(lines=True)
    scored = to_score(documents.X if held_out is None else held_out)
    if display is not None and scored is not None:
        display = Scored(display, scored)
    # from here to the report a signal cuts short the learning alone: the model is always saved
    with Stop() as stop:
        model.callbacks = [stop] if display is None else [display, stop]
        begun = perf_counter()
        stop.attempt(learn)
        interrupted, learning_seconds = stop.stopped, perf_counter() - begun
        if interrupted and not getattr(model, "n_batch_iter_", 0):
            raise StoppedError("stopped before the first update; nothing was learned.")
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
        report = partial(print_fitted, model, documents, facts, valid_X, as_json=as_json)
        # scoring takes a while, so that another Ctrl-C ends it
        report() if interrupted else stop.attempt(report)
    again, named = inputs.as_given(corpus, reading), shlex.quote(str(path))
    if interrupted:
        raise StoppedError(
            f"stopped after {count(model.n_batch_iter_, 'update')}; what was learned is in "
            f"{path}. Go on with: opelda fit {again} --continue {named}"
        )
    if stop.stopped:
        raise StoppedError(f"stopped; the model is in {path}.")
    note(
        f"saved as {path}. Next: `opelda topics {named}`, `opelda report {named} {again} -o "
        f"report.html`, or `opelda transform {named} {again} -o theta.parquet`."
    )


def _more(model: Any, documents: Any, n_passes: int) -> None:
    """Continue with the documents in a random order, another order for each pass."""
    import numpy as np

    # the order depends on the updates before, so that continuing never repeats an order
    for number in range(n_passes):
        seed = [model._state.seed, model.n_batch_iter_, number]
        order = np.random.default_rng(seed).permutation(len(documents))
        model.partial_fit(documents.X[order])


def _held_out(
    valid: str, documents: Any, reading: options.NamelessReading, jobs: int | None
) -> Any:
    """Read the documents to score on, which are counted with the collection's own words."""
    from opelda.metrics._predictive import can_be_split

    columns = documents.vocabulary, documents.X.shape[1], jobs
    found = inputs.read_over(columns, [valid], replace(reading, limit=None)).X
    if not can_be_split(found):
        raise InputError(f"No document in {valid} has two tokens to score; choose others.")
    return found
