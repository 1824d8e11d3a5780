"""`opelda stream`: topics of documents that keep coming."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from opelda.cli._app import command
from opelda.cli._errors import StoppedError
from opelda.cli._learners import check_same, new_learner
from opelda.cli._models import on_machine
from opelda.cli._numbers import count
from opelda.cli._options import AsJson, Engine, Jobs, Learning, Reading, Show, Text
from opelda.cli._output import note, print_json
from opelda.cli._paths import check_model_output
from opelda.cli._progress import learning_display
from opelda.cli._reading import (
    given_options,
    is_pattern,
    reading_options,
    source_of,
    tokenizer_of,
)
from opelda.cli._signals import undisturbed
from opelda.cli._stopping import Stoppable
from opelda.cli._summaries import Summaries
from opelda.cli._topic_rows import heaviest, print_topics
from opelda.errors import InputError

MAX_FEATURES = 100_000


@command(
    "stream",
    "tail -F access.log | opelda stream - --checkpoint state",
    "opelda stream feed.jsonl --follow --checkpoint state -k 50",
    "opelda stream incoming/ --follow --checkpoint state -o today.opelda",
    "opelda topics state",
)
def stream(
    source: Annotated[
        list[str],
        typer.Argument(
            help="Files, a folder, or - for standard input.", metavar="SOURCE", show_default=False
        ),
    ],
    checkpoint: Annotated[
        str,
        typer.Option(
            help="Folder that keeps the model and the place in the source; the same command again "
            "goes on from there.",
            metavar="DIR",
            show_default=False,
        ),
    ],
    topics: Annotated[
        int | None,
        typer.Option("--topics", "-k", help="Number of topics; 100.", min=1, metavar="K"),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Save the model here too, at the end.", metavar="FILE"),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Wait for more: lines written to the file, files put into the folder."
        ),
    ] = False,
    every: Annotated[
        int, typer.Option(help="Updates between two checkpoints.", min=1, metavar="N")
    ] = 50,
    summary_every: Annotated[
        int,
        typer.Option(
            help="Documents between two summaries of the topics; 0 is never.", min=0, metavar="N"
        ),
    ] = 100_000,
    no_skip: Annotated[
        bool,
        typer.Option(
            "--no-skip",
            help="Standard input goes on where the last run stopped; without, it is taken to begin "
            "anew, and what was learned from already is skipped.",
        ),
    ] = False,
    jobs: Jobs = None,
    engine: Engine = None,
    as_json: AsJson = False,
    learning: Learning = Learning(),
    reading: Reading = Reading(),
    text: Text = Text(),
    show: Show = Show(),
) -> None:
    """Learn topics from documents that keep coming, in bounded memory, for as long as they do.

    The vocabulary grows with the stream. After Ctrl-C or a crash the same command goes on. Closing
    sweeps need the whole collection: a stream has none, whatever the preset.
    """
    _check(source, text, follow, no_skip)
    place = None if output is None else check_model_output(output, source)
    former = _former(checkpoint)
    model = on_machine(_learner(former, checkpoint, learning, topics), jobs, engine)
    documents = Stoppable(_open(source, reading, text, model, follow, jobs), not no_skip)
    if former is not None:
        _check_same_words(documents.vocabulary, former, checkpoint, text)
        n_docs = count(former.n_docs_seen_, "document")
        note(show, f"going on from {checkpoint} after {n_docs}.")
        del former  # fit_stream reads it again
    listeners = (learning_display(show), Summaries(show, summary_every) if summary_every else None)
    model.callbacks = [listener for listener in listeners if listener is not None]
    with documents.listening():
        try:
            model.fit_stream(documents, checkpoint=checkpoint, every=every)
        except InputError:
            if documents.stopped and not hasattr(model, "_state"):
                needed = count(model._schedule().batch_size, "document")
                raise StoppedError(
                    f"stopped before there were {needed} to learn from; nothing was learned."
                ) from None
            raise
        with undisturbed():
            if place is not None:
                _save(model, place)
            _report(model, documents, checkpoint, place, as_json, show)
    if documents.stopped:
        raise StoppedError(f"stopped; the same command goes on from {checkpoint}.")


def _check(source: list[str], text: Text, follow: bool, no_skip: bool) -> None:
    if follow and (len(source) > 1 or is_pattern(source[0])):
        raise InputError("--follow takes one file or one folder; give one, or leave it out.")
    for name in ("min_df", "max_df"):
        if getattr(text, name) is not None:
            raise InputError(
                f"--{name.replace('_', '-')} needs the whole collection, and a stream has no end; "
                "leave it out, or use `opelda fit`."
            )
    if no_skip and source != ["-"]:
        raise InputError("--no-skip is for standard input (-); leave it out.")


def _former(checkpoint: str) -> Any:
    """Return the model of a checkpoint, None if there is none so far."""
    from opelda.learning._checkpoint import FILE

    path = Path(checkpoint) / FILE
    if not path.exists():
        return None
    import opelda

    return opelda.load(path)


def _learner(former: Any, checkpoint: str, learning: Learning, topics: int | None) -> Any:
    """Return a learner to begin with, or one like that of the checkpoint."""
    if former is None:
        return new_learner(learning, topics)
    from sklearn.base import clone

    check_same(former, learning, topics, checkpoint)
    given = learning.transform_method
    model = clone(former)
    return model if given is None else model.set_params(transform_method=given)


def _check_same_words(words: Any, former: Any, checkpoint: str, text: Text) -> None:
    """Refuse options for texts that are not those the checkpoint was made with."""
    if not given_options(text) or words is None:
        return
    own, theirs = former.vocabulary_, words.tokenizer
    if theirs.stop_words == "auto":  # which the first texts decided
        theirs = replace(theirs, stop_words=own.tokenizer.stop_words)
    if theirs != own.tokenizer or text.max_features not in (None, own.max_features):
        raise InputError(
            f"The checkpoint in {checkpoint} was made with other options for texts; leave them "
            "out, or choose another folder."
        )


def _open(
    source: list[str],
    reading: Reading,
    text: Text,
    model: Any,
    follow: bool,
    jobs: int | None,
) -> Any:
    from opelda.corpus import stream as open_stream

    return open_stream(
        source_of(source),
        batch_size=model._schedule().batch_size,
        **reading_options(reading),
        tokenizer=tokenizer_of(text),
        max_features=text.max_features or MAX_FEATURES,
        limit=reading.limit,
        n_jobs=jobs,
        follow=follow,
    )


def _save(model: Any, path: Path) -> None:
    import opelda

    opelda.save(model, path)


def _report(
    model: Any, documents: Stoppable, checkpoint: str, place: Path | None, as_json: bool, show: Show
) -> None:
    from opelda.cli._fitted import skipped_documents

    skipped_documents(documents.problems.n_skipped, documents.problems.first, show)
    if as_json:
        print_json(
            {
                "checkpoint": checkpoint,
                "model": None if place is None else str(place),
                "documents": model.n_docs_seen_,
                "updates": model.n_batch_iter_,
                "words": model.n_features_in_,
                "unknown_tokens": model.n_unknown_tokens_,
                "skipped_documents": documents.problems.n_skipped,
                "stopped": documents.stopped,
            }
        )
    elif not show.quiet:
        print_topics(heaviest(model))
    saved = "" if place is None else f"; the model is in {place}"
    note(
        show,
        f"{count(model.n_docs_seen_, 'document')} learned from, "
        f"{count(model.n_features_in_, 'word')}; checkpoint in {checkpoint}{saved}. "
        f"Next: `opelda topics {place or checkpoint}`.",
    )
