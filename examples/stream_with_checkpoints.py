"""Learn from a stream that may be killed at any moment, and hear of what is new in it.

    python examples/stream_with_checkpoints.py feed.jsonl state

Run it again after a kill, or when the file has grown: it goes on where it was, and learns from each
document once.
"""

import sys

from opelda import TopicModel
from opelda.corpus import stream
from opelda.learning import BatchReport, Event, OnEvent


def tell(event: Event) -> None:
    """Pass an event on: to a chat, a pager, a log."""
    print(f"! {event}")


def show(report: BatchReport) -> None:
    """Print how far it is."""
    print(f"{report.n_docs:,} documents, {report.n_words:,} words")


def main(source: str, folder: str) -> None:
    """Go on with the stream from its checkpoint."""
    model = TopicModel(20, random_state=0, callbacks=[OnEvent(tell), show])
    model.fit_stream(stream(source, batch_size=200), checkpoint=folder)
    for words in model.top_words(5)[:3]:
        print(" ".join(words))


if __name__ == "__main__":
    main(*sys.argv[1:])
