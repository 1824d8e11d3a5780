"""Labels of test documents from few labels: TopicClassifier beside other classifiers.

    python -m benchmarks.labels --data DIR [--corpora newsgroups reuters] [--seeds 3] [--peer]

20 Newsgroups has its split by date, without headers. Of Reuters-21578, stories with exactly one
topic are used, for topics of 50 stories or more; 40% of each topic are the test documents. A share
of the training labels is known, at least one per label; all training documents are given. The table
has macro-F1 on the test documents and the seconds of learning. TF-IDF with logistic regression
learns from the labelled documents alone. --peer runs topica's LabeledLDA instead, with
scikit-learn's tokens.
"""

import argparse
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from benchmarks.choose import reuters
from opelda import TopicClassifier

SHARES = (0.01, 0.1, 1.0)
N_FREE = 10  # topics

Split = tuple[list[str], np.ndarray, list[str], np.ndarray]


def newsgroups(data: Path) -> Split:
    """Return texts and groups to learn from, and later ones to test on."""
    parts: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
    with tarfile.open(data / "20news_bydate" / "20news-bydate.tar.xz") as files:
        for member in files:
            if member.isfile():
                text = files.extractfile(member).read().decode("latin-1").partition("\n\n")[2]
                parts["-train" in member.name].append((text, member.name.split("/")[-2]))
    (X, y), (X_test, y_test) = (zip(*parts[which], strict=True) for which in (True, False))
    return list(X), np.array(y), list(X_test), np.array(y_test)


def stories(data: Path) -> Split:
    pairs = list(reuters(data))
    frequent = {name for name, n in Counter(label for _, label in pairs).items() if n >= 50}
    X, y = zip(*[pair for pair in pairs if pair[1] in frequent], strict=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    return list(X), np.array(y), list(X_test), np.array(y_test)


def known(y: np.ndarray, share: float, seed: int) -> list[str | None]:
    """Return a share of the labels, at least one for each."""
    rng, found = np.random.default_rng(seed), [None] * len(y)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        for row in rows[: max(1, round(share * len(rows)))].tolist():
            found[row] = str(label)
    return found


def by_topics(X: list[str], y: list[str | None], seed: int, threads: int) -> Callable:
    n_topics = len({*y} - {None}) + N_FREE
    model = TopicClassifier(n_topics, random_state=seed, n_jobs=threads).fit(X, y)
    return model.predict


def by_regression(X: list[str], y: list[str | None], *_: int) -> Callable:
    rows = [row for row, label in enumerate(y) if label is not None]
    features = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5, stop_words="english")
    model = make_pipeline(features, LogisticRegression(C=10, max_iter=1000))
    return model.fit([X[row] for row in rows], [y[row] for row in rows]).predict


def by_peer(X: list[str], y: list[str | None], seed: int, threads: int) -> Callable:
    """Learn topica's LabeledLDA with its own numbers of sweeps."""
    import topica

    split = TfidfVectorizer(stop_words="english").build_analyzer()
    counted = Counter(word for text in X for word in {*split(text)})
    frequent = {word for word, n in counted.items() if n >= 5}
    words = [[word for word in split(text) if word in frequent] for text in X]
    model = topica.LabeledLDA(seed=seed, num_threads=threads)
    model.fit(words, [[label] if label else [] for label in y])

    def predict(texts: list[str]) -> np.ndarray:
        theta = model.transform([split(text) for text in texts])
        return np.array(model.labels)[theta.argmax(axis=1)]

    return predict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["newsgroups", "reuters"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    methods = {"TopicClassifier": by_topics, "TF-IDF, logistic regression": by_regression}
    if options.peer:
        methods = {"topica LabeledLDA": by_peer}
    print("| corpus | labels | method | macro-F1 | seconds |\n|---|---|---|---|---|")
    for name in options.corpora:
        X, y, X_test, y_test = {"newsgroups": newsgroups, "reuters": stories}[name](options.data)
        for share in SHARES:
            for method, fit in methods.items():
                scores, seconds = [], []
                for seed in range(options.seeds):
                    begun = perf_counter()
                    predict = fit(X, known(y, share, seed), seed, options.threads)
                    seconds.append(perf_counter() - begun)
                    scores.append(f1_score(y_test, predict(X_test), average="macro"))
                mean, took = np.mean(scores), np.mean(seconds)
                print(f"| {name} | {share:.0%} | {method} | {mean:.2f} | {took:.1f} |", flush=True)


if __name__ == "__main__":
    main()
