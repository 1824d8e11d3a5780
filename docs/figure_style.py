"""How the figures of these pages look: like those of the experiments."""

from opelda.experiments._plots import LOOKS, STYLE, tidy

__all__ = ["BLUE", "GREEN", "LOOKS", "ORANGE", "RED", "SKY", "STYLE", "tidy"]

# The colours of Okabe & Ito, which readers with any kind of colour blindness can tell apart.
BLUE, ORANGE, GREEN, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"
