"""`opelda info`: what is installed, what a model is, what a corpus looks like."""

import platform
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import opelda
from opelda.cli._app import command
from opelda.cli._choices import FORMATS, LEARNERS, PRESETS, complete_model, learner_name
from opelda.cli._models import load_model, model_path, vocabulary_of
from opelda.cli._numbers import count
from opelda.cli._options import AsJson, Reading, Show, Text
from opelda.cli._output import print_facts, print_json, print_line
from opelda.cli._paths import is_model
from opelda.cli._reading import read_corpus

DEPENDENCIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "polars",
    "safetensors",
    "typer",
    "rich",
    "zstandard",
    "snowballstemmer",
    "stop-words",
)
LOOKED_AT = 1_000


@command(
    "info",
    "opelda info",
    "opelda info model.opelda",
    "opelda info articles.jsonl --text-column body",
)
def info(
    thing: Annotated[
        str | None,
        typer.Argument(
            help="A model, a checkpoint folder, or a corpus; without, this installation.",
            metavar="[MODEL|CORPUS]",
            autocompletion=complete_model,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    reading: Reading = Reading(),
    show: Show = Show(),
) -> None:
    """Tell about this installation, a model, or the first documents of a corpus."""
    if thing is None:
        facts = installation()
    elif _is_model(thing):
        facts = about_model(thing)
    else:
        facts = about_corpus(thing, reading, show)
    if as_json:
        print_json(facts)
        return
    print_facts((name.replace("_", " "), _text(value)) for name, value in facts.items())
    if thing is None:
        print_line()
        print_line("Completion for your shell: opelda --install-completion")


def _is_model(thing: str) -> bool:
    path = Path(thing)
    if path.is_dir():
        from opelda.learning._checkpoint import FILE

        return (path / FILE).is_file()
    return is_model(path) or path.suffix == ".opelda"


def installation() -> dict[str, Any]:
    """Return what runs here."""
    from importlib.metadata import PackageNotFoundError, version

    from opelda import _native
    from opelda._validation import threads

    found = {}
    for name in DEPENDENCIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return {
        "opelda": opelda.__version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.machine()}",
        "engine": f"cpu, {_native.instruction_set()}",
        "threads": threads(None),
        "presets": list(PRESETS),
        "learners": list(LEARNERS),
        "formats": list(FORMATS),
        "dependencies": found,
    }


def about_model(thing: str) -> dict[str, Any]:
    """Return what a model file says of itself."""
    from opelda._store import read
    from opelda.learning._saving import FORMAT, KIND, NOT_SAVED

    path = model_path(thing)
    model = load_model(thing)
    _, _, version = read(path, kind=KIND, newest=FORMAT)
    words = vocabulary_of(model)
    parameters = model.get_params(deep=False)
    for name in NOT_SAVED:
        parameters.pop(name, None)
    return {
        "model": str(path),
        "size": path.stat().st_size,
        "format_version": version,
        "learner": learner_name(model),
        "topics": int(model._state.weights.n_topics),
        "words": int(model.n_features_in_),
        "vocabulary": None if words is None else _vocabulary(words),
        "documents_seen": model.n_docs_seen_,
        "updates": model.n_batch_iter_,
        "unknown_tokens": model.n_unknown_tokens_,
        "parameters": {name: _plain(value) for name, value in sorted(parameters.items())},
    }


def _vocabulary(words: Any) -> dict[str, Any]:
    tokenizer = words.tokenizer.to_dict()
    listed = tokenizer.get("stop_words")
    if isinstance(listed, list | tuple):
        tokenizer["stop_words"] = count(len(listed), "word")
    return {"growing": words.growing, "max_features": words.max_features, **tokenizer}


def about_corpus(thing: str, reading: Reading, show: Show) -> dict[str, Any]:
    """Return what the first documents of a corpus look like."""
    from dataclasses import replace

    from opelda.cli._reading import reading_options, source_of
    from opelda.corpus.sources import open_source

    limited = replace(reading, limit=reading.limit or LOOKED_AT)
    kind = getattr(open_source(source_of([thing]), **reading_options(reading)), "format", None)
    kept = Text(stop_words="none", min_df="1", max_df="1.0")
    found = read_corpus([thing], limited, kept, show)
    n_docs, n_words = found.X.shape
    tokens = float(found.X.sum())
    frequent = found.X.sum(axis=0).argsort()[::-1][:10]
    names = found.words
    return {
        "corpus": thing,
        "size": Path(thing).stat().st_size if Path(thing).is_file() else None,
        "format": None if kind is None else kind.name,
        "documents": f"the first {n_docs:,}" if n_docs == limited.limit else n_docs,
        "empty_documents": found.n_empty,
        "skipped_documents": found.n_skipped,
        "words": n_words,
        "tokens": tokens,
        "tokens_per_document": round(tokens / max(n_docs, 1), 1),
        "frequent_words": None if names is None else [names[j] for j in frequent],
        "first_names": None if found.names is None else found.names[:3],
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return "array" if hasattr(value, "shape") else repr(value)


def _text(value: Any, name: str = "") -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return str(value)
