"""Topics as people and as programs read them."""

from typing import Any

from opelda.cli._numbers import share
from opelda.cli._output import print_table

TOPICS_SHOWN, WORDS_SHOWN = 5, 10


def by_weight(rows: list[Any]) -> list[Any]:
    """Return the heaviest first; where no weights are known, by number."""
    return sorted(rows, key=lambda row: (-(row.weight or 0.0), row.topic))


def heaviest(model: Any) -> list[Any]:
    """Return a few topics with the largest share of the tokens."""
    from opelda.report import topic_table

    return by_weight(topic_table(model, WORDS_SHOWN))[:TOPICS_SHOWN]


def as_plain(row: Any) -> dict[str, Any]:
    """Return a topic as JSON holds it."""
    pairs = zip(row.words, row.probabilities, strict=True)
    return {
        "topic": row.topic,
        "weight": row.weight,
        "label": row.label,
        "words": [{"word": word, "probability": p} for word, p in pairs],
    }


def print_topics(rows: list[Any], *, error: bool = False) -> None:
    """Write topics as a table."""
    print_table(
        ("topic", "weight", "label", "words"),
        [(str(row.topic), share(row.weight), row.label, " ".join(row.words)) for row in rows],
        right=("topic", "weight"),
        error=error,
    )
