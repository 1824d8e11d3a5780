"""gensim: LdaMulticore, whose workers infer chunks in processes of their own."""

from __future__ import annotations

import multiprocessing

from .gensim_ import PACKAGES, learn, prepare
from .gensim_ import SETTINGS as SERIAL

__all__ = ["PACKAGES", "SETTINGS", "prepare", "train"]

# It has no alpha="auto". An update is of chunksize * workers documents, hence half of S = 5,000.
SETTINGS = {
    "paper": {**SERIAL["paper"], "chunksize": 2500},
    "best": {**SERIAL["best"], "alpha": "symmetric"},
}


def train(prepared, settings, checkpoint, n_jobs):
    """Learn with `n_jobs` workers beside the main process, which only adds up.

    The documentation advises a worker less than there are cores. The workers continue while the
    clock stands for a snapshot, a moment that gensim is given.
    """
    from gensim.models import LdaMulticore

    multiprocessing.set_start_method("fork", force=True)  # its default without a callback
    learn(LdaMulticore, prepared, {**settings, "workers": n_jobs}, checkpoint)
