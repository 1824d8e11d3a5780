"""The docstrings of the Python packages on this machine: a collection that everybody has."""

from opelda.corpus.packages._gathering import docstrings

__all__ = ["docstrings"]
