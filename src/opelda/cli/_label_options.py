"""`opelda topics --label` and `--label-with`: topics named by people, or by a command of theirs."""

import re
import subprocess
from collections.abc import Iterable
from typing import Any

from opelda.cli._options import Show
from opelda.cli._standard_streams import note
from opelda.errors import InputError


def labels_from(given: list[str]) -> dict[int, str]:
    """Return labels by topic.

    >>> labels_from(["17=health care", "3="])
    {17: 'health care', 3: ''}
    """
    labels: dict[int, str] = {}
    for text in given:
        found = re.fullmatch(r"\s*([0-9]{1,9})\s*=(.*)", text, re.DOTALL)
        if found is None:
            raise InputError(
                f"--label must be the number of a topic and its label, as 17='health care', not "
                f"{text!r}."
            )
        number = int(found[1])
        if number in labels:
            raise InputError(f"--label names topic {number} twice; give one label.")
        labels[number] = found[2].strip()
    return labels


def labels_by_command(
    command: str, model: Any, documents: Iterable[Any], only: list[int] | None, show: Show
) -> dict[int, str]:
    """Return the labels that a shell command prints, asked for each topic on standard input."""
    from opelda.report import topic_table
    from opelda.report._topic_labels import N_WORDS, labels_by

    def ask(topic: Any) -> str:
        done = subprocess.run(
            command, shell=True, input=topic.prompt, stdout=subprocess.PIPE, text=True, check=False
        )
        label: str = done.stdout.strip()
        if done.returncode or not label:
            said = f"ended with {done.returncode}" if done.returncode else "printed nothing"
            raise InputError(
                f"--label-with {command!r} {said} for topic {topic.topic}; no label was saved."
            )
        note(show, f"topic {topic.topic}: {label.splitlines()[0]}")
        return label

    return labels_by(ask, topic_table(model, N_WORDS, only=only), documents)
