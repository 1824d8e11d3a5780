"""What `opelda demo` prints."""

import sys
from collections.abc import Sequence
from typing import Any

from opelda.cli._errors import printable
from opelda.cli._numbers import count, duration, share, speed
from opelda.cli._output import console_for, print_facts, print_line
from opelda.cli._topic_rows import as_plain as topic_as_plain
from opelda.cli.commands._demo_results import Demo

LEAST_SHOWN = 0.02
MODEL = "model.opelda"
NEXT = (
    ("opelda fit texts.txt -k 50 -o {model}", "learn topics of your own"),
    ("opelda topics {model}", "look at them again"),
    ("opelda transform {model} new.txt -o theta.csv", "mixtures of documents"),
    ("opelda evaluate {model} new.txt", "how well they fit"),
    ("opelda --help", "everything else"),
)


def print_demo(demo: Demo, saved: str | None) -> None:
    """Write the topics, the example and what to do next."""
    n_packages = count(len(demo.packages), "module or package", "modules and packages")
    print_line(f"The topics of {count(len(demo.texts), 'docstring')} from {n_packages} found here:")
    print_line()
    _print_topics(demo)
    print_line()
    _print_example(demo)
    print_line()
    print_facts(_facts(demo, saved))
    print_line()
    print_line("What to try next:")
    print_facts((f"  {command.format(model=saved or MODEL)}", why) for command, why in NEXT)


def _print_topics(demo: Demo) -> None:
    from rich.table import Table
    from rich.text import Text

    page = console_for(sys.stdout)
    room = page.width - len("topic  weight  ")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("topic", justify="right", no_wrap=True)
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("words, and what is typical")
    for row in demo.topics():
        words = Text(printable(fitting(row.words, " ", room)), style="bold")
        typical = Text(printable(fitting(demo.typical(row.topic), ", ", room)), style="dim")
        table.add_row(str(row.topic), share(row.weight), words)
        table.add_row("", "", typical)
    page.print(table)


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


def _print_example(demo: Demo) -> None:
    example = demo.example
    words = {row.topic: " ".join(row.words[:5]) for row in demo.topics()}
    summary = next((line.strip() for line in example.text.splitlines() if line.strip()), "")
    print_line(f"One docstring and its topics: {example.name}, {count(example.n_tokens, 'word')}")
    print_line(f'  "{summary}"')
    for topic in (-example.mixture).argsort(kind="stable"):
        if example.mixture[topic] >= LEAST_SHOWN:
            print_line(
                f"  {share(float(example.mixture[topic])):>6}  topic {topic}: {words[topic]}"
            )
    for step in example.steps:
        print_line(
            f"  {step.n_iter:4} steps: log-likelihood {step.log_likelihood:.2f}, "
            f"gap {step.gap:.2f}, likelihood_loss {step.likelihood_loss:.2f}"
        )
    print_line("  Certified: whatever the mixture of these topics, the log-likelihood cannot be")
    print_line("  more than likelihood_loss higher. The gap is 0 where no mixture is better.")


def _facts(demo: Demo, saved: str | None) -> list[tuple[str, str]]:
    model, seconds = demo.model, demo.seconds
    n_docs, n_words = demo.corpus.X.shape
    schedule = model._schedule(n_docs)
    facts = [
        ("gathering", f"{duration(seconds.gathering)}, {count(n_docs, 'docstring')}"),
        ("counting", f"{duration(seconds.counting)}, {count(n_words, 'word')}, "
         f"{count(float(demo.corpus.X.sum()), 'token')}"),
        ("learning", f"{duration(seconds.learning)}, preset {model.preset}: "
         f"{count(schedule.n_passes, 'pass', 'passes')}"
         + (f" and {count(schedule.n_sweeps, 'closing sweep')}" if schedule.n_sweeps else "")
         + f", {speed(model.n_docs_seen_, seconds.learning)}"),
    ]  # fmt: skip
    return facts if saved is None else [*facts, ("saved as", saved)]


def as_plain(demo: Demo, saved: str | None) -> dict[str, Any]:
    """Return everything as JSON holds it."""
    example, seconds = demo.example, demo.seconds
    return {
        "model": saved,
        "preset": demo.model.preset,
        "documents": len(demo.texts),
        "words": demo.corpus.X.shape[1],
        "tokens": float(demo.corpus.X.sum()),
        "packages": demo.packages,
        "topics": [
            {**topic_as_plain(row), "typical": demo.typical(row.topic)} for row in demo.topics()
        ],
        "example": {
            "name": example.name,
            "text": example.text,
            "tokens": example.n_tokens,
            "mixture": [float(weight) for weight in example.mixture],
            "steps": [vars(step) for step in example.steps],
        },
        "seconds": vars(seconds),
        "documents_per_second": demo.model.n_docs_seen_ / max(seconds.learning, 1e-9),
    }
