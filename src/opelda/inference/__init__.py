"""The topic mixture of a document, given topics: `infer` and its methods."""

from opelda.inference._checked_topics import Topics
from opelda.inference._infer import METHODS as METHODS
from opelda.inference._infer import AccuracyWarning as AccuracyWarning
from opelda.inference._infer import Inference as Inference
from opelda.inference._infer import infer
from opelda.inference._method import Method as Method
from opelda.inference.cccp import CCCP, SMM
from opelda.inference.cvb import CVB, CVB0
from opelda.inference.em import EM
from opelda.inference.exact import Exact, PerToken
from opelda.inference.fw import FW, OFW
from opelda.inference.ope import OPE
from opelda.inference.sampling import CGS, HAMCMC, PMD
from opelda.inference.tli import TLI
from opelda.inference.tli import TLIWarning as TLIWarning
from opelda.inference.vb import VB

__all__ = [
    "CCCP",
    "CGS",
    "CVB",
    "CVB0",
    "EM",
    "FW",
    "HAMCMC",
    "OFW",
    "OPE",
    "PMD",
    "SMM",
    "TLI",
    "VB",
    "Exact",
    "PerToken",
    "Topics",
    "infer",
]
