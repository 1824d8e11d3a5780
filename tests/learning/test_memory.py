"""Learning holds the model and one mini-batch, for streams of any length."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from opelda import MLOPE, OnlineOPE, OnlineVB, StreamingOPE, StreamingVB, TopicModel, load, save
from opelda.corpus import generate
from opelda.learning._transform import heaviest_words
from opelda.learning.streaming._window import Window
from opelda.report import rank_words

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status")

STREAM = """
import sys
from opelda import OnlineOPE
from opelda.corpus import Vocabulary, generate_stream

n_docs = int(sys.argv[1])

def say_memory():
    # not resource.getrusage, which inherits the maximum of the parent process
    for line in open("/proc/self/status"):
        if line.startswith(("VmHWM", "VmRSS")):
            print(line.split()[1])

def source():
    for number, batch in enumerate(generate_stream(
        n_docs, batch_size=500, n_words=4000, n_tokens=15, new_words_per_batch=2000
    )):
        if number == n_docs // 5000:  # a tenth has been learned from
            say_memory()
        yield batch

words = Vocabulary(growing=True, max_features=3000)
model = OnlineOPE(20, n_iter=20, random_state=0).fit_stream(source(), vocabulary=words)
say_memory()
print(len(model.vocabulary_), model.n_words_added_, model.n_docs_seen_)
"""


@pytest.mark.parametrize("n_docs", [60_000, pytest.param(1_000_000, marks=pytest.mark.heavy)])
def test_memory_does_not_grow_with_the_stream(n_docs):
    command = [sys.executable, "-c", STREAM, str(n_docs)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    tenth, tenth_now, whole, whole_now, n_words, n_added, n_seen = map(int, run.stdout.split())
    print(f"{n_docs:,} documents, {n_added:,} words: {tenth} kB after a tenth, {whole} at last")
    assert (n_words, n_seen) == (3000, n_docs)
    assert n_added > 10 * n_words
    assert whole < 1.05 * tenth
    assert whole_now < 1.05 * tenth_now


def test_first_update_after_fit_allocates_little():
    n_words, n_topics = 30_000, 100
    X = generate(300, n_words=n_words, n_topics=20, n_tokens=30, random_state=0).X
    model = TopicModel(n_topics, n_sweeps=3, n_passes=1, random_state=0).fit(X)
    weights = model._state.weights
    expected = np.rint(np.ldexp(weights.rows[:, :n_topics].astype(float) * weights.scale, 16))
    tracemalloc.start()
    try:
        window = Window.beside(weights, np.ones(n_topics), 300)
        beside = tracemalloc.get_traced_memory()[1]
        model.partial_fit(X[:20])
        update = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(window.outside.cells.toarray(), expected)
    print(f"{beside / weights.rows.nbytes:.2f}, {update / weights.rows.nbytes:.2f} models")
    assert beside < 1.0 * weights.rows.nbytes
    assert update < 3.0 * weights.rows.nbytes


V, K = 200_000, 64
LARGE = 10 * 2**20  # the topics take five times as much


def small_batch(seed):
    words = np.random.default_rng(seed).choice(V, (50, 20))
    places = (np.repeat(np.arange(50), 20), words.ravel())
    return sparse.csr_array((np.ones(1000, np.float32), places), shape=(50, V))


def memory(what):
    """Bytes that this process holds now (VmRSS), or held at most (VmHWM); native code's too."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(what))


def forget_peak():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pytest.skip("this system does not let a process forget its peak")


@pytest.mark.parametrize("cls", [MLOPE, OnlineOPE, StreamingOPE, OnlineVB, StreamingVB])
@pytest.mark.parametrize("prior", [None, np.full(V, 0.1)], ids=["number", "vector"])
def test_update_allocates_no_second_topic_matrix(cls, prior):
    model = cls(K, n_iter=10, random_state=0, topic_word_prior=prior)
    model.partial_fit(small_batch(0))
    for number in range(1, 4):
        batch = small_batch(number)
        if number == 3:  # rows are sometimes rescaled in place
            model._state.weights.scale = 1.0000001e-6
        forget_peak()
        before = memory("VmRSS")
        model.partial_fit(batch)
        assert memory("VmHWM") - before < LARGE
    assert model._state.weights.rows.nbytes == V * K * 4 > 4 * LARGE


def peak_of(action):
    forget_peak()
    before = memory("VmRSS")
    result = action()
    return memory("VmHWM") - before, result


def test_large_vocabulary_needs_no_second_copy(tmp_path):
    model = OnlineOPE(K, n_iter=10, random_state=0)
    size = V * K * 4
    started, _ = peak_of(lambda: model.partial_fit(small_batch(0)))
    assert started < 1.3 * size
    save(model, tmp_path / "m")
    loaded, again = peak_of(lambda: load(tmp_path / "m"))
    assert loaded < 1.3 * size
    # part of the words at a time: later parts have the same order
    expected = np.argsort(-model.components_, axis=1, kind="stable")[:, :5]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heaviest_words, "__defaults__", ("probability", 10_000 * K))
        ranked, words = peak_of(lambda: again.top_words(5, by="probability"))
        relevant, best = peak_of(lambda: again.top_words(5))
    assert max(ranked, relevant) < 0.6 * size
    assert words == [[f"x{j}" for j in topic] for topic in expected]
    assert best == [[f"x{j}" for j in topic] for topic in rank_words(model, 5)]
