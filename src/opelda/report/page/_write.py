"""The page: one HTML file that shows a model and works offline."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from opelda.corpus import stream
from opelda.corpus.formats._writing import write_in_one_step
from opelda.errors import InputError
from opelda.metrics._mixture_measures import columns_without_names
from opelda.report.page._facts import compared, counted, facts, model_facts
from opelda.report.page._gathered import Gathered
from opelda.report.page._payload import ExportedTopics

BLOCK = 4096


@columns_without_names()
def write_report(
    model: Any,
    corpus: Any,
    path: str | PathLike[str],
    *,
    title: str | None = None,
    name: str = "model.opelda",
    time: str | None = None,
    by: str | None = None,
    compare: Any = None,
    compare_name: str = "the other model",
    held_out: Any = None,
    stability: bool = True,
    progress: Callable[[str, int], None] | None = None,
    **reading: Any,
) -> Path:
    """Write a page about a model and documents: one HTML file that works offline.

    Parameters
    ----------
    model : fitted learner of opelda
    corpus : Corpus, or documents for `opelda.corpus.stream`
        Read once, in bounded memory.
    path : path
        The path of the page, written atomically and returned.
    title, name : str, optional
        Title of the page, by default the name of the corpus, and name of the model.
    time, by : str, optional
        Columns of times and groups; by default columns with usual names, such as "date" and
        "section".
    compare : fitted learner, compare_name : str, optional
        A second model to compare with, and its name.
    held_out : counts, Corpus or texts, optional
        Held-out documents for the score; by default 1,000 documents of `corpus`.
    stability : bool
        Whether to measure stability by a second run with another seed on at most 10,000 documents.
    progress : callable, optional
        Called with the current step and the number of documents done.
    **reading
        As for `opelda.corpus.stream`, such as ``text_column``.

    Examples
    --------
    >>> import tempfile
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs", "dogs chase cats", "bonds rise", "bonds fall"] * 20
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> page = write_report(model, texts, f"{tempfile.mkdtemp()}/report.html")
    >>> "<noscript>" in page.read_text()
    True
    """
    tell = progress or (lambda doing, n_docs: None)
    metadata = ["auto", *(column for column in (time, by) if column is not None)]
    vocabulary, n_words = model._state.vocabulary, int(model.n_features_in_)
    scored = None if held_out is None else counted(model, held_out)
    if vocabulary is None and hasattr(corpus, "columns"):
        corpus = model._checked(corpus)  # a table of counts, by its columns' names
    opened = stream(corpus, batch_size=BLOCK, vocabulary=vocabulary, metadata=metadata, **reading)
    batches = opened.batches(vocabulary, n_words, learn=False)
    found = Gathered(model, 10 if len(model.components_) <= 200 else 4, time=time, by=by)
    for batch in batches:
        found.add(batch)
        tell("inferring", found.n_docs)
    if not found.n_docs:
        raise InputError(f"{opened.label} has no documents; check the contents of the source.")
    found.settle()
    tell("measuring", found.n_docs)
    meta, more = facts(model, name, found, scored, stability=stability)
    where = re.split(r"[/\\\\]", opened.label)[-1] if isinstance(corpus, str | PathLike) else ""
    meta["title"] = title or where or "Topics"
    meta["corpus"] = {
        "name": where,
        "n_docs": found.n_docs,
        "n_tokens": found.n_tokens,
        "n_unknown_tokens": found.n_unknown,
        "n_empty": found.n_empty,
        "n_skipped": opened.problems.n_skipped,
    }
    if compare is not None:
        meta["compare"] = compared(model, compare, compare_name)
    with write_in_one_step(path) as file:
        file.write(page(meta, **more).encode())
    return Path(path)


def model_page(model: Any, title: str, name: str) -> str:
    topics = np.asarray(model.components_)
    kept = ExportedTopics.of(topics)
    meta = model_facts(model, name, topics, kept, coherence=model.coherence_)
    meta |= {"title": title, "corpus": None}
    return page(meta, topics=kept.packed(model._words(), len(topics)))


def page(meta: dict[str, Any], **data: str) -> str:
    """Return the page of a model's facts, with arrays by their names."""
    assets = files("opelda.report.page")
    style, script, text = (
        assets.joinpath(f"page.{k}").read_text("utf-8") for k in ("css", "js", "html")
    )
    hashes = [base64.b64encode(hashlib.sha256(x.encode()).digest()) for x in (script, style)]
    sources = "script-src 'sha256-{}'; style-src 'sha256-{}'".format(*map(bytes.decode, hashes))
    policy = f"{sources}; img-src data: blob:; base-uri 'none'; form-action 'none'"
    connect = "; connect-src 'self'" if meta.get("live") else ""
    elements = [("meta", "application/json", as_json(meta))]
    elements += [(name, "text/plain", packed) for name, packed in data.items()]
    parts = {
        "policy": f"default-src 'none'; {policy}{connect}",
        "title": html.escape(_sound(meta["title"])),
        "style": style,
        "script": script,
        "data": "\n".join(
            f'<script type="{kind}" id="{name}">{text}</script>' for name, kind, text in elements
        ),
    }
    # one pass: inserted text is not searched for further fields
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text)


def as_json(meta: dict[str, Any]) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(meta, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _sound(text).replace("<", "\\u003c")


def _sound(text: str) -> str:
    """Return a text without lone surrogates, such as invalid UTF-8 leaves."""
    return text.encode("utf-8", "replace").decode()
