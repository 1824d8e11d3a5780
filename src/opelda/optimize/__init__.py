"""OPE beyond topics: maximise f = g1 + g2 over a polytope, with a certificate.

`maximize` runs Algorithm 1 of Than & Doan on any two differentiable terms and any domain that can
answer one question: which of your points maximises a linear function?
"""

from opelda.optimize._domains import Box, Domain, L1Ball, ShrunkenSimplex, Simplex
from opelda.optimize._maximize import MaximizeResult, maximize
from opelda.optimize._polytope import Polytope
from opelda.optimize._terms import Iterate, Term

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
