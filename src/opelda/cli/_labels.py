"""`opelda topics --label`: topics named by people."""

import re

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
