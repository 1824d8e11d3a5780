"""OPE beyond topics: maximise f = g1 + g2 over a polytope, with a certificate."""

from opelda.optimize._domains import Box, Domain, L1Ball, Polytope, Simplex
from opelda.optimize._maximize import MaximizeResult as MaximizeResult
from opelda.optimize._maximize import maximize
from opelda.optimize._terms import Iterate as Iterate
from opelda.optimize._terms import Term

__all__ = ["Box", "Domain", "L1Ball", "Polytope", "Simplex", "Term", "maximize"]
