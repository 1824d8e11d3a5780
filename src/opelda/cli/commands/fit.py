"""`opelda fit`: topics of a collection."""

from time import perf_counter
from typing import Annotated, Any

import typer

from opelda.cli import _defaults as defaults
from opelda.cli._app import command
from opelda.cli._choices import complete_model
from opelda.cli._errors import StoppedError
from opelda.cli._fitted import Fitted, print_fitted
from opelda.cli._learners import changed, new_learner
from opelda.cli._models import load_model
from opelda.cli._numbers import count
from opelda.cli._options import AsJson, Jobs, Learning, Reading, Show, Sources, Text
from opelda.cli._output import note
from opelda.cli._paths import check_model_output
from opelda.cli._progress import learning_display
from opelda.cli._reading import check_words, read_corpus, refuse_text_options
from opelda.cli._signals import undisturbed
from opelda.errors import InputError

OUTPUT = "model.opelda"


@command(
    "fit",
    "opelda fit texts.txt",
    "opelda fit articles.jsonl.gz -t title -t body -k 50 -o articles.opelda",
    "opelda fit titles.txt -k 100 --sweeps 100",
    "opelda fit docword.nips.txt.gz -k 100 --passes 10 --valid held-out.txt",
    "zcat logs.gz | opelda fit - -k 20 --stop-words none --json",
    "opelda fit more.txt --continue articles.opelda",
)
def fit(
    corpus: Sources,
    topics: Annotated[
        int | None,
        typer.Option(
            "--topics",
            "-k",
            help="Number of topics; by default one for 50 documents, from 5 to 100.",
            min=1,
            metavar="K",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help=f"Where the model goes; {OUTPUT}.", metavar="FILE"),
    ] = None,
    valid: Annotated[
        str | None,
        typer.Option(help="Held-out documents to score the topics on.", metavar="CORPUS"),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--continue",
            help="Go on with this model, with its words, from these documents.",
            metavar="MODEL",
            autocompletion=complete_model,
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    passes: Annotated[
        int | None,
        typer.Option(
            help="Times through the collection; by default so many that 300,000 documents are "
            "seen, from 1 to 20.",
            min=1,
            rich_help_panel="Learning",
        ),
    ] = None,
    sweeps: Annotated[
        int,
        typer.Option(
            help="Closing sweeps of Gibbs sampling through the collection: better topics for more "
            "time; 100 are plenty, most of all for short texts.",
            min=0,
            rich_help_panel="Learning",
        ),
    ] = 0,
    learning: Learning = Learning(),
    reading: Reading = Reading(),
    text: Text = Text(),
    show: Show = Show(),
) -> None:
    """Learn the topics of a collection and save them as a model.

    Ctrl-C stops early and saves what was learned so far.
    """
    if resume is not None and topics is not None:
        raise InputError("-k has no effect here: the model keeps its topics; leave it out.")
    if resume is not None and sweeps:
        raise InputError("--sweeps has no effect with --continue, which only adds; leave one out.")
    place = check_model_output(output or resume or OUTPUT, corpus)
    model = None if resume is None else load_model(resume, jobs)
    begun = perf_counter()
    try:
        if model is None:
            documents = read_corpus(corpus, reading, text, show, jobs=jobs)
        else:
            documents = _for_model(model, corpus, reading, text, show, jobs)
        check_words(documents)
        held_out = None if valid is None else _held_out(valid, documents, reading, show, jobs)
    except KeyboardInterrupt:
        raise StoppedError(
            "stopped while reading; nothing was learned and nothing written."
        ) from None
    reading_seconds = perf_counter() - begun
    n_docs = len(documents)
    n_passes = passes or (defaults.n_passes(n_docs) if model is None else 1)
    if model is None:
        n_topics = topics or defaults.n_topics(n_docs)
        size = defaults.batch_size(n_docs)
        model = new_learner(
            learning,
            n_topics,
            batch_size=size,
            jobs=jobs,
            callbacks=learning_display(show),
            n_passes=n_passes,
            sweeps=sweeps,
        )
        note(show, _chosen(documents, model, topics, passes))
        learn = _from_scratch
    else:
        changed(model, learning, n_passes=n_passes, callbacks=learning_display(show))
        note(show, f"going on with {resume} on {count(n_docs, 'document')}.")
        learn = _more
    begun = perf_counter()
    interrupted = False
    try:
        learn(model, documents, held_out, n_passes)
    except KeyboardInterrupt:
        interrupted = True
    learning_seconds = perf_counter() - begun
    if interrupted and not getattr(model, "n_batch_iter_", 0):
        raise StoppedError(
            "stopped before the first update; nothing was learned and nothing written."
        )
    with undisturbed():
        _save(model, place)
    print_fitted(
        Fitted(
            model=model,
            path=str(place),
            corpus=documents,
            held_out=None if interrupted else held_out,
            reading_seconds=reading_seconds,
            learning_seconds=learning_seconds,
            interrupted=interrupted,
        ),
        as_json=as_json,
        show=show,
    )
    if interrupted:
        sources = " ".join(corpus)
        raise StoppedError(
            f"stopped after {count(model.n_batch_iter_, 'update')}; what was learned is in "
            f"{place}. Go on with: opelda fit {sources} --continue {place}"
        )


def _from_scratch(model: Any, documents: Any, held_out: Any, n_passes: int) -> None:
    n_updates = n_passes * -(-len(documents) // model.batch_size)
    model.fit(documents, validation=held_out, validate_every=max(10, n_updates // 10))


def _more(model: Any, documents: Any, held_out: Any, n_passes: int) -> None:
    """Go on with the documents in a random order, a new one for each pass."""
    import numpy as np

    for number in range(n_passes):
        seed = [model._state.seed, model.n_batch_iter_, number]
        order = np.random.default_rng(seed).permutation(len(documents))
        model.partial_fit(documents.X[order])


def _for_model(
    model: Any, corpus: list[str], reading: Reading, text: Text, show: Show, jobs: int | None
) -> Any:
    """Read documents as a model's own tokenizer makes them into words."""
    from opelda.cli._blocks import Columns, read_over

    columns = Columns.of(model)
    if columns.words is not None:
        refuse_text_options(text, "the model makes texts into words as it learned to")
    return read_over(columns, corpus, reading, show, jobs)


def _held_out(valid: str, documents: Any, reading: Reading, show: Show, jobs: int | None) -> Any:
    """Read the documents to score on, which are counted with the collection's own words."""
    from dataclasses import replace

    from opelda.cli._blocks import Columns, read_over

    columns = Columns(documents.vocabulary, documents.X.shape[1])
    return read_over(columns, [valid], replace(reading, limit=None, name_column=None), show, jobs).X


def _chosen(documents: Any, model: Any, topics: int | None, passes: int | None) -> str:
    """Say what was chosen for this collection."""
    chosen = [
        f"{count(model.n_components, 'topic')}" + (" (choose with -k)" if topics is None else ""),
        f"{count(model.n_passes, 'pass', 'passes')}" + (" (--passes)" if passes is None else ""),
        f"{count(model.batch_size, 'document')} per update",
    ]
    if getattr(model, "n_sweeps", None):
        chosen.append(count(model.n_sweeps, "closing sweep"))
    n_docs, n_words = documents.X.shape
    return f"{count(n_docs, 'document')} of {count(n_words, 'word')}: {', '.join(chosen)}."


def _save(model: Any, path: Any) -> None:
    import opelda

    model.set_params(n_jobs=None, verbose=0)  # this machine's and this command's, not the model's
    opelda.save(model, path)
