"""The documents that experiments are run on."""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from opelda.cli._experiment_options import Setup
from opelda.cli._fitted import skipped_documents
from opelda.cli._numbers import some
from opelda.cli._options import Reading, Show, Text
from opelda.cli._output import note
from opelda.cli._reading import check_words, given_options, read_corpus, refuse, tokenizer_of
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.experiments import Data, Settings

QUICK_DATA = "generated:small"
NAMED = 3
# what is done already where test documents come split, with their words
SPLITTING = {"n_test", "n_splits", "held_out"}
CHOOSING = {"min_df", "max_df", "max_features"}
OPTIONS = {"n_test": "--test-docs", "n_splits": "--splits"}


def sources_of(given: list[str] | None, *, quick: bool) -> list[str]:
    """Return what is to be read; without it a quick look is had at generated documents.

    >>> sources_of(None, quick=True)
    ['generated:small']
    """
    if given:
        return given
    if not quick:
        raise InputError(
            "There is nothing to run the experiments on; give documents with --data, or try "
            "--quick on generated ones."
        )
    return [QUICK_DATA]


def check_folder(out: str, sources: list[str]) -> Path:
    """Return the folder to write to if that can be done and none of it would be read."""
    if not out or "\0" in out:
        raise InputError(f"The output cannot be {out!r}; give the path of a folder.")
    folder = Path(os.path.realpath(out))
    if any(place.is_symlink() for place in (folder, *folder.parents)):  # what cannot be resolved
        raise InputError(f"The output {out} is a link that leads to itself; choose another folder.")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"The output {out} is a file; give the path of a folder.")
    for source in map(Path, sources):
        if source.is_dir() and folder.is_relative_to(source.resolve()):
            raise InputError(
                f"The output {out} is in the folder {source}, whose files are the documents; "
                "choose another."
            )
    there = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        TemporaryFile(dir=there).close()
    except OSError as error:
        raise InputError(
            f"The output {out} cannot be written: {error.strerror}; choose another folder."
        ) from None
    return Path(out)


def read_data(
    sources: list[str],
    test: str | None,
    settings: "Settings",
    *,
    setup: Setup,
    reading: Reading,
    text: Text,
    show: Show,
    jobs: int | None,
) -> "Data":
    """Read documents and set some aside for testing, or read those that come split."""
    from opelda.experiments import prepare
    from opelda.experiments._sources import is_generated

    if any(map(is_generated, sources)):
        if len(sources) > 1 or test is not None:
            raise InputError(
                "Generated documents have no words to go with other documents' words; give "
                "--data generated:... alone."
            )
        why = "generated documents are counted already"
        refuse({**given_options(replace(reading, limit=None)), **given_options(text)}, why)
        X, label = _generated(sources[0], reading.limit, settings.seed)
        return prepare(X, settings, label=label)
    label = some([Path(source).name or source for source in sources], NAMED)
    if test is None:
        documents = read_corpus(sources, reading, text, show, jobs=jobs)
        _look_at(documents, show)
        return prepare(documents.X, settings, label=label)
    refuse(SPLITTING & given_options(setup).keys(), "the test documents come split", OPTIONS)
    refuse(CHOOSING & given_options(text).keys(), "the words are those of the test documents")
    return _over_words_of(test, sources, settings, label, reading, text, show, jobs)


def _over_words_of(
    test: str,
    sources: list[str],
    settings: "Settings",
    label: str,
    reading: Reading,
    text: Text,
    show: Show,
    jobs: int | None,
) -> "Data":
    """Read split test documents, and those to learn from over the same words."""
    from opelda.cli._blocks import Columns, read_over
    from opelda.corpus import Vocabulary
    from opelda.experiments import prepare
    from opelda.experiments._ready_made import ready_made

    found = ready_made(test)
    vocabulary = Vocabulary(found.words, tokenizer=tokenizer_of(text))
    documents = read_over(Columns(vocabulary, len(vocabulary)), sources, reading, show, jobs)
    _look_at(documents, show)
    first_id = reading.first_id
    if first_id is None:
        first_id = found.first_id(documents.X)
        note(show, f"the words of the test documents seem to count from {first_id} (--first-id).")
    return prepare(documents.X, settings, label=label, splits=found.splits(first_id))


def _generated(name: str, limit: int | None, seed: int) -> tuple[Any, str]:
    from opelda.experiments._sources import generated, parse

    shape, n_docs = parse(name)
    n_docs = n_docs if limit is None else min(n_docs, limit)
    return generated(shape, n_docs, seed), f"generated ({shape})"


def _look_at(documents: Any, show: Show) -> None:
    skipped_documents(documents.n_skipped, documents.problems, show)
    check_words(documents)
