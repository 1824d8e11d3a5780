"""OPE beyond topics: maximise f = g1 + g2 over a polytope, with a certificate.

`maximize` runs Algorithm 1 of Than & Doan on any two differentiable terms and any domain that can
answer one question: which of your points maximises a linear function?
"""

from opelda.optimize._domain import Domain
from opelda.optimize._maximize import maximize
from opelda.optimize._polytope import Polytope
from opelda.optimize._result import Iterate, MaximizeResult
from opelda.optimize._shapes import Box, L1Ball, ShrunkenSimplex, Simplex
from opelda.optimize._terms import Term

__all__ = [
    "Box",
    "Domain",
    "Iterate",
    "L1Ball",
    "MaximizeResult",
    "Polytope",
    "ShrunkenSimplex",
    "Simplex",
    "Term",
    "maximize",
]
