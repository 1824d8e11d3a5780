"""Learn topics by one system, in a process of its own.

    python fit.py SYSTEM SETTINGS COUNTS.npz K SEED OUT.npz

Needs NumPy, SciPy and the system only, so that another build of opelda can run it. Two threads.
Only learning is timed. OUT gets topics, alpha and seconds for each number of iterations.
"""

import json
import sys
import time

import numpy as np
from scipy import sparse

N_JOBS = 2


def opelda(counts, n_topics, seed, **settings):
    from opelda import TopicModel

    model = TopicModel(n_topics, random_state=seed, n_jobs=N_JOBS, **settings)
    started = time.perf_counter()
    model.fit(counts)
    yield "", model.components_, None, time.perf_counter() - started


def tomotopy(counts, n_topics, seed, iterations=(50, 200, 500)):
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, alpha=0.1, eta=0.01, seed=seed)  # its defaults
    names = np.arange(counts.shape[1]).astype(str).astype(object)
    for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        model.add_doc(names[np.repeat(counts.indices[a:b], counts.data[a:b])].tolist())
    model.train(0, workers=N_JOBS)
    columns = [int(word) for word in model.used_vocabs]
    seconds = 0.0
    for done, target in zip((0, *iterations), iterations, strict=False):
        started = time.perf_counter()
        model.train(target - done, workers=N_JOBS)
        seconds += time.perf_counter() - started
        topics = np.zeros((n_topics, counts.shape[1]))
        topics[:, columns] = [model.get_topic_word_dist(k) for k in range(n_topics)]
        yield f", {target}", topics, np.array(model.alpha), seconds


def topica(counts, n_topics, seed, iterations=(200, 1000)):
    import topica

    names = np.arange(counts.shape[1]).astype(str).astype(object)
    documents = [
        names[np.repeat(counts.indices[a:b], counts.data[a:b])].tolist()
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    ]
    for target in iterations:
        model = topica.LDA(num_topics=n_topics, seed=seed)
        started = time.perf_counter()
        model.fit(documents, iters=target)
        seconds = time.perf_counter() - started
        topics = np.zeros((n_topics, counts.shape[1]))
        topics[:, [int(word) for word in model.vocabulary]] = model.topic_word
        yield f", {target}", topics, np.array(model.alpha), seconds


def sklearn(counts, n_topics, seed):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_topics, random_state=seed, n_jobs=N_JOBS)
    started = time.perf_counter()
    model.fit(sparse.csr_matrix(counts))
    yield "", model.components_, None, time.perf_counter() - started


def gensim(counts, n_topics, seed):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    bags = list(Sparse2Corpus(sparse.csc_matrix(counts.T)))
    words = dict(enumerate(map(str, range(counts.shape[1]))))
    started = time.perf_counter()
    model = LdaModel(bags, n_topics, words, random_state=seed, alpha="auto", eta="auto", passes=10)
    yield "", model.get_topics(), model.alpha, time.perf_counter() - started


def main(system, settings, counts, n_topics, seed, out):
    learn, counts = globals()[system], sparse.csr_array(sparse.load_npz(counts))
    settings = json.loads(settings)
    found = {}
    for label, topics, alpha, seconds in learn(counts, int(n_topics), int(seed), **settings):
        beta = np.maximum(np.asarray(topics, np.float64), 1e-12)
        found[f"topics{label}"] = (beta / beta.sum(axis=1, keepdims=True)).astype(np.float32)
        found[f"seconds{label}"] = seconds
        if alpha is not None:
            found[f"alpha{label}"] = alpha
    np.savez(out, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
