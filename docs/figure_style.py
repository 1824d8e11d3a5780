"""How the figures of these pages look: like those of `reproduction`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # scripts find what lies beside them only
from opelda.report.plots._frame import BLUE, GREEN, ORANGE, RED, SKY, STYLE, tidy
from reproduction.plots import LOOKS

__all__ = ["BLUE", "GREEN", "LOOKS", "ORANGE", "RED", "SKY", "STYLE", "tidy"]
