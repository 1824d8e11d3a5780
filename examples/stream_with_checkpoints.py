"""Learn from a stream with checkpoints, and report events.

    python examples/stream_with_checkpoints.py feed.jsonl state

Run it again after a crash, or when the file has grown: it resumes from the checkpoint and learns
each document once.
"""

import sys

from opelda import TopicModel
from opelda.corpus import stream
from opelda.learning import BatchReport, Event, OnEvent


def tell(event: Event) -> None:
    """Send an event to a chat, a pager or a log."""
    print(f"! {event}")


def show(report: BatchReport) -> None:
    """Print progress."""
    print(f"{report.n_docs:,} documents, {report.n_words:,} words")


def main(source: str, folder: str) -> None:
    """Resume the stream from its checkpoint."""
    model = TopicModel(20, random_state=0, callbacks=[OnEvent(tell), show])
    model.fit_stream(stream(source, batch_size=200), checkpoint=folder)
    for words in model.top_words(5)[:3]:
        print(" ".join(words))


if __name__ == "__main__":
    main(*sys.argv[1:])
