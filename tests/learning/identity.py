"""Small generated jobs, each run in two ways that must give identical bytes.

python -m tests.learning.identity WAY FIRST LAST prints a digest of each job.
"""

import hashlib
import sys
import tempfile
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np

import opelda
from opelda.corpus import Vocabulary, generate
from opelda.inference import CGS, CVB, CVB0, EM, FW, OPE, VB
from tests.learning.test_checkpoints import Seekable, StoppedError
from tests.learning.test_determinism import Workers

METHODS = [
    lambda n: OPE(n_iter=n),
    lambda n: OPE(n_iter=n, init="random", coins="shared"),
    lambda n: EM(),
    lambda n: VB(n_iter=n),
    lambda n: CVB0(burn_in=2, n_samples=n // 3),
    lambda n: CVB(n_iter=n),
    lambda n: CGS(burn_in=2, n_samples=n // 3),
    lambda n: FW(n_iter=n),
]
KINDS = ["fit", "fit", "partial_fit", "stream", "preset"]


def drawn(number):
    """Return documents, and the parameters of a learner."""
    rng = np.random.default_rng(number)
    n_topics, n_words = int(rng.integers(2, 40)), int(rng.integers(20, 300))
    made = generate(
        int(rng.integers(5, 150)),
        n_words=n_words,
        n_topics=n_topics,
        n_tokens=rng.integers(2, 60),
        random_state=rng,
    )
    options = {
        "n_components": n_topics,
        "batch_size": int(rng.integers(1, 80)),
        "random_state": int(rng.integers(2**31)),
        "preset": "paper",
        "transform_method": "same",
        "inference": METHODS[rng.integers(len(METHODS))](int(rng.integers(3, 30))),
        "learning": str(rng.choice(["ml", "online", "streaming", "scvb0"])),
    }
    return made.X, options, str(rng.choice(KINDS)), rng


def done(number, second):
    """Run a job; return its results. The second way has other threads, parts and stops."""
    X, options, kind, rng = drawn(number)
    cuts = sorted(rng.integers(0, X.shape[0] + 1, rng.integers(1, 6)))
    n_jobs = int(rng.integers(2, 6)) if second else 1
    engine = {"engine": Workers(rng.random(3))} if second and rng.random() < 0.5 else {}
    with tempfile.TemporaryDirectory() as folder:
        if kind == "preset":
            names = ("n_components", "random_state")
            options = {name: options[name] for name in names} | {"preset": "fast"}
            model = opelda.TopicModel(**options, n_jobs=n_jobs).fit(X)
        elif kind == "stream":
            model = streamed(X, options | {"n_jobs": n_jobs}, Path(folder), cuts if second else [])
        else:
            model = opelda.TopicModel(**options, n_jobs=n_jobs, **engine)
            model = getattr(model, kind)(X)
        model.engine = "cpu"
        opelda.save(model, Path(folder, "model"))
        content = Path(folder, "model").read_bytes()
    ends = [0, *cuts, X.shape[0]] if second else [0, X.shape[0]]
    X = X[:, : model.n_features_in_]  # (a vocabulary that grew has fewer)
    parts = [model.infer(X[a:b]) for a, b in pairwise(ends) if a < b]
    for name in ("theta", "gap", "log_likelihood"):
        content += np.concatenate([getattr(part, name) for part in parts]).tobytes()
    return content


def streamed(X, options, folder, stops):
    """Learn from words with a vocabulary that grows, stopped and continued from checkpoints."""
    documents = [
        [f"w{word}" for word in np.repeat(row.indices, row.data.astype(int))]
        for row in (X[[i]] for i in range(X.shape[0]))
    ]
    for stop in [*stops, None]:
        model = opelda.TopicModel(**options)
        with suppress(StoppedError):
            model.fit_stream(
                Seekable(documents, stop),
                vocabulary=Vocabulary(growing=True),
                checkpoint=folder / "kept",
                every=2,
            )
    return model


def main(way, first, last):
    for number in range(int(first), int(last)):
        digest = hashlib.sha256(done(number, way == "second")).hexdigest()
        print(number, drawn(number)[2], digest, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
