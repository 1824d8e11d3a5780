"""gensim: LdaModel, online variational Bayes on one core."""

from __future__ import annotations

import itertools

PACKAGES = {"gensim": "gensim"}

SETTINGS = {
    "paper": {
        "chunksize": 5000,
        "decay": 0.9,
        "offset": 1.0,
        "alpha": "symmetric",  # 1/K, as is the default of eta
        "passes": 1,
    },
    # as gensim's LDA tutorial is remembered (it was not at hand): chunks of 2,000, learned priors,
    # 400 iterations a document at most, 20 passes, no evaluation on the way
    "best": {
        "chunksize": 2000,
        "decay": 0.5,
        "offset": 1.0,
        "alpha": "auto",
        "eta": "auto",
        "iterations": 400,
        "passes": 20,
    },
}


def prepare(corpus, settings, n_jobs):
    """Make gensim's bags of words: a list of (word, count) pairs per document."""
    ends, words, counts = (
        part.tolist() for part in (corpus.train.indptr, corpus.train.indices, corpus.train.data)
    )
    pairs = list(zip(words, counts, strict=True))
    bags = [pairs[a:b] for a, b in itertools.pairwise(ends)]
    return bags, {word: str(word) for word in range(corpus.n_words)}


def train(prepared, settings, checkpoint, n_jobs):
    from gensim.models import LdaModel

    learn(LdaModel, prepared, settings, checkpoint)


def learn(model, prepared, settings, checkpoint):
    """Let a model of gensim's learn, looking on after each M-step."""

    class Watched(model):
        seen = 0

        def do_mstep(self, rho, other, extra_pass=False):
            super().do_mstep(rho, other, extra_pass)
            Watched.seen += other.numdocs
            checkpoint(Watched.seen, self.get_topics)

    bags, words = prepared
    Watched(bags, 100, words, eval_every=None, random_state=0, **settings)
