"""The systems, a module each.

A module has `PACKAGES` (whose versions are kept), optionally `PROGRAMS` (name: Debian package),
`SETTINGS` (label: settings; "passes" is the work planned), and two functions:

    prepare(corpus, settings, n_jobs)           the system's own memory format, off the clock
    train(prepared, settings, checkpoint, n_jobs)

`train` calls ``checkpoint(documents, topics)`` after each piece of work, `topics` being a function
that copies the topics (K x V, any scale) while the clock stands.

"paper" is K = 100, alpha = eta = 1/K, S = 5,000, kappa = .9, tau = 1 and one pass, as far as a
system has these knobs; "best" is what its own documentation advises.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
from types import ModuleType

MODULES = {
    "opelda": "opelda_",
    "scikit-learn": "scikit_learn",
    "gensim": "gensim_",
    "gensim-multicore": "gensim_multicore",
    "tomotopy": "tomotopy_",
    "vowpal-wabbit": "vowpal_wabbit",
    "spark": "spark",
    "lda": "lda_",
}


def module(system: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{MODULES[system]}")


def why_not(system: str) -> str | None:
    """Name the missing requirement of a system in a few words; None if it can run."""
    wanted = module(system)
    for package, imported in wanted.PACKAGES.items():
        if importlib.util.find_spec(imported) is None:
            return f"the Python package {package} is not installed"
    for program, debian in getattr(wanted, "PROGRAMS", {}).items():
        if shutil.which(program) is None:
            return f"there is no {program} (Debian: {debian})"
    return None
