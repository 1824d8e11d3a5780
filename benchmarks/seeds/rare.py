"""Seeded topics for rare themes: tweets of Congress, ten themes of 139 to 3,600 documents.

    python -m benchmarks.seeds.rare --data DIR             # opelda, presets best and fast, a stream
    python -m benchmarks.seeds.rare --data DIR --peers     # tomotopy and topica, where installed

A run keeps a theme if its topic has at least half of the tokens of the seed words, and at least
half of the seed words are among its 20 most likely words. *Rank* is the median rank of the seed
words in their topic, a median over the runs.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
from scipy import sparse

from opelda import TopicModel
from opelda.corpus import Corpus, read

from .corpora import _tweets
from .peers import _tokens

THEMES = {
    "health care": "medicaid obamacare insurance premiums",
    "russia": "russia putin mueller collusion",
    "veterans": "veterans va vets",
    "immigration": "daca dreamers immigrants border wall",
    "transgender": "transgender trans lgbtq lgbt",
    "north korea": "korea korean kim missile",
    "opioids": "opioid opioids addiction heroin overdose",
    "climate": "climate epa warming emissions paris",
    "gun control": "gun guns shooting nra",
    "abortion": "abortion planned parenthood",
}
SEEDS = {name: words.split() for name, words in THEMES.items()}
K, TOP = 25, 20
PRIORS = (1.0, 100.0)  # of tomotopy's seed words; its eta is .01
ITERATIONS = 200
# (K, V): the probabilities, and the tokens of each word in each topic
Learned = tuple[np.ndarray, np.ndarray]


def opelda_topics(corpus: Corpus, seed: int, **settings: object) -> Learned:
    """Learn by `TopicModel`."""
    streams = settings.pop("stream", False)
    model = TopicModel(K, seeds=SEEDS, random_state=seed, **settings)
    if streams:
        X = corpus.X[np.random.default_rng(seed).permutation(len(corpus))]
        batches = (X[first : first + 1000] for first in range(0, X.shape[0], 1000))
        model.fit_stream(batches, vocabulary=corpus.vocabulary)
    else:
        model.fit(corpus)
    return model.components_, model.components_ * model._shares()[:, None]


def tomotopy_topics(corpus: Corpus, seed: int, prior: float) -> Learned:
    """Learn by collapsed Gibbs sampling with a prior on the seed words."""
    import tomotopy

    words = corpus.vocabulary.words
    model = tomotopy.LDAModel(k=K, eta=0.01, seed=seed)
    for tokens in _tokens(corpus.X, words):
        if tokens:
            model.add_doc(tokens)
    for topic, seeds in enumerate(SEEDS.values()):
        for word in seeds:
            model.set_word_prior(word, [prior if k == topic else 0.01 for k in range(K)])
    model.train(ITERATIONS, workers=1)
    topics = np.zeros((K, len(words)))
    columns = corpus.vocabulary.columns(list(model.used_vocabs))
    for topic in range(K):
        topics[topic, columns] = model.get_topic_word_dist(topic)
    return topics, topics * np.asarray(model.get_count_by_topics())[:, None]


def topica_topics(corpus: Corpus, seed: int) -> Learned:
    """Learn by topica's keyATM."""
    import topica

    words = corpus.vocabulary.words
    tokens = [each for each in _tokens(corpus.X, words) if each]
    model = topica.KeyATM(SEEDS, num_topics=K, seed=seed)
    model.fit(tokens, iters=ITERATIONS)
    topics = np.zeros((K, len(words)))
    topics[:, corpus.vocabulary.columns(list(model.vocabulary))] = np.asarray(model.topic_word)
    weights = np.asarray(model.doc_topic).T @ np.array([len(each) for each in tokens])
    return topics, topics * weights[:, None]


def measured(corpus: Corpus, learned: Learned) -> np.ndarray:
    """Return for each theme: share of tokens, share of words in the top 20, median rank."""
    topics, tokens = learned
    rows = []
    for topic, words in enumerate(SEEDS.values()):
        columns = corpus.vocabulary.columns(words)
        ranks = np.argsort(np.argsort(-topics[topic], kind="stable"))[columns]
        share = tokens[topic, columns].sum() / tokens[:, columns].sum()
        rows.append((share, (ranks < TOP).mean(), np.median(ranks) + 1))
    return np.array(rows)


def table(name: str, corpus: Corpus, n_seeds: int, learn: Callable[[int], Learned]) -> None:
    """Print a line for each theme."""
    started = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of topics that are not about their words
        found = np.array([measured(corpus, learn(seed)) for seed in range(n_seeds)])
    seconds = (process_time() - started) / n_seeds
    print(f"\n{name}: {n_seeds} seeds, {seconds:.0f} CPU seconds each")
    print(f"{'':<14}{'documents':>10}{'kept':>8}{'tokens':>8}{'top 20':>8}{'rank':>6}")
    kept = (found[:, :, 0] >= 0.5) & (found[:, :, 1] >= 0.5)
    for topic, (theme, words) in enumerate(SEEDS.items()):
        has = sparse.csr_array(corpus.X[:, corpus.vocabulary.columns(words)])
        share, top, _ = found[:, topic].mean(axis=0)
        n_docs, rank = (np.diff(has.indptr) > 0).sum(), np.median(found[:, topic, 2])
        cells = f"{n_docs:>10,}{kept[:, topic].sum():>8}{share:>8.2f}{top:>8.2f}{rank:>6.0f}"
        print(f"{theme:<14}{cells}", flush=True)
    print(f"{'all':<24}{kept.sum():>8} of {kept.size}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--peers", nargs="*", choices=["tomotopy", "topica"])
    options = parser.parse_args()
    corpus = read([text for text, _ in _tweets(options.data)])
    if options.peers is None:
        for name, settings in (
            ("opelda best", {}),
            ("opelda fast", {"preset": "fast"}),
            ("opelda best, as a stream", {"stream": True}),
        ):
            learn = lambda seed, settings=settings: opelda_topics(corpus, seed, **settings)  # noqa: E731
            table(name, corpus, options.seeds, learn)
        return
    if options.peers in ([], ["tomotopy"]):
        for prior in PRIORS:
            learn = lambda seed, prior=prior: tomotopy_topics(corpus, seed, prior)  # noqa: E731
            table(f"tomotopy, prior {prior:g}", corpus, options.seeds, learn)
    if options.peers in ([], ["topica"]):
        table("topica keyATM", corpus, options.seeds, lambda seed: topica_topics(corpus, seed))


if __name__ == "__main__":
    main()
