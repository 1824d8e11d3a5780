"""Printing of `opelda demo`: topics with what is typical of them, an example, what to do next."""

import sys
from collections.abc import Sequence
from typing import Any

from opelda.cli._show import count, duration, share
from opelda.cli._standard_streams import console_for, print_facts, print_line, print_table

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
