"""How the figures of these pages look: like those of `reproduction`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # scripts find what lies beside them only
from reproduction.plots import LOOKS, STYLE, tidy

__all__ = ["BLUE", "GREEN", "LOOKS", "ORANGE", "RED", "SKY", "STYLE", "tidy"]

# The colours of Okabe & Ito, which readers with any kind of colour blindness can tell apart.
BLUE, ORANGE, GREEN, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"
