"""The command line: from arguments to tables, figures and verdicts."""

import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from opelda.corpus import Corpus, Tokenizer, Vocabulary, read, stop_words_from
from opelda.errors import InputError, OpeldaError
from reproduction.data import Data, prepare
from reproduction.experiment import Run
from reproduction.generated import PREFIX, generated, parse
from reproduction.options import READING, SETTINGS, TEXTS, flag, given, parsed, settings_of
from reproduction.running import EXPERIMENTS, Progress, Result, reproduce
from reproduction.settings import Settings
from reproduction.split_files import read_split_files

MISTAKE, UNEXPECTED, INTERRUPTED = 2, 1, 130
WORDS = ("min_df", "max_df", "max_features")  # which words are kept


def main(args: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code, 0 for success."""
    debug = "--debug" in (sys.argv if args is None else args)
    try:
        options = parsed(args)
        if options.list:
            for chosen in EXPERIMENTS.values():
                print(f"{chosen!s:<32}{chosen.title}")
        else:
            _run(options)
        return 0
    except KeyboardInterrupt as stopped:
        _say(str(stopped) or "stopped.")
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        _say(_sentence(error))
        return MISTAKE if isinstance(error, OpeldaError | OSError | MemoryError) else UNEXPECTED


def _sentence(error: Exception) -> str:
    if isinstance(error, InputError):
        text = error.worded(lambda name, value: flag(name) + ("" if value is ... else f" {value}"))
    elif isinstance(error, OSError) and error.filename is not None:
        text = f"{os.fsdecode(error.filename)}: {error.strerror}."
    else:
        text = str(error) or type(error).__name__
    if not isinstance(error, OpeldaError | OSError):
        text = f"unexpected error: {type(error).__name__}: {text}; run again with --debug."
    return " ".join(text.split())


def _say(text: str) -> None:
    print(f"reproduction: {text}", file=sys.stderr)


def _run(options: Namespace) -> None:
    settings = settings_of(options)
    _check_folder(options.out, options.data)
    done: set[tuple[str, int]] = set()
    try:
        data = read_data(options, settings)
        n_docs, n_words = data.train.shape
        if not options.quiet:
            _say(
                f"{data.label}: {n_docs:,} documents of {n_words:,} words to learn from, "
                f"{data.test.shape[0]:,} to test on."
            )
        for name in options.names:
            begun = perf_counter()
            with _display(options, name) as show:

                def progress(
                    run: Run, number: int, n: int, share: float, name: str = name, show: Any = show
                ) -> None:
                    if share >= 1:
                        done.add((name, number))
                    show(run, number, n, share)

                result = reproduce(name, data, options.out, settings, progress=progress)
            _print_result(result, perf_counter() - begun)
    except KeyboardInterrupt:
        cached = f"; {len(done)} of its runs are kept in {Path(options.out) / 'runs'}, and the same"
        raise KeyboardInterrupt(
            f"stopped{cached} command goes on from there."
            if done
            else "stopped before a run was done."
        ) from None


def _check_folder(out: str, sources: list[str]) -> None:
    """Refuse a folder that cannot be written, or whose files would be read, before a long run."""
    folder = Path(out).resolve()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise InputError(f"The output {out} cannot be a folder: {there} is a file; choose another.")
    if not os.access(there, os.W_OK):
        raise InputError(f"The output {out} cannot be written; choose another folder.")
    for source in map(Path, sources):
        if source.is_dir() and folder.is_relative_to(source.resolve()):
            raise InputError(
                f"The output {out} is in the folder {source}, whose files are the documents; "
                "choose another."
            )


def read_data(options: Namespace, settings: Settings) -> Data:
    """Read documents and set some aside for testing, or read documents that are split already."""
    sources, texts = options.data, given(options, TEXTS)
    if any(source.startswith(PREFIX) for source in sources):
        if len(sources) > 1 or options.test is not None:
            raise InputError(
                "Generated documents have no words to go with other documents' words; give "
                f"--data {PREFIX}... alone."
            )
        _refuse(
            {**given(options, READING), **texts}.keys() - {"limit"},
            "generated documents are counted already",
        )
        shape, n_docs = parse(sources[0])
        n_docs = min(n_docs, options.limit or n_docs)
        label = f"generated ({shape})"
        return prepare(generated(shape, n_docs, settings.seed), settings, label=label)
    more = f" and {len(sources) - 3} more" if len(sources) > 3 else ""
    label = ", ".join(Path(source).name or source for source in sources[:3]) + more
    words = {name: _bound(name, texts.pop(name)) for name in WORDS if name in texts}
    tokenizer = Tokenizer(**({"stop_words": "auto"} | texts | _stop_words(texts)))
    if options.test is None:
        return prepare(_read(options, tokenizer=tokenizer, **words).X, settings, label=label)
    splitting = {"n_test", "n_splits", "held_out"} & given(options, SETTINGS).keys()
    _refuse(splitting, "the test documents come split")
    _refuse(words, "the words are those of the test documents")
    split = read_split_files(options.test)
    corpus = _read(options, vocabulary=Vocabulary(split.words, tokenizer=tokenizer))
    first_id = options.first_id
    if first_id is None:
        first_id = split.first_id(corpus.X)
        if not options.quiet:
            _say(f"the words of the test documents seem to count from {first_id} (--first-id).")
    return prepare(corpus.X, settings, label=label, splits=split.splits(first_id))


def _read(options: Namespace, **words: Any) -> Corpus:
    """Read the documents; `words` say which of their words are counted."""
    for source in options.data:
        if source != "-" and not set("*?[") & set(source) and not os.path.exists(source):
            raise InputError(f"There is no file or folder {source!r}; check the path.")
    # strings in a list would be taken for texts
    paths: list[Any] = ["-" if source == "-" else Path(source) for source in options.data]
    source = paths[0] if len(paths) == 1 else paths
    reading = given(options, READING)
    if options.test is not None:
        reading.pop("first_id", None)  # it belongs to the test documents
    if "vocabulary" in words and "-" not in paths:
        first = read(source, **(reading | {"limit": 1}))
        found, wanted = first.X.shape[1], len(words["vocabulary"])
        if first.words is None and found != wanted:
            raise InputError(
                f"The documents have {found:,} columns without words, but they are to be counted "
                f"over {wanted:,} words; give the columns' words with --column-words."
            )
    corpus = read(source, **reading, **words, n_jobs=options.n_jobs)
    if corpus.n_skipped:
        _say(f"{corpus.n_skipped:,} documents could not be read and are skipped.")
        for problem in corpus.problems:
            _say(f"  {problem}")
    if not corpus.X.nnz:
        raise InputError(
            f"There are no words in these {len(corpus):,} documents; look at them with `opelda "
            "info`, and at --text-column, --format, --stop-words and --pattern."
        )
    return corpus


def _stop_words(texts: dict[str, Any]) -> dict[str, Any]:
    """Return the option for no stop words, or the words of a file."""
    asked = texts.get("stop_words")
    if asked == "none":
        return {"stop_words": None}
    if asked and Path(asked).is_file():
        return {"stop_words": stop_words_from(asked)}
    return {}


def _bound(name: str, value: Any) -> int | float:
    """Return a number or a share of documents.

    >>> _bound("min_df", "5"), _bound("max_df", "0.5"), _bound("max_df", "50%")
    (5, 0.5, 0.5)
    """
    text = str(value)
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise InputError(
            f"must be a number of documents (5) or a share (0.1), not {text!r}.", name
        ) from None


def _refuse(parameters: Any, why: str) -> None:
    for name in sorted(parameters):
        raise InputError(f"has no effect here: {why}; remove the option.", name)


@contextmanager
def _display(options: Namespace, name: str) -> Iterator[Progress]:
    """Yield the display of an experiment's runs: lines, a bar, or no display."""
    if options.verbose:

        def lines(run: Run, number: int, total: int, share: float) -> None:
            if share == 0:
                _say(f"{name}: run {number + 1} of {total}, {run.label}")

        yield lines
        return
    columns = (
        BarColumn(bar_width=12),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    watched = sys.stderr.isatty() and not options.quiet
    with Bar(*columns, console=Console(stderr=True), transient=True, disable=not watched) as bar:
        task = bar.add_task(name, total=None)

        def update(run: Run, number: int, total: int, share: float) -> None:
            shown = f"{name}: run {number + 1}/{total}, {run.label}"
            bar.update(task, completed=number + share, total=total, description=shown)

        yield update


def _print_result(result: Result, seconds: float) -> None:
    made = result.experiment
    print(f"{made.name} ({made.place}): {made.title}")
    for verdict in result.verdicts:
        print(f"  {verdict}")
    names = ", ".join(path.name for path in result.files)
    print(f"  files in {result.files[0].parent}: {names}")
    before = f" ({result.n_cached:,} of them done before)" if result.n_cached else ""
    print(f"  runs: {result.n_runs:,} in {seconds:,.1f} s{before}\n", flush=True)
