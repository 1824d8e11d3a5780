"""How much better is better: what counts as a difference between two settings."""

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, variance

# a difference in LPP that means something; seeds of one setting differ by about as much
TIE = 0.02


def margin(groups: Iterable[Sequence[float]]) -> float:
    """Return the difference in LPP that counts: 0.02, or more where seeds differ more.

    Parameters
    ----------
    groups : iterable of sequences of float
        For each setting the values of its seeds. Of several seeds it is two standard errors of the
        difference between two settings' means.

    Examples
    --------
    >>> margin([[-8.0], [-7.0]])
    0.02
    >>> margin([[-8.0, -7.0], [-7.5, -8.5]])
    1.4142135623730951
    """
    repeated = [values for values in groups if len(values) > 1]
    if not repeated:
        return TIE
    spread = fmean(variance(values) for values in repeated)
    n_seeds = fmean(len(values) for values in repeated)
    return max(TIE, 2 * sqrt(2 * spread / n_seeds))
