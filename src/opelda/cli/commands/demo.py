"""`opelda demo`: the topics of the Python packages on this machine, from their docstrings."""

import sys
from collections import Counter
from dataclasses import replace
from textwrap import shorten
from time import perf_counter
from typing import Any, cast

from opelda import _names
from opelda.cli._app import command, option
from opelda.cli._callbacks import learning_display
from opelda.cli._exit import StoppedError
from opelda.cli._models import PRESET, on_machine
from opelda.cli._options import AS_JSON, ENGINE, JOBS, Show
from opelda.cli._outputs import check_model_output, check_output
from opelda.cli._terminal import (
    by_weight,
    count,
    duration,
    print_facts,
    print_json,
    print_line,
    print_table,
    reading_bar,
    share,
    topic_as_plain,
    width,
)
from opelda.cli.commands._docstrings import STOP_WORDS, docstrings
from opelda.errors import InputError

# of the standard library; the first one that is there is shown
EXAMPLES = (
    "statistics.linear_regression", "tempfile.NamedTemporaryFile", "subprocess.run",
    "urllib.request.urlopen",
)  # fmt: skip
NEXT = (
    ("opelda fit texts.txt -k 50 -o {model}", "learn topics of your own"),
    ("opelda topics {model}", "look at them again"),
    ("opelda report {model} texts.txt -o report.html", "a page about them"),
    ("opelda transform {model} new.txt -o theta.csv", "mixtures of documents"),
    ("opelda evaluate {model} new.txt", "how well they fit"),
    ("opelda --help", "everything else"),
)


@command(
    "opelda demo",
    "opelda demo -k 40 --seed 1",
    "opelda demo -o python.opelda --report demo.html",
    "opelda demo --json",
)
def demo(
    *,
    n_components: int = option("--topics -k K", "Number of topics.", 24, min=2),
    output: str | None = option("--output -o FILE", "Save the model there; not kept if not given."),
    report: str | None = option("--report FILE", "Write a page about it there, such as demo.html."),
    limit: int = option(
        "--limit N", "Docstrings to gather, spread over the packages.", 8_000, min=20
    ),
    preset: str = option(
        f"--preset {'|'.join(_names.PRESETS)}",
        "The settings: best (the default), fast or paper.",
        PRESET,
        choices=_names.PRESETS,
    ),
    random_state: int = option("--seed N", "Of the random numbers.", 0, min=0),
    n_jobs: int | None = JOBS,
    engine: str | None = ENGINE,
    as_json: bool = AS_JSON,
    show: Show,
) -> None:
    """Show topics of text that is on every machine: the docstrings of the packages installed here.

    Nothing is downloaded, and no package is imported or run.
    """
    import opelda

    path = None if output is None else check_model_output(output)
    if report is not None:
        check_output(report)
    model = opelda.TopicModel(n_components, preset=cast("Any", preset), random_state=random_state)
    on_machine(model, n_jobs, engine)
    model._schedule()  # rejects an unknown preset before anything is gathered
    try:
        found = _learn(limit, model, show)
    except KeyboardInterrupt:
        raise StoppedError("stopped; nothing was written.") from None
    if path is not None:
        opelda.save(model, path)
        found["model"] = str(path)
    texts = found.pop("texts")
    if report is not None:
        found["report"] = _write_page(model, texts, report)
    if as_json:
        print_json(found)
    else:
        _print(found)


def _learn(limit: int, model: Any, show: Show) -> dict[str, Any]:
    """Gather docstrings, count their words, learn topics; return all that is shown of it."""
    from opelda.report import top_documents, topic_table

    begun = perf_counter()
    with reading_bar(show, "gathering docstrings") as bar:
        texts = docstrings(limit, progress=None if bar is None else lambda n: bar(n, n, limit))
    if not texts:
        raise InputError("There are no docstrings in this Python's library or packages.")
    gathered = perf_counter()
    corpus = count_words(texts, model.n_jobs)
    counted = perf_counter()
    model.set_params(callbacks=learning_display(show)).fit(corpus)
    learned = perf_counter()
    n_docs, n_words = corpus.X.shape
    schedule = model._schedule(n_docs)
    typical: dict[int, list[str]] = {}
    for row in top_documents(model, corpus, 3):
        typical.setdefault(row.topic, []).append(str(row.name))
    return {
        "model": None,
        "texts": texts,
        "preset": model.preset,
        "passes": schedule.n_passes,
        "sweeps": schedule.n_sweeps,
        "documents": n_docs,
        "words": n_words,
        "tokens": float(corpus.X.sum()),
        "packages": dict(Counter(map(_package, texts)).most_common()),
        "topics": [
            {**topic_as_plain(row), "typical": typical.get(row.topic, [])}
            for row in by_weight(topic_table(model, 8))
        ],
        "example": _certified_example(model, corpus, texts),
        "seconds": {
            "gathering": gathered - begun,
            "counting": counted - gathered,
            "learning": learned - counted,
        },
        "documents_per_second": n_docs / max(learned - counted, 1e-9),
    }


def _package(name: str) -> str:
    return name.partition(".")[0]


def _write_page(model: Any, texts: dict[str, str], path: str) -> str:
    """Write a page about the docstrings; return where."""
    from opelda.report import write_report

    records = [
        {"name": name, "text": text, "package": _package(name)} for name, text in texts.items()
    ]
    title = "The topics of Python's docstrings"
    page = write_report(
        model, records, path, title=title, by="package", text_column="text", name_column="name",
        n_jobs=model.n_jobs,
    )  # fmt: skip
    return str(page.resolve())


def count_words(texts: dict[str, str], jobs: int | None) -> Any:
    """Return the counts of words that say what docstrings are about."""
    import numpy as np

    from opelda.corpus import Tokenizer, read
    from opelda.corpus.text._languages import listed

    # a package's own name tells where a docstring is from; those of the library are words
    packages = {name.split(".")[0].lower() for name in texts} - sys.stdlib_module_names
    stop_words = {*listed("en"), *STOP_WORDS, *packages}
    records = ({"name": name, "text": text} for name, text in texts.items())
    corpus = read(
        records, text_column="text", name_column="name",
        tokenizer=Tokenizer(pattern=r"[^\W\d_]{3,}", stop_words=stop_words),
        min_df=max(2, round(0.001 * len(texts))), max_df=0.2, n_jobs=jobs,
    )  # fmt: skip
    # more often in one docstring, a word says no more about its subject
    np.minimum(corpus.X.data, 3, out=corpus.X.data)
    return replace(corpus, names=list(texts))


def _certified_example(model: Any, corpus: Any, texts: dict[str, str]) -> dict[str, Any]:
    """Infer one docstring with a flat prior, for which the gap bounds what is missing."""
    import numpy as np

    from opelda.inference import OPE, infer

    names = list(texts)
    lengths = np.asarray(corpus.X.sum(axis=1)).ravel()
    known = [names.index(name) for name in EXAMPLES if name in texts]
    row = next((i for i in known if lengths[i] > 0), int(lengths.argmax()))
    steps = []
    for n_iter in (20, 100, 500):
        method = OPE(n_iter=n_iter)
        found = infer(
            corpus.X[[row]], model.components_, doc_topic_prior=1.0, method=method, random_state=0
        )
        certified = ("log_likelihood", "gap", "likelihood_loss")
        values = {name: float(getattr(found, name)[0]) for name in certified}
        steps.append({"n_iter": n_iter, **values})
    return {
        "name": names[row],
        "text": texts[names[row]],
        "tokens": float(lengths[row]),
        "mixture": [float(weight) for weight in found.theta[0]],
        "steps": steps,
    }


def _print(found: dict[str, Any]) -> None:
    """Write the topics, the example and what to do next."""
    n_packages = count(len(found["packages"]), "module or package", "modules and packages")
    n_docs = count(found["documents"], "docstring")
    print_line(f"The topics of {n_docs} from {n_packages} found here:")
    print_line()
    room, rows, words = width() - len("topic  weight  "), [], {}
    for topic in found["topics"]:
        words[topic["topic"]] = own = [entry["word"] for entry in topic["words"]]
        rows.append((str(topic["topic"]), share(topic["weight"]), shorten(" ".join(own), room)))
        rows.append(("", "", shorten(", ".join(topic["typical"]), room)))
    columns = ("topic", "weight", "words, and what is typical")
    print_table(columns, rows, right=columns[:2], styles=("bold", "dim"))
    print_line()
    _print_example(found["example"], words)
    print_line()
    sweeps = f" and {count(found['sweeps'], 'closing sweep')}" if found["sweeps"] else ""
    learning = f"{count(found['passes'], 'pass', 'passes')}{sweeps}"
    details = {
        "gathering": n_docs,
        "counting": f"{count(found['words'], 'word')}, {count(found['tokens'], 'token')}",
        "learning": f"preset {found['preset']}: {learning}, "
        f"{found['documents_per_second']:,.0f} docs/s",
    }
    facts = [(name, f"{duration(found['seconds'][name])}, {details[name]}") for name in details]
    print_facts(facts if found["model"] is None else [*facts, ("saved as", found["model"])])
    if "report" in found:
        print_line()
        print_line(f"A page about all of it, which works offline: {found['report']}")
    print_line()
    print_line("What to try next:")
    model = found["model"] or "model.opelda"
    print_facts((f"  {command.format(model=model)}", why) for command, why in NEXT)


def _print_example(example: dict[str, Any], words: dict[int, list[str]]) -> None:
    summary = next((line.strip() for line in example["text"].splitlines() if line.strip()), "")
    n_words = count(example["tokens"], "word")
    print_line(f"One docstring and its topics: {example['name']}, {n_words}")
    print_line(f'  "{summary}"')
    for topic, weight in sorted(enumerate(example["mixture"]), key=lambda pair: -pair[1]):
        if weight >= 0.02:
            print_line(f"  {share(weight):>6}  topic {topic}: {' '.join(words[topic][:5])}")
    for step in example["steps"]:
        print_line(
            f"  {step['n_iter']:4} steps: log-likelihood {step['log_likelihood']:.2f}, "
            f"gap {step['gap']:.2f}, likelihood_loss {step['likelihood_loss']:.2f}"
        )
    print_line("  Certified: no mixture of these topics has a log-likelihood that is more than")
    print_line("  likelihood_loss higher. The gap is 0 where no mixture is better.")
