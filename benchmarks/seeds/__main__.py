"""Topics of seed words over strengths: their words, their documents, and what prediction loses.

    python -m benchmarks.seeds --data DIR                    # where settings are reported
    python -m benchmarks.seeds --data DIR --chosen-on        # where they were chosen
    python -m benchmarks.seeds --data DIR --stream 1000000   # Reddit's titles as they come
    python -m benchmarks.seeds --data DIR --peers            # tomotopy and CorEx, where installed

Strength "none" is a model without seeds; a theme's topic is the one with most weight on
its words. Precision, recall and F1 are of the test documents whose heaviest topic it is.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from opelda import TopicModel
from opelda.learning import Seeds
from opelda.metrics import log_predictive_probability

from .corpora import CHOSEN_ON, REPORTED_ON, SIZES, Labelled, load
from .measures import measure

STRENGTHS = (None, 0.0, 0.01, 0.1, 0.3, 1.0, 10.0)
BATCH = 1000
HEAD = ("words", "precision", "recall", "F1", "NPMI", "least", "LPP")


def scores(corpus: Labelled, model: TopicModel) -> list[float]:
    """Measure a model; tweets and articles without labels have no precision and no recall."""
    seeded = model.seeds is not None
    found = measure(corpus, model.components_, model.transform(corpus.test), seeded)
    lpp = float(log_predictive_probability(model, corpus.test, random_state=0))
    return [*vars(found).values(), lpp]


def fit(corpus: Labelled, model: TopicModel) -> None:
    """Learn from a collection."""
    model.fit(corpus.train, vocabulary=corpus.vocabulary)


def stream(corpus: Labelled, model: TopicModel) -> None:
    """Learn from documents as they come."""
    X = corpus.train
    batches = (X[first : first + BATCH] for first in range(0, X.shape[0], BATCH))
    model.fit_stream(batches, vocabulary=corpus.vocabulary)


def row(name: str, means: np.ndarray) -> None:
    """Print a line."""
    print(f"{name:<8}" + "".join(f"{value:>10.3f}" for value in means), flush=True)


def table(
    corpus: Labelled, learn: Callable[[Labelled, TopicModel], None], **settings: object
) -> None:
    """Print a line for each strength."""
    seeds, strengths = settings.pop("seeds"), settings.pop("strengths")
    print(f"{'':<8}" + "".join(f"{name:>10}" for name in HEAD))
    for strength in strengths:
        rows = []
        for seed in range(seeds):
            model = TopicModel(random_state=seed, **settings)
            if strength is not None:
                model.set_params(seeds=Seeds(corpus.seeds, strength))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of words that do not occur
                learn(corpus, model)
            rows.append(scores(corpus, model))
        row("none" if strength is None else f"{strength:g}", np.mean(rows, axis=0))


def strength_of(text: str) -> float | None:
    """Return a strength; "none" is no seeds."""
    return None if text == "none" else float(text)


def main() -> None:
    """Print the requested tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", choices=SIZES)
    parser.add_argument("--chosen-on", action="store_true")
    parser.add_argument("--presets", nargs="+", default=["best", "fast"])
    parser.add_argument("--strengths", nargs="+", type=strength_of, default=list(STRENGTHS))
    parser.add_argument("--seeds", type=int, default=2, help="runs of each model")
    parser.add_argument("--stream", type=int, help="number of Reddit's titles, as a stream")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    names = options.corpora or (CHOSEN_ON if options.chosen_on else REPORTED_ON)
    if options.stream:
        names = ["reddit"]
    for name in names:
        n_topics, limit = SIZES[name]
        corpus = load(name, options.data, options.stream or limit)
        about = f"{name}: {corpus.train.shape[0]:,} documents, {len(corpus.themes)} themes"
        if options.peers:
            from . import peers

            print(
                f"\n{about}, {n_topics} topics\n{'':<18}" + "".join(f"{each:>10}" for each in HEAD)
            )
            peers.run(corpus, n_topics)
            continue
        for preset in options.presets:
            how = ", as a stream" if options.stream else ""
            print(f"\n{about}, {n_topics} topics, preset {preset}{how}")
            table(
                corpus,
                stream if options.stream else fit,
                n_components=n_topics,
                preset=preset,
                n_jobs=options.jobs,
                seeds=options.seeds,
                strengths=options.strengths,
            )


if __name__ == "__main__":
    main()
