"""`opelda stream`: topics of documents that keep coming."""

from os.path import basename
from typing import Any

from opelda.cli import _callbacks as callbacks
from opelda.cli import _inputs as inputs
from opelda.cli import _options as options
from opelda.cli import _terminal as terminal
from opelda.cli._app import RUNNING, argument, command, option
from opelda.cli._exit import Stop, Stoppable, StoppedError
from opelda.cli._outputs import check_model_output, check_output
from opelda.cli._terminal import count, note
from opelda.errors import InputError


@command(
    "tail -F access.log | opelda stream - --checkpoint state",
    "opelda stream feed.jsonl --follow --checkpoint state -k 50",
    "opelda stream feed.jsonl --follow --checkpoint state --events events.jsonl",
)
def stream(
    *,
    source: list[str] = argument("SOURCE", "Files, a folder, or - for standard input."),
    checkpoint: str = option(
        "--checkpoint DIR", "Folder for the model and the position in the source.", ...
    ),
    n_components: int | None = options.TOPICS,
    output: str | None = option("--output -o FILE", "Save the final model to this file, too."),
    follow: bool = option(
        "--follow", "Wait for new lines of a file, or new files of a folder.", False
    ),
    every: str = option("--every TIME|N", "Time or updates between checkpoints.", "30s"),
    events: str | None = option(
        "--events FILE|-", "Write events as JSON Lines to standard output or a file."
    ),
    serve: str | None = option("--serve HOST:PORT", "Serve a live page about the stream."),
    prevalence: str | None = option(
        "--prevalence FORMULA",
        'Columns of levels that topics depend on, as "party + chamber".',
        panel=options.LEARNING,
    ),
    learning: options.Learning,
    reading: options.NamelessReading,
    text: options.StreamText,
    engine: str | None = options.ENGINE,
    summary_every: str = option(
        "--summary-every TIME|N",
        "Interval between topic summaries; 0 disables them.",
        "1m",
        panel=RUNNING,
    ),
    on_event: str | None = option(
        "--on-event COMMAND", "Command to run for each event.", panel=RUNNING
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Learn topics from an endless stream of documents, in bounded memory.

    The vocabulary grows with the stream: a word gets a column after --min-df documents (5, at first
    fewer). After Ctrl-C or a crash the same command resumes: known documents are recognised by
    their content and skipped. The last documents (400,000, or 4 million words) are kept and swept
    repeatedly, except with --preset fast.
    """
    if follow and (len(source) > 1 or source[0] == "-" or inputs.is_pattern(source[0])):
        raise InputError(
            "--follow requires one file or one folder; pass a single path or remove --follow."
        )
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

    notes = callbacks.StreamNotes(summary_every)
    former_file = inputs.checkpoint_file(checkpoint)
    former = opelda.load(former_file) if former_file.exists() else None
    if former is None:
        model = inputs.new_learner(learning, n_components)
    else:
        inputs.check_same(former, learning, n_components, checkpoint)
        model = clone(former)
        if learning.transform_method is not None:
            model.set_params(transform_method=learning.transform_method)
    inputs.on_machine(model, reading.n_jobs, engine)
    min_df: Any = inputs.as_bound(
        "min_df", text.min_df
    )  # a stream rejects a share of all documents
    own = set() if former is None else former._state.columns
    columns = {"metadata": sorted(own)} if own else inputs.with_columns({}, prevalence, None)
    opened = open_stream(
        inputs.source_of(source),
        batch_size=model._schedule().batch_size,
        **inputs.reading_options(reading),
        **columns,
        tokenizer=inputs.tokenizer_of(text),
        min_df=min_df,
        max_features=text.max_features or MAX_FEATURES,
        follow=follow,
    )
    if former is not None:
        _check_same_words(opened.vocabulary, former, checkpoint, text)
        seen = count(former.n_docs_seen_, "document")
        note(f"resuming from {checkpoint} after {seen}.")
        del former  # fit_stream reads it again
    if lines or commands:
        OnEvent(print).begin(model)  # rejects a learner that notices no events
    listeners = callbacks.learning_display(lines=True), notes, lines, commands, site
    model.callbacks = [listener for listener in listeners if listener is not None]
    if site is not None:
        site.tell()
    with Stop() as stop, terminal.noted():
        try:
            documents = Stoppable(opened, stop)
            model.fit_stream(documents, checkpoint=checkpoint, every=every, prevalence=prevalence)
        except InputError:
            if hasattr(model, "_state"):
                seen = count(model.n_docs_seen_, "document")
                note(f"{checkpoint} has the model after {seen}.")
            elif stop.stopped:
                needed = count(model._schedule().batch_size, "document")
                raise StoppedError(f"stopped before {needed}; no model was saved.") from None
            raise
        if path is not None:
            opelda.save(model, path)
        n_docs, n_words, problems = model.n_docs_seen_, model.n_features_in_, opened.problems
        terminal.skipped_documents(problems.n_skipped, problems.first)
        seeds = inputs.seeds_found(model)
        if as_json:
            terminal.print_json(
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
        elif not terminal.VERBOSITY.quiet and events != "-":
            terminal.print_topics(terminal.heaviest(model))
            if seeds:
                terminal.print_facts([("seed words", inputs.seeds_text(seeds))])
        saved = "" if path is None else f"; the model is in {path}"
        note(
            f"{count(n_docs, 'document')} learned from, {count(n_words, 'word')}; checkpoint in "
            f"{checkpoint}{saved}. Next: `opelda topics {path or checkpoint}`."
        )
    if stop.stopped:
        raise StoppedError(f"stopped; run the same command to resume from {checkpoint}.")


def _title(source: list[str]) -> str:
    """Return the title of a page about the stream."""
    names = (basename(each.rstrip("/")) or each for each in source)
    return ", ".join("Standard input" if name == "-" else name for name in names)


def _check_same_words(words: Any, former: Any, checkpoint: str, text: options.StreamText) -> None:
    """Reject options for texts other than the checkpoint's."""
    if not options.given_options(text) or words is None:
        return
    from opelda.corpus.text.tokenizer import going_on_as

    own = former.vocabulary_
    theirs = going_on_as(words.tokenizer, own.tokenizer)
    same = theirs == own.tokenizer and text.max_features in (None, own.max_features)
    if not same or (text.min_df is not None and words.min_df != own.min_df):
        raise InputError(
            f"{checkpoint} was made with different tokenizer options; remove the tokenizer options."
        )
