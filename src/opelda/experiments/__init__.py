"""The experiments of the paper, on any collection: a table, a figure and a verdict each.

>>> from opelda.experiments import NAMES
>>> NAMES[:3]
('learning-time', 'learning-documents', 'sensitivity')
"""

from opelda.experiments._data import Data, prepare
from opelda.experiments._experiment import Experiment, Run, Verdict
from opelda.experiments._reproduce import NAMES, Result, experiment, reproduce
from opelda.experiments._settings import Settings

__all__ = [
    "NAMES",
    "Data",
    "Experiment",
    "Result",
    "Run",
    "Settings",
    "Verdict",
    "experiment",
    "prepare",
    "reproduce",
]
