"""A stream that ends when the user says so, between two mini-batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opelda.cli._signals import handled


class Stoppable:
    """Wraps what `opelda.corpus.stream` returns; after Ctrl-C it ends as if the source had.

    While documents are waited for, the wait is cut short. While the learner is at work on a
    mini-batch it finishes that first, so that model and place in the source always agree.

    Parameters
    ----------
    stream : opelda.corpus.Stream
    seeks : bool
        Whether to go to the place where the last run stopped; without, the source is taken to
        begin there.
    """

    def __init__(self, stream: Any, seeks: bool = True) -> None:
        self._stream = stream
        self._seeks = seeks
        self._waiting = False
        self.stopped = False

    @property
    def position(self) -> Any:
        """Where the source goes on."""
        return self._stream.position

    @property
    def label(self) -> str:
        """What to call the source."""
        return str(self._stream.label)

    @property
    def vocabulary(self) -> Any:
        """What the stream's words are counted with."""
        return self._stream.vocabulary

    @property
    def problems(self) -> Any:
        """What could not be read so far."""
        return self._stream.problems

    def seek(self, position: Any) -> None:
        """Go to where the last run stopped."""
        if self._seeks:
            self._stream.seek(position)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._stream)

    def counted(self, vocabulary: Any) -> Iterator[Any]:
        """Yield what the stream does until it is stopped."""
        items = self._stream.counted(vocabulary)
        while True:
            try:
                self._waiting = True
                if self.stopped:  # after `_waiting`: a signal between the two cuts the wait short
                    return
                item = next(items, None)
            except KeyboardInterrupt:
                return
            finally:
                self._waiting = False
            if item is None:
                return
            yield item

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C as the wish to stop."""

        def stop(number: int, frame: Any) -> None:
            self.stopped = True
            if self._waiting:
                raise KeyboardInterrupt

        with handled(stop):
            yield
