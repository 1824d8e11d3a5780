"""`opelda info`: facts about the installation, a model, or a corpus."""

import platform
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import opelda
from opelda import _names
from opelda.cli import _inputs as inputs
from opelda.cli._app import argument, command
from opelda.cli._callbacks import name_markup
from opelda.cli._options import AS_JSON, LEARNERS, Reading, Text, complete_model, dashed, refuse
from opelda.cli._outputs import is_model
from opelda.cli._terminal import count, print_facts, print_json, print_line
from opelda.corpus.formats import FORMATS
from opelda.errors import DataWarning

DEPENDENCIES = (
    "numpy", "scipy", "scikit-learn", "polars", "safetensors", "typer", "rich", "XlsxWriter",
    "zstandard",
    "snowballstemmer", "stop-words", "icu4py",
)  # fmt: skip


@command("opelda info", "opelda info model.opelda", "opelda info articles.jsonl --text-column body")
def info(
    *,
    thing: str | None = argument(
        "[MODEL|CORPUS]",
        "A model, a checkpoint folder or a corpus; default: this installation.",
        None,
        autocompletion=complete_model,
    ),
    as_json: bool = AS_JSON,
    reading: Reading,
) -> None:
    """Tell about this installation, a model, or the first documents of a corpus."""
    if thing is None:
        refuse(reading, "no corpus is read")
        facts = _installation()
    elif inputs.checkpoint_file(thing).is_file() or is_model(thing) or thing.endswith(".opelda"):
        refuse(reading, f"{thing} is a model")
        facts = _about_model(thing)
    else:
        facts = _about_corpus(thing, reading)
    if as_json:
        print_json(facts)
        return
    if facts.get("columns"):
        from opelda.corpus.formats._text_columns import columns_line

        facts["columns"] = columns_line(facts["columns"])
    print_facts((name.replace("_", " "), _text(value)) for name, value in facts.items())
    if thing is None:
        print_line()
        print_line("Completion for your shell: opelda --install-completion")


def _installation() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    from opelda._validation import threads
    from opelda.engines import CPUEngine

    found = dict.fromkeys(DEPENDENCIES, "missing")
    for name in found:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {
        "opelda": opelda.__version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.machine()}",
        "engine": f"cpu, {CPUEngine().instruction_set}",
        "threads": threads(None),
        "presets": list(_names.PRESETS),
        "learners": list(LEARNERS),
        "formats": list(FORMATS),
        "dependencies": found,
    }


def _about_model(thing: str) -> dict[str, Any]:
    """Return facts about a model file, without the learners, which take long to import."""
    from opelda.learning._part import COHERENCE, STABILITY
    from opelda.learning.persistence._stored_model import StoredModel, blaming

    stored = StoredModel.read(thing)
    with blaming(stored.path):
        parameters = stored.json("parameters")
        if stored.has_seed_words or any(isinstance(value, dict) for value in parameters.values()):
            model = inputs.load_model(thing)
            facts = inputs.topic_facts(
                model.coherence_, model.topic_stability_, inputs.seeds_found(model)
            )
            shown = model.get_params(deep=False)
            parameters = {name: shown.get(name) for name in parameters}
        else:
            coherence = stored.value("coherence", COHERENCE)
            facts = inputs.topic_facts(coherence, stored.value("stability", STABILITY), {})
        if "groups" in stored.header:
            added = stored.array("groups.added", float, 2)
            by_words = stored.json("groups").get("by_words")
            facts["groups"] = {
                "number": len(added),
                "of": "words" if by_words else "words and embeddings",
                "strength": float(added.sum(axis=1).mean()),
            }
        return {
            "model": str(stored.path),
            "size": stored.path.stat().st_size,
            "format_version": stored.version,
            "learner": dashed(str(stored.header.get("class"))),
            "topics": stored.n_topics,
            "words": len(stored.weights.rows),
            "vocabulary": _vocabulary(stored),
            "documents": int(stored.number("population")),
            "documents_seen": stored.count("n_docs_seen"),
            "updates": stored.count("n_updates"),
            "unknown_tokens": stored.number("n_unknown_tokens"),
            **facts,
            "parameters": {name: _plain(value) for name, value in sorted(parameters.items())},
        }


def _vocabulary(stored: Any) -> dict[str, Any] | None:
    if "vocabulary" not in stored.header:
        return None
    found = stored.json("vocabulary")
    tokenizer = dict(found.get("tokenizer") or {})
    for name in ("stop_words", "extra_stop_words", "phrases"):
        words = tokenizer.get(name)
        if isinstance(words, dict):
            from opelda.corpus._word_columns import unpack_words

            words = unpack_words(stored.part(words["array"]))
        if isinstance(words, list):
            tokenizer[name] = count(len(words), "word")
    return {name: found.get(name) for name in ("growing", "max_features")} | tokenizer


def _about_corpus(thing: str, reading: Reading) -> dict[str, Any]:
    """Return facts about the first documents of a corpus, 1,000 if no limit is given."""
    from numpy import bincount

    from opelda.corpus.sources import checked_options, open_source

    # opened for its format alone, which a corpus does not keep
    options = inputs.reading_options(reading)
    del options["limit"], options["n_jobs"]
    opened = open_source(inputs.source_of([thing]), checked_options(**options))
    kind, taken = getattr(opened, "format", None), {}
    if opened.reopens and kind is not None:
        # the second reading repeats the warnings
        with warnings.catch_warnings(action="ignore", category=DataWarning):
            next(opened.blocks(1), None)
        taken = opened.options.taken  # type: ignore[attr-defined]
    limited = replace(reading, limit=reading.limit or 1_000)
    kept = Text(stop_words="none", min_df="1", max_df="1.0")
    found = inputs.read_corpus([thing], limited, kept)
    n_docs, n_words = found.X.shape
    tokens = float(found.X.sum())
    frequent = found.X.sum(axis=0).argsort()[::-1][:10]
    names = found.words
    if names is not None:
        name_markup(names, bincount(found.X.indices, minlength=n_words), n_docs)
    return {
        "corpus": thing,
        "size": Path(thing).stat().st_size if Path(thing).is_file() else None,
        "format": None if kind is None else kind.name,
        "columns": taken or None,
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


def _text(value: Any) -> str:
    """Return a value as people read it, long names cut."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.10g}"
        case dict():
            return ", ".join(f"{key} {_text(part)}" for key, part in value.items())
        case list():
            names = map(str, value)
            return ", ".join(name if len(name) <= 80 else f"{name[:80]}..." for name in names)
    return str(value)
