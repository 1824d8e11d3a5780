"""An update in one line, as bars and logs show it."""

import math
from collections.abc import Iterator

from opelda.learning.callbacks import BatchReport


def describe(
    report: BatchReport, score: float | None = None, batch_score: float | None = None
) -> str:
    """Put what is known of an update, and the last scores, into one line."""
    parts = [f"run {report.n_run}/{report.n_runs}"] if report.n_runs > 1 else []
    unit = "docs"
    if max(report.n_pass, report.n_passes or 1) > 1:
        unit = "visits"  # of documents, which each pass sees again
        parts.append(f"pass {report.n_pass}" + (f"/{report.n_passes}" if report.n_passes else ""))
    total, speed = report.n_docs_total, report.docs_per_second
    parts.append(f"{report.n_docs:,}" + ("" if total is None else f"/{total:,}") + f" {unit}")
    if 0 < speed < math.inf:
        parts.append(f"{_rate(speed)} {unit}/s")
        recent = report.recent_docs_per_second
        if total is None and abs(recent - speed) > 0.05 * speed:
            parts.append(f"{_rate(recent)} of late")
    parts.extend(_left(report))
    if batch_score is not None:
        parts.append(f"batch {batch_score:.3f}")
    if score is not None:  # a narrow terminal cuts off what comes last
        parts.append(f"score {score:.4f}")
    if not math.isnan(report.mean_gap):
        parts.append(f"gap {report.mean_gap:.3g}")
    parts.append(f"step {report.step_size:.3g}")
    if report.n_words_added > 0:
        parts.append(f"{report.n_words_added:,} words added")
    if report.memory is not None:
        parts.append(f"{report.memory / 1e6:,.0f} MB")
    return ", ".join(parts)


def _rate(speed: float) -> str:
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.2g}"


def _left(report: BatchReport) -> Iterator[str]:
    """Say how long it will take: the passes by their speed, the sweeps by that of the last one.

    Documents take another time in sweeps than in updates, so that neither says it of the other.
    """
    total, speed, n_sweeps = report.n_docs_total, report.docs_per_second, report.n_sweeps
    if total is None or total <= report.n_docs:
        return
    n_swept = n_sweeps * (total // report.n_passes) if report.n_passes else 0
    n_docs = total - n_swept - report.n_docs  # of updates still to come
    if n_docs >= 0:
        seconds = n_docs / speed if 0 < speed < math.inf else 0.0
    else:
        to_sweep = (report.n_passes or 0) - report.n_pass
        seconds = to_sweep * (report.e_seconds + report.m_seconds)
    if seconds > 0:
        minutes, second = divmod(math.ceil(seconds), 60)
        hours, minute = divmod(minutes, 60)
        yield f"{hours}:{minute:02}:{second:02} left"
    if n_sweeps and n_docs >= 0:
        yield f"then {n_sweeps} sweeps"
