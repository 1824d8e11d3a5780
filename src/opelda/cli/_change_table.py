"""`opelda topics --since`: what moved in a stream."""

from dataclasses import asdict, replace
from typing import Any

from opelda.cli._models import load_model
from opelda.cli._show import count, share
from opelda.cli._standard_streams import print_json, print_line, print_table
from opelda.errors import InputError

MOVED = 20  # topics shown


def show_moves(given: str, since: str, n_words: int, *, as_json: bool) -> None:
    """Print shares and words of a stream's topics then and now, and the events meanwhile."""
    from opelda._validation import steps_or_seconds
    from opelda.learning.persistence._stored_model import model_path
    from opelda.learning.streaming._events import Times
    from opelda.report._topic_table import topic_moves

    n_documents, seconds = steps_or_seconds("since", since)
    model = load_model(given)
    times = Times(model_path(given).parent)
    if seconds and not times:
        raise InputError(
            f"--since {since} needs the times that a checkpoint folder keeps, and {given} has "
            "none; give a number of documents."
        )
    now = model.n_docs_seen_
    begin = times.documents(times.last - seconds) if seconds else now - n_documents
    first, moves = topic_moves(model, begin)
    events = [replace(e, time=times.at(e.document)) for e in model.events_ if e.document > first]
    if as_json:
        print_json(
            {
                "model": given,
                "documents": now,
                "since": first,
                "topics": [asdict(move) for move in moves],
                "events": [event.as_dict() for event in events],
            }
        )
        return
    earliest = " (as far back as is known)" if first > begin else ""
    print_line(f"From {count(first, 'document')}{earliest} to {now:,}, moved most:")
    print_table(
        ("topic", "then", "now", "rho", "words", "came", "went"),
        [_row(move, n_words) for move in moves[:MOVED]],
        right=("topic", "then", "now", "rho"),
    )
    for event in events:
        print_line(str(event))


def _row(move: Any, n_words: int) -> tuple[str, ...]:
    words = (" ".join(part[:n_words]) for part in (move.words, move.came, move.went))
    return str(move.topic), share(move.share_before), share(move.share), f"{move.rho:.2f}", *words
