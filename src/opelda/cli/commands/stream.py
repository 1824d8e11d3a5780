"""`opelda stream`: topics of documents that keep coming."""

from os.path import basename
from typing import Any

from opelda.cli import _callbacks as callbacks
from opelda.cli._app import argument, command, option
from opelda.cli._exit import Stop, Stoppable, StoppedError
from opelda.cli._inputs import as_bound, is_pattern, reading_options, source_of, tokenizer_of
from opelda.cli._models import (
    check_same,
    checkpoint_file,
    new_learner,
    on_machine,
    seeds_found,
    seeds_text,
)
from opelda.cli._options import (
    AS_JSON,
    ENGINE,
    JOBS,
    RUNNING,
    TOPICS,
    Learning,
    NamelessReading,
    Show,
    StreamText,
    given_options,
)
from opelda.cli._outputs import check_model_output, check_output
from opelda.cli._terminal import (
    count,
    heaviest,
    note,
    noted,
    print_facts,
    print_json,
    print_topics,
    skipped_documents,
)
from opelda.errors import InputError


@command(
    "tail -F access.log | opelda stream - --checkpoint state",
    "opelda stream feed.jsonl --follow --checkpoint state -k 50",
    "opelda stream incoming/ --follow --checkpoint state -o today.opelda",
    "opelda stream feed.jsonl --follow --checkpoint state --events events.jsonl",
    "opelda stream feed.jsonl --follow --checkpoint state --serve 127.0.0.1:8000",
    "opelda topics state --since 1h",
)
def stream(
    *,
    source: list[str] = argument("SOURCE", "Files, a folder, or - for standard input."),
    checkpoint: str = option(
        "--checkpoint DIR", "Folder that keeps the model and the place in the source.", ...
    ),
    n_components: int | None = TOPICS,
    output: str | None = option("--output -o FILE", "Save the model here too, at the end."),
    follow: bool = option(
        "--follow", "Wait for more lines of a file or more files of a folder.", False
    ),
    every: str = option(
        "--every TIME|N",
        "Between two checkpoints: a time such as 30s (the default), 5m or 1h, which is also how "
        "long documents wait at most to be learned from; or a number of updates.",
        "30s",
    ),
    events: str | None = option(
        "--events -|FILE",
        "Write events (topics that rise, fade or change, new words, worse prediction) as lines of "
        "JSON to standard output (-) or at the end of a file.",
    ),
    serve: str | None = option(
        "--serve HOST:PORT",
        "Show a page about the stream to browsers at this address, such as 127.0.0.1:8000, while "
        "it is learned; a port alone is of this machine.",
    ),
    n_jobs: int | None = JOBS,
    learning: Learning,
    reading: NamelessReading,
    text: StreamText,
    engine: str | None = ENGINE,
    summary_every: str = option(
        "--summary-every TIME|N",
        "Time or documents between two summaries of topics; 0 is never.",
        "1m",
        panel=RUNNING,
    ),
    on_event: str | None = option(
        "--on-event COMMAND",
        "Run this command for each event, with its JSON as input.",
        panel=RUNNING,
    ),
    as_json: bool = AS_JSON,
    show: Show,
) -> None:
    """Learn topics from documents that keep coming, in bounded memory, for as long as they do.

    The vocabulary grows with the stream: a word gets its column when --min-df documents have had
    it (5, at first fewer). After Ctrl-C or a crash the same command goes on: what was learned from
    is known by its content and skipped, anything else is learned from. The last documents are kept
    (400,000, or 4 million words) and swept again and again, but not with --preset fast.
    """
    if follow and (len(source) > 1 or source[0] == "-" or is_pattern(source[0])):
        raise InputError("--follow takes one file or one folder; give one, or leave it out.")
    check_output(checkpoint, source, folder=True)  # files in there would be documents
    lines = None if events is None else callbacks.EventLines(events, source)
    commands = None if on_event is None else callbacks.EventCommands(on_event)
    path = None if output is None else check_model_output(output, source)
    site = None if serve is None else callbacks.LiveSite(serve, _title(source), checkpoint)
    # not before these mistakes are found: importing takes seconds
    from sklearn.base import clone

    import opelda
    from opelda.corpus import stream as open_stream
    from opelda.corpus._stream import MAX_FEATURES
    from opelda.learning.callbacks import OnEvent

    summaries = None if summary_every == "0" else callbacks.Summaries(show, summary_every)
    former_file = checkpoint_file(checkpoint)
    former = opelda.load(former_file) if former_file.exists() else None
    if former is None:
        model = new_learner(learning, n_components)
    else:
        check_same(former, learning, n_components, checkpoint)
        model = clone(former)
        if learning.transform_method is not None:
            model.set_params(transform_method=learning.transform_method)
    on_machine(model, n_jobs, engine)
    min_df: Any = as_bound("min_df", text.min_df)  # a share of all documents is refused there
    opened = open_stream(
        source_of(source),
        batch_size=model._schedule().batch_size,
        **reading_options(reading),
        tokenizer=tokenizer_of(text),
        min_df=min_df,
        max_features=text.max_features or MAX_FEATURES,
        n_jobs=n_jobs,
        follow=follow,
    )
    if former is not None:
        _check_same_words(opened.vocabulary, former, checkpoint, text)
        seen = count(former.n_docs_seen_, "document")
        note(show, f"going on from {checkpoint} after {seen}.")
        del former  # fit_stream reads it again
    if lines or commands:
        OnEvent(print).begin(model)  # rejects a learner that notices no events
    shown = callbacks.learning_display(show, lines=True), callbacks.MarkupNotice(show), summaries
    listeners = (*shown, callbacks.EventNotes(show), lines, commands, site)
    model.callbacks = [listener for listener in listeners if listener is not None]
    if site is not None:
        site.tell(show)
    with Stop() as stop, noted(show):
        try:
            documents = Stoppable(opened, stop)
            model.fit_stream(documents, checkpoint=checkpoint, every=every)
        except InputError:
            if hasattr(model, "_state"):
                seen = count(model.n_docs_seen_, "document")
                note(show, f"{checkpoint} holds what was learned from {seen}.")
            elif stop.stopped:
                needed = count(model._schedule().batch_size, "document")
                raise StoppedError(
                    f"stopped before there were {needed} to learn from; nothing was learned."
                ) from None
            raise
        if path is not None:
            opelda.save(model, path)
        n_docs, n_words, problems = model.n_docs_seen_, model.n_features_in_, opened.problems
        skipped_documents(problems.n_skipped, problems.first, show)
        seeds = seeds_found(model)
        if as_json:
            print_json(
                {
                    "checkpoint": checkpoint,
                    "model": None if path is None else str(path),
                    "stopped": stop.stopped,
                    "documents": n_docs,
                    "updates": model.n_batch_iter_,
                    "words": n_words,
                    "unknown_tokens": model.n_unknown_tokens_,
                    "skipped_documents": problems.n_skipped,
                    **({"seed_words_in_top_20": seeds} if seeds else {}),
                }
            )
        elif not show.quiet and events != "-":
            print_topics(heaviest(model))
            if seeds:
                print_facts([("seed words", seeds_text(seeds))])
        saved = "" if path is None else f"; the model is in {path}"
        note(
            show,
            f"{count(n_docs, 'document')} learned from, {count(n_words, 'word')}; checkpoint in "
            f"{checkpoint}{saved}. Next: `opelda topics {path or checkpoint}`.",
        )
    if stop.stopped:
        raise StoppedError(f"stopped; the same command goes on from {checkpoint}.")


def _title(source: list[str]) -> str:
    """Return what a page about the stream is called."""
    names = (basename(each.rstrip("/")) or each for each in source)
    return ", ".join("Standard input" if name == "-" else name for name in names)


def _check_same_words(words: Any, former: Any, checkpoint: str, text: StreamText) -> None:
    """Reject options for texts that are not those the checkpoint was made with."""
    if not given_options(text) or words is None:
        return
    from opelda.corpus.text.tokenizer import going_on_as

    own = former.vocabulary_
    theirs = going_on_as(words.tokenizer, own.tokenizer)
    same = theirs == own.tokenizer and text.max_features in (None, own.max_features)
    if not same or (text.min_df is not None and words.min_df != own.min_df):
        raise InputError(
            f"The checkpoint in {checkpoint} was made with other options for texts; leave them "
            "out, or choose another folder."
        )
