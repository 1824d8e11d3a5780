"""Documents that cannot be read: the first one stops the reading, or all are passed over."""

from typing import Any, Literal

from opelda._validation import choice
from opelda.errors import DataWarning, InputError, warn


class Problems:
    """The documents of a source that could not be read: how many, and the first 20.

    >>> problems = Problems("skip")
    >>> problems.add("notes.jsonl, line 3", "is not JSON", "correct the line")
    >>> problems.n_skipped, problems.first
    (1, ['notes.jsonl, line 3 is not JSON.'])
    """

    def __init__(self, on_error: Literal["stop", "skip"] = "stop") -> None:
        self.on_error = choice("on_error", on_error, ("stop", "skip"))
        self.n_skipped = 0
        self.first: list[str] = []
        self._binary: list[str] = []  # files skipped since the last warning

    def add(self, where: str, what: str, remedy: str, **advice: Any) -> None:
        """Report one document; `advice` is that of `InputError`, for the remedy."""
        if self.on_error == "stop":
            raise InputError(
                f"{where} {what}; {remedy}, or pass over such documents with {{on_error}}.",
                on_error="skip",
                **advice,
            )
        self.n_skipped += 1
        if len(self.first) < 20:
            self.first.append(f"{where} {what}.")

    def skip_binary(self, file: str) -> None:
        """Skip a binary file of a folder."""
        self._binary.append(file)

    def warn(self) -> None:
        """Warn of the binary files skipped since the last warning."""
        if not self._binary:
            return
        n_files, named = len(self._binary), ", ".join(self._binary[:3])
        more = f" and {n_files - 3:,} more" if n_files > 3 else ""
        what = "file that is" if n_files == 1 else "files that are"
        self._binary.clear()
        warn(f"Skipped {n_files:,} {what} not text: {named}{more}.", DataWarning)
