"""`opelda demo`: the topics of the Python packages on this machine, from their docstrings."""

import os
import sys
from dataclasses import replace
from textwrap import shorten
from time import perf_counter
from typing import Any, cast

from opelda.cli import _terminal as terminal
from opelda.cli._app import command, option
from opelda.cli._callbacks import learning_display
from opelda.cli._exit import StoppedError
from opelda.cli._inputs import PRESET, on_machine
from opelda.cli._options import ENGINE, JOBS
from opelda.cli._outputs import check_model_output, check_output
from opelda.cli._terminal import count
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


@command("opelda demo", "opelda demo -k 40 --seed 1", "opelda demo -o m.opelda --report demo.html")
def demo(
    *,
    n_components: int = option("--topics -k K", "Number of topics.", 24, min=2),
    output: str | None = option("--output -o FILE", "Save the model there."),
    report: str | None = option("--report FILE", "Write a page about it there."),
    limit: int = option("--limit N", "Docstrings to gather.", 8_000, min=20),
    preset: str = option("--preset best|fast|paper", "The settings.", PRESET),
    random_state: int = option("--seed N", "Of the random numbers.", 0, min=0),
    n_jobs: int | None = JOBS,
    engine: str | None = ENGINE,
) -> None:
    """Show topics of the docstrings of the packages installed here.

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
        with terminal.reading_bar("gathering docstrings") as bar:
            texts = docstrings(limit, progress=None if bar is None else lambda n: bar(n, n, limit))
        if not texts:
            raise InputError("This Python's library and packages have no docstrings.")
        corpus, begun = count_words(texts, n_jobs), perf_counter()
        model.set_params(callbacks=learning_display()).fit(corpus)
        seconds = perf_counter() - begun
    except KeyboardInterrupt:
        raise StoppedError("stopped; nothing was written.") from None
    if path is not None:
        opelda.save(model, path)
    packages = {name: name.partition(".")[0] for name in texts}
    if report is not None:
        from opelda.report import write_report

        records = [{"name": n, "text": t, "package": packages[n]} for n, t in texts.items()]
        columns: Any = {"by": "package", "text_column": "text", "name_column": "name"}
        title = "The topics of Python's docstrings"
        write_report(model, records, report, title=title, n_jobs=n_jobs, **columns)
    n_packages = count(len({*packages.values()}), "module or package", "modules and packages")
    n_docs, n_words = corpus.X.shape
    terminal.print_line(f"The topics of {count(n_docs, 'docstring')} from {n_packages} found here:")
    terminal.print_line()
    words = _print_topics(model, corpus)
    terminal.print_line()
    _print_example(certified_example(model, corpus, texts), words)
    terminal.print_line()
    schedule, rate = model._schedule(n_docs), n_docs / max(seconds, 1e-9)
    sweeps = f" and {count(schedule.n_sweeps, 'closing sweep')}" if schedule.n_sweeps else ""
    passes = f"{count(schedule.n_passes, 'pass', 'passes')}{sweeps}"
    taken = terminal.duration(seconds)
    facts = [
        ("words", f"{n_words:,} ({count(corpus.X.sum(), 'token')})"),
        ("learning", f"{taken}, preset {preset}: {passes}, {rate:,.0f} docs/s"),
    ]
    terminal.print_facts(facts if path is None else [*facts, ("saved as", str(path))])
    if report is not None:
        terminal.print_line()
        terminal.print_line(f"A page that works offline: {os.path.realpath(report)}")
    terminal.print_line()
    terminal.print_line("What to try next:")
    terminal.print_facts(
        (f"  {command.format(model=path or 'model.opelda')}", why) for command, why in NEXT
    )


def count_words(texts: dict[str, str], jobs: int | None) -> Any:
    """Return the counts of words about the subjects of docstrings."""
    import numpy as np

    from opelda.corpus import Tokenizer, read
    from opelda.corpus.text._languages import listed

    # names of packages only tell the source; names of library modules are words
    packages = {name.split(".")[0].lower() for name in texts} - sys.stdlib_module_names
    stop_words = {*listed("en"), *STOP_WORDS, *packages}
    records = ({"name": name, "text": text} for name, text in texts.items())
    corpus = read(
        records, text_column="text", name_column="name",
        tokenizer=Tokenizer(pattern=r"[^\W\d_]{3,}", stop_words=stop_words),
        min_df=max(2, round(0.001 * len(texts))), max_df=0.2, n_jobs=jobs,
    )  # fmt: skip
    # further repetitions in a docstring say no more about its subject
    np.minimum(corpus.X.data, 3, out=corpus.X.data)
    return replace(corpus, names=list(texts))


def certified_example(model: Any, corpus: Any, texts: dict[str, str]) -> dict[str, Any]:
    """Infer one docstring with a flat prior, where the gap bounds the loss."""
    import numpy as np

    from opelda.inference import OPE, infer

    names = list(texts)
    lengths = np.asarray(corpus.X.sum(axis=1)).ravel()
    known = [names.index(name) for name in EXAMPLES if name in texts]
    row = next((i for i in known if lengths[i] > 0), int(lengths.argmax()))
    X, steps = corpus.X[[row]], []
    for n_iter in (20, 100, 500):
        method = OPE(n_iter=n_iter)
        found = infer(X, model.components_, doc_topic_prior=1.0, method=method, random_state=0)
        certified = ("log_likelihood", "gap", "likelihood_loss")
        steps.append({name: float(getattr(found, name)[0]) for name in certified})
        steps[-1]["n_iter"] = n_iter
    return {
        "name": names[row],
        "text": texts[names[row]],
        "tokens": float(lengths[row]),
        "mixture": found.theta[0].tolist(),
        "steps": steps,
    }


def _print_topics(model: Any, corpus: Any) -> list[list[str]]:
    """Write each topic's words and typical docstrings; return the words of all topics."""
    from opelda.report import top_documents, topic_table

    table, room, rows = topic_table(model, 8), terminal.width() - len("topic  weight  "), []
    typical: dict[int, list[str]] = {}
    for document in top_documents(model, corpus, 3):
        typical.setdefault(document.topic, []).append(str(document.name))
    for row in terminal.by_weight(table):
        rows.append(
            (str(row.topic), terminal.share(row.weight), shorten(" ".join(row.words), room))
        )
        rows.append(("", "", shorten(", ".join(typical.get(row.topic, [])), room)))
    columns = ("topic", "weight", "words, typical docstrings")
    terminal.print_table(columns, rows, right=columns[:2], styles=("bold", "dim"))
    return [list(row.words) for row in table]


def _print_example(example: dict[str, Any], words: list[list[str]]) -> None:
    summary = next((line.strip() for line in example["text"].splitlines() if line.strip()), "")
    n_words = count(example["tokens"], "word")
    terminal.print_line(f"One docstring and its topics: {example['name']}, {n_words}")
    terminal.print_line(f'  "{summary}"')
    for topic, weight in sorted(enumerate(example["mixture"]), key=lambda pair: -pair[1]):
        if weight >= 0.02:
            terminal.print_line(
                f"  {terminal.share(weight):>6}  topic {topic}: {' '.join(words[topic][:5])}"
            )
    for step in example["steps"]:
        terminal.print_line(
            f"  {step['n_iter']:4} steps: log-likelihood {step['log_likelihood']:.2f}, "
            f"gap {step['gap']:.2f}, likelihood_loss {step['likelihood_loss']:.2f}"
        )
    terminal.print_line(
        "  Certified: no mixture of these topics has a log-likelihood that is more than"
    )
    terminal.print_line("  likelihood_loss higher. The gap is 0 where no mixture is better.")
