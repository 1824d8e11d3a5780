"""polars in a forked child, which lacks the threads of polars' pool.

A call that gives work to the pool hangs there. polars evaluates expressions in the calling thread
when a selection has at least as many expressions as the pool has threads.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from opelda.errors import InputError

if TYPE_CHECKING:  # polars is imported on first use: commands without texts start faster
    import polars as pl

_is_running = _is_lost = False


def _before_fork() -> None:
    """Note whether polars has started its pool; importing polars does not start it."""
    global _is_running
    try:
        names = [file.read_text() for file in Path("/proc/self/task").glob("*/comm")]
    except OSError:
        names = []
    started = any(name.startswith("polars-") and name[7].isdigit() for name in names)
    _is_running = _is_running or started or not names  # without /proc the pool may be running


def _after_fork() -> None:
    global _is_lost
    _is_lost = _is_running


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


def lacks_pool() -> bool:
    """Return whether a call that needs the pool would hang."""
    return _is_lost


def evaluate(column: "pl.Series", expression: "Callable[[pl.Expr], pl.Expr]") -> "pl.Series":
    """Return an expression of a column, evaluated in this thread where the pool is lacking."""
    import polars as pl

    padding = [pl.lit(0).alias(f"{i}") for i in range(pl.thread_pool_size())] if _is_lost else []
    table = column.rename("column").to_frame()
    return table.select_seq(expression(pl.col("column")), *padding).to_series()


def contains(column: "pl.Series", pattern: str) -> "pl.Series":
    """Return which texts of a column a regular expression matches."""
    return evaluate(column, lambda text: text.str.contains(pattern))


def require_pool(label: str) -> None:
    """Raise `InputError` where the pool is lacking, for sources that need it."""
    if _is_lost:
        raise InputError(
            f"{label} cannot be read in a process that was forked after its parent had used "
            "polars; read the documents in the parent, or start processes by 'spawn'."
        )
