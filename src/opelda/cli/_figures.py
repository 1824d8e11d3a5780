"""Figures in files."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opelda.cli._standard_streams import tell

FIGURES = (".png", ".svg", ".pdf")


def save_figure(path: Path, draw: Callable[[], Any], title: str | None = None) -> None:
    """Draw, and write the figure of the axes in one step."""
    import numpy as np

    from opelda.corpus.formats._writing import write_in_one_step
    from opelda.report.plots._frame import STYLE, matplotlib, written

    suffix, mpl = path.suffix.lower(), matplotlib()
    mpl.use("agg")  # there is no window to show it in
    import matplotlib.pyplot as plt

    with warnings.catch_warnings(record=True) as said, mpl.rc_context(STYLE):
        warnings.simplefilter("always")
        figure = np.ravel(draw())[0].figure
        more: dict[str, Any] = {}
        if title:  # outside, for what was drawn is where it fits
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            figure.suptitle(written(title, 60, 3), y=1.0, va="bottom")
            more = {"bbox_inches": "tight"}
        try:
            with write_in_one_step(path) as file:
                # without the time, which would make every file another
                when = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
                figure.savefig(file, format=suffix[1:], dpi=200, metadata=when, **more)
        finally:
            plt.close(figure)
    if any("missing from" in str(each.message) for each in said):
        tell(
            "The font lacks some of the letters, which are drawn as boxes; write .svg, or set "
            "font.family in a matplotlibrc file."
        )
