"""`opelda fit`: topics of a collection."""

from time import perf_counter
from typing import Annotated, Any

import typer

from opelda.cli._app import command
from opelda.cli._choices import complete_model
from opelda.cli._errors import StoppedError
from opelda.cli._fitted import Fitted, how, print_fitted
from opelda.cli._learners import changed, new_learner
from opelda.cli._models import load_model, on_machine
from opelda.cli._numbers import count, roughly
from opelda.cli._options import (
    LEARNING,
    AsJson,
    Engine,
    Jobs,
    Learning,
    Reading,
    Show,
    Sources,
    Text,
)
from opelda.cli._output import note
from opelda.cli._paths import check_model_output
from opelda.cli._progress import Scored, learning_display, to_score
from opelda.cli._reading import check_words, read_corpus, refuse_text_options
from opelda.cli._signals import undisturbed
from opelda.errors import InputError

OUTPUT = "model.opelda"
# fewer documents for each topic than these, and the user is told
DOCUMENTS_PER_TOPIC = 50


@command(
    "fit",
    "opelda fit texts.txt -k 20",
    "opelda fit articles.jsonl.gz -t title -t body -k 50 -o articles.opelda",
    "opelda fit titles.txt -k 100 --preset fast",
    "opelda fit docword.nips.txt.gz -k 100 --passes 10 --valid held-out.txt",
    "opelda fit abstracts.txt -k 100 --learner ml-ope",
    "zcat logs.gz | opelda fit - -k 20 --stop-words none --json",
    "opelda fit more.txt --continue articles.opelda",
)
def fit(
    corpus: Sources,
    topics: Annotated[
        int | None,
        typer.Option("--topics", "-k", help="Number of topics; 100.", min=1, metavar="K"),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help=f"Where the model goes; {OUTPUT}.", metavar="FILE"),
    ] = None,
    valid: Annotated[
        str | None,
        typer.Option(
            help="Held-out documents to score the topics on; if not given, some of those learned "
            "from are.",
            metavar="CORPUS",
        ),
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
    engine: Engine = None,
    as_json: AsJson = False,
    learning: Learning = Learning(),
    passes: Annotated[
        int | None,
        typer.Option(
            help="Times through the collection; by default so many that a million documents are "
            "seen (fast: 100,000), at most 20; paper: one.",
            min=1,
            metavar="N",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            help="Closing sweeps of Gibbs sampling through the collection: better topics for more "
            "time, most of all for short texts; best: 150, fast and paper: none.",
            min=0,
            metavar="N",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    reading: Reading = Reading(),
    text: Text = Text(),
    show: Show = Show(),
) -> None:
    """Learn the topics of a collection and save them as a model.

    The topics are those of [bold]opelda.TopicModel(K, preset=..., random_state=SEED)[/bold]. Ctrl-C
    stops early and saves what was learned so far.
    """
    for given, option in ((topics, "-k"), (sweeps, "--sweeps")):
        if resume is not None and given is not None:
            raise InputError(f"{option} has no effect with --continue; leave one out.")
    place = check_model_output(output or resume or OUTPUT, corpus)
    if resume is None:
        model = new_learner(learning, topics, n_passes=passes, n_sweeps=sweeps)
        on_machine(model, jobs, engine)
    else:
        model = changed(load_model(resume, jobs, engine), learning)
    begun = perf_counter()
    try:
        if resume is None:
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
    schedule = model._schedule(len(documents))
    n_passes, n_sweeps = schedule.n_passes, schedule.n_sweeps
    if resume is None:
        for line in _announced(documents, model, topics, show):
            note(show, line)
    else:
        n_passes, n_sweeps = passes or 1, 0
        note(show, f"going on with {resume} on {count(len(documents), 'document')}.")
    display = learning_display(show, lines=True)
    scored = to_score(documents.X if held_out is None else held_out)
    model.callbacks = display if display is None or scored is None else Scored(display, scored)
    begun = perf_counter()
    interrupted = False
    try:
        if resume is None:
            model.fit(documents)
        else:
            _more(model, documents, n_passes)
    except KeyboardInterrupt:
        interrupted = True
    learning_seconds = perf_counter() - begun
    if interrupted and not getattr(model, "n_batch_iter_", 0):
        raise StoppedError(
            "stopped before the first update; nothing was learned and nothing written."
        )
    with undisturbed():
        import opelda

        opelda.save(model, place)
    print_fitted(
        Fitted(
            model=model,
            path=str(place),
            corpus=documents,
            held_out=None if interrupted else held_out,
            n_passes=n_passes,
            n_sweeps=n_sweeps,
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


def _more(model: Any, documents: Any, n_passes: int) -> None:
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
    from opelda.metrics._split import can_be_split

    columns = Columns(documents.vocabulary, documents.X.shape[1])
    found = read_over(
        columns, [valid], replace(reading, limit=None, name_column=None), show, jobs
    ).X
    if not can_be_split(found):
        raise InputError(
            f"There is no document to score in {valid}: none has two tokens that the collection "
            "has; choose others."
        )
    return found


def _announced(documents: Any, model: Any, topics: int | None, show: Show) -> list[str]:
    """Say what is learned and how long it takes; a trial on a few documents tells."""
    n_docs, n_words = documents.X.shape
    schedule = model._schedule(n_docs)
    chosen = [
        count(model.n_components, "topic") + (" (choose with -k)" if topics is None else ""),
        how(model),
        count(schedule.n_passes, "pass", "passes"),
        f"{count(schedule.batch_size, 'document')} per update",
    ]
    if schedule.n_sweeps:
        chosen.append(count(schedule.n_sweeps, "closing sweep"))
    chosen.append(f"seed {model.random_state}")
    lines = [f"{count(n_docs, 'document')} of {count(n_words, 'word')}: {', '.join(chosen)}."]
    if topics is None and n_docs < DOCUMENTS_PER_TOPIC * model.n_components:
        fewer = max(2, n_docs // DOCUMENTS_PER_TOPIC)
        lines.append(f"these are many topics for so few documents; -k {fewer} may say more.")
    if not show.quiet:
        lines.extend(_how_long(model, documents.X))
    return lines


def _how_long(model: Any, X: Any) -> list[str]:
    from opelda.cli._estimate import MOST_WEIGHTS, Rates

    if model.n_components * X.shape[1] > MOST_WEIGHTS:
        return []
    n_docs, rates = X.shape[0], Rates(model, X)
    schedule = model._schedule(n_docs)
    seconds = rates.seconds(n_docs, schedule.n_passes, schedule.n_sweeps)
    said = f"it takes about {roughly(seconds)}"
    if getattr(model, "preset", None) == "best":
        from opelda.learning._presets import PRESETS

        fast = PRESETS["fast"].settings(n_docs)
        faster = roughly(rates.seconds(n_docs, fast["n_passes"], fast["n_sweeps"]))
        said += "; --preset fast takes " + ("less" if faster in said else f"about {faster}")
    return [f"{said}."]
