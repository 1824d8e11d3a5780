"""OPE beyond topics: maximise f = g1 + g2 over a polytope, with a certificate.

`maximize` runs Algorithm 1 of Than & Doan on any two differentiable terms and any domain that can
answer one question: which of your points maximises a linear function?
"""

from opelda.optimize._domains import Box, Domain, L1Ball, Polytope, Simplex
from opelda.optimize._maximize import MaximizeResult as MaximizeResult
from opelda.optimize._maximize import maximize
from opelda.optimize._terms import Iterate as Iterate
from opelda.optimize._terms import Term

__all__ = ["Box", "Domain", "L1Ball", "Polytope", "Simplex", "Term", "maximize"]
