"""The experiments of the paper, on any collection: a table, a figure and verdicts each.

Not a part of the installed package: `python -m reproduction --help` from the repository's root.

>>> from reproduction import NAMES
>>> NAMES[:3]
('learning-time', 'learning-documents', 'sensitivity')
"""

from reproduction.data import Data, prepare
from reproduction.experiment import Experiment, Run, Verdict
from reproduction.running import NAMES, Result, find_experiment, reproduce
from reproduction.settings import Settings

__all__ = [
    "NAMES",
    "Data",
    "Experiment",
    "Result",
    "Run",
    "Settings",
    "Verdict",
    "find_experiment",
    "prepare",
    "reproduce",
]
