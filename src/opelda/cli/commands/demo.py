"""`opelda demo`: the topics of the Python packages on this machine, from their docstrings."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, cast

from opelda import _names
from opelda.cli._app import command, option
from opelda.cli._callbacks import learning_display
from opelda.cli._exit import StoppedError
from opelda.cli._models import PRESET, SEED, on_machine
from opelda.cli._options import AsJson, Engine, Jobs, Show
from opelda.cli._outputs import check_model_output, check_output
from opelda.cli._show import by_weight, count, duration, reading_bar, share, topic_as_plain
from opelda.cli._standard_streams import (
    console_for,
    print_facts,
    print_json,
    print_line,
    print_table,
)
from opelda.cli.commands._docstrings import STOP_WORDS, docstrings
from opelda.errors import InputError

N_TOPICS, N_WORDS, N_DOCS = 24, 8, 8_000
MIN_DF, MAX_DF = 0.001, 0.2
MOST_TIMES = 3  # more often in one docstring, a word says no more about its subject
LETTERS = r"[^\W\d_]{3,}"
# of the standard library; the first one that is there is shown
EXAMPLES = (
    "statistics.linear_regression", "tempfile.NamedTemporaryFile", "subprocess.run",
    "urllib.request.urlopen",
)  # fmt: skip
STEPS = (20, 100, 500)
CONSIDERED = 150  # docstrings of a topic, among which those shown are chosen
CLOSE = 0.6  # down to this part of the best one's, another package's docstring is preferred
MOST_DOTS = 3  # longer paths, and private ones, are preferably not shown
LEAST_SHOWN = 0.02
MODEL = "model.opelda"
NEXT = (
    ("opelda fit texts.txt -k 50 -o {model}", "learn topics of your own"),
    ("opelda topics {model}", "look at them again"),
    ("opelda report {model} texts.txt -o report.html", "a page about them"),
    ("opelda transform {model} new.txt -o theta.csv", "mixtures of documents"),
    ("opelda evaluate {model} new.txt", "how well they fit"),
    ("opelda --help", "everything else"),
)


@command(
    "demo",
    "opelda demo",
    "opelda demo -k 40 --seed 1",
    "opelda demo -o python.opelda --report demo.html",
    "opelda demo --json",
)
def demo(
    *,
    n_components: int = option(
        N_TOPICS, "--topics", "-k", help="Number of topics.", min=2, metavar="K"
    ),
    output: str | None = option(
        None, "--output", "-o", help="Save the model there; not kept if not given.", metavar="FILE"
    ),
    report: str | None = option(
        None, help="Write a page about it there, such as demo.html.", metavar="FILE"
    ),
    limit: int = option(N_DOCS, help="Docstrings to gather, spread over the packages.", min=20),
    preset: str = option(
        PRESET, help="The settings: best (the default), fast or paper.", choices=_names.PRESETS
    ),
    random_state: int = option(SEED, "--seed", help="Of the random numbers.", min=0),
    n_jobs: Jobs = None,
    engine: Engine = None,
    as_json: AsJson = False,
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
    model._schedule()  # complains of a preset that there is not before it gathers anything
    try:
        found = learn(limit, model, show)
    except KeyboardInterrupt:
        raise StoppedError("stopped; nothing was written.") from None
    if path is not None:
        opelda.save(model, path)
        found["model"] = str(path)
    texts = found.pop("texts")
    if report is not None:
        found["report"] = write_page(model, texts, report)
    if as_json:
        print_json(found)
    else:
        print_demo(found)


def learn(limit: int, model: Any, show: Show) -> dict[str, Any]:
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
    rows, topics = top_documents(model, corpus, CONSIDERED), []
    for row in by_weight(topic_table(model, N_WORDS)):
        names = typical([other for other in rows if other.topic == row.topic])
        topics.append({**topic_as_plain(row), "typical": names})
    return {
        "model": None,
        "texts": texts,
        "preset": model.preset,
        "passes": schedule.n_passes,
        "sweeps": schedule.n_sweeps,
        "documents": n_docs,
        "words": n_words,
        "tokens": float(corpus.X.sum()),
        "packages": dict(Counter(_beginning(name, 1) for name in texts).most_common()),
        "topics": topics,
        "example": certified_example(model, corpus, texts),
        "seconds": {
            "gathering": gathered - begun,
            "counting": counted - gathered,
            "learning": learned - counted,
        },
        "documents_per_second": n_docs / max(learned - counted, 1e-9),
    }


def write_page(model: Any, texts: dict[str, str], path: str) -> str:
    """Write a page about the docstrings; return where."""
    from opelda.report import write_report

    records = [
        {"name": name, "text": text, "package": _beginning(name, 1)} for name, text in texts.items()
    ]
    title = "The topics of Python's docstrings"
    page = write_report(
        model, records, path, title=title, by="package", text_column="text", name_column="name",
        n_jobs=model.n_jobs,
    )  # fmt: skip
    return str(page.resolve())


def typical(rows: Sequence[Any], n: int = 3) -> list[str]:
    """Return names of a topic's typical docstrings, of different packages if possible."""
    from opelda.report._typical_documents import typicality

    scores = [typicality(row.weight, row.tokens) for row in rows]
    close = [
        row.name for row, score in zip(rows, scores, strict=True) if score >= CLOSE * scores[0]
    ]
    plain = [name for name in close if name.count(".") <= MOST_DOTS and "._" not in f".{name}"]
    ranked = plain or close
    chosen: list[str] = []
    for depth in (1, 2):  # of other packages first, then of other parts of the same
        taken = {_beginning(name, depth) for name in chosen}
        for name in ranked:
            if len(chosen) < n and _beginning(name, depth) not in taken:
                taken.add(_beginning(name, depth))
                chosen.append(name)
    return sorted(chosen, key=ranked.index)


def _beginning(name: str, depth: int) -> str:
    """Return the package of a name, or with a depth of 2 a part of it."""
    return ".".join(name.split(".")[:depth])


def count_words(texts: dict[str, str], jobs: int | None) -> Any:
    """Return the counts of words that say what docstrings are about."""
    import numpy as np

    from opelda.corpus import Tokenizer, read
    from opelda.corpus.text._languages import listed

    # a package's own name tells where a docstring is from; those of the library are words
    packages = {name.split(".")[0].lower() for name in texts} - sys.stdlib_module_names
    tokenizer = Tokenizer(pattern=LETTERS, stop_words={*listed("en"), *STOP_WORDS, *packages})
    records = ({"name": name, "text": text} for name, text in texts.items())
    corpus = read(
        records, text_column="text", name_column="name", tokenizer=tokenizer,
        min_df=max(2, round(MIN_DF * len(texts))), max_df=MAX_DF, n_jobs=jobs,
    )  # fmt: skip
    np.minimum(corpus.X.data, MOST_TIMES, out=corpus.X.data)
    return replace(corpus, names=list(texts))


def certified_example(model: Any, corpus: Any, texts: dict[str, str]) -> dict[str, Any]:
    """Infer one docstring with a flat prior, for which the gap bounds what is missing."""
    import numpy as np

    from opelda.inference import OPE, infer

    names = list(texts)
    lengths = np.asarray(corpus.X.sum(axis=1)).ravel()
    known = [names.index(name) for name in EXAMPLES if name in texts]
    row = next((i for i in known if lengths[i] > 0), int(lengths.argmax()))
    steps = []
    for n_iter in STEPS:
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


def print_demo(found: dict[str, Any]) -> None:
    """Write the topics, the example and what to do next."""
    n_packages = count(len(found["packages"]), "module or package", "modules and packages")
    n_docs = count(found["documents"], "docstring")
    print_line(f"The topics of {n_docs} from {n_packages} found here:")
    print_line()
    _print_topics(found["topics"])
    print_line()
    words = {topic["topic"]: " ".join(_words(topic)[:5]) for topic in found["topics"]}
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
    seconds = {name: duration(value) for name, value in found["seconds"].items()}
    facts = [(name, f"{seconds[name]}, {told}") for name, told in details.items()]
    print_facts(facts if found["model"] is None else [*facts, ("saved as", found["model"])])
    if "report" in found:
        print_line()
        print_line(f"A page about all of it, which works offline: {found['report']}")
    print_line()
    print_line("What to try next:")
    model = found["model"] or MODEL
    print_facts((f"  {command.format(model=model)}", why) for command, why in NEXT)


def _words(topic: dict[str, Any]) -> list[str]:
    return [entry["word"] for entry in topic["words"]]


def _print_topics(topics: list[dict[str, Any]]) -> None:
    room = console_for(sys.stdout).width - len("topic  weight  ")
    rows = []
    for topic in topics:
        words = fitting(_words(topic), " ", room)
        rows.append((str(topic["topic"]), share(topic["weight"]), words))
        rows.append(("", "", fitting(topic["typical"], ", ", room)))
    columns = ("topic", "weight", "words, and what is typical")
    print_table(columns, rows, right=columns[:2], styles=("bold", "dim"))


def fitting(items: Sequence[str], separator: str, room: int) -> str:
    """Join the first items, as many as fit into a line, but one at least.

    >>> fitting(["tea", "cup", "pot"], ", ", 8)
    'tea, cup'
    """
    line = items[0]
    for item in items[1:]:
        if len(line) + len(separator) + len(item) > room:
            break
        line += separator + item
    return line


def _print_example(example: dict[str, Any], words: dict[int, str]) -> None:
    summary = next((line.strip() for line in example["text"].splitlines() if line.strip()), "")
    n_words = count(example["tokens"], "word")
    print_line(f"One docstring and its topics: {example['name']}, {n_words}")
    print_line(f'  "{summary}"')
    for topic, weight in sorted(enumerate(example["mixture"]), key=lambda pair: -pair[1]):
        if weight >= LEAST_SHOWN:
            print_line(f"  {share(weight):>6}  topic {topic}: {words[topic]}")
    for step in example["steps"]:
        print_line(
            f"  {step['n_iter']:4} steps: log-likelihood {step['log_likelihood']:.2f}, "
            f"gap {step['gap']:.2f}, likelihood_loss {step['likelihood_loss']:.2f}"
        )
    print_line("  Certified: whatever the mixture of these topics, the log-likelihood cannot be")
    print_line("  more than likelihood_loss higher. The gap is 0 where no mixture is better.")
