"""How much better is better: what counts as a difference between two settings."""

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, variance

# a difference in LPP that means something
TIE = 0.02
# two standard deviations of the difference between two runs, each of a seed of its own
SINGLE = 0.045


def margin(groups: Iterable[Sequence[float]]) -> float:
    """Return the difference in LPP that counts.

    Of several seeds it is two standard errors of the difference between two settings' means, but at
    least 0.02. One seed does not tell how much seeds differ: then it is 0.045, two standard
    deviations of the difference between two single runs as they were seen where there were several.

    Parameters
    ----------
    groups : iterable of sequences of float
        For each setting the values of its seeds.

    Examples
    --------
    >>> margin([[-8.0], [-7.0]])
    0.045
    >>> margin([[-8.0, -7.0], [-7.5, -8.5]])
    1.4142135623730951
    """
    repeated = [values for values in groups if len(values) > 1]
    if not repeated:
        return SINGLE
    spread = fmean(variance(values) for values in repeated)
    n_seeds = fmean(len(values) for values in repeated)
    return max(TIE, 2 * sqrt(2 * spread / n_seeds))
