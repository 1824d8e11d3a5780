"""Threads that share a model: one learns, others read between updates."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone

from opelda import MLOPE, OnlineOPE, StreamingOPE, TopicModel, load, save
from opelda.corpus import Vocabulary, generate
from opelda.engines import CPUEngine
from opelda.errors import InputError
from opelda.learning._state import ReadWriteLock

X = generate(300, n_words=40, n_topics=3, random_state=0).X
WAIT = 60  # timeout in seconds of immediate events


class InThread:
    """Runs a function in a thread and keeps its result or error."""

    def __init__(self, action):
        self.result = self.error = None
        self.thread = threading.Thread(target=self._run, args=(action,))
        self.thread.start()

    def _run(self, action):
        try:
            self.result = action()
        except Exception as error:
            self.error = error

    def join(self):
        self.thread.join(WAIT)
        assert not self.thread.is_alive()
        return self


class Paused:
    """A callback that pauses learning until it is released."""

    def __init__(self):
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, report):
        self.reached.set()
        assert self.go_on.wait(WAIT)


@pytest.fixture
def paused():
    pause = Paused()
    yield pause
    pause.go_on.set()


@pytest.mark.parametrize("learn", ["fit", "partial_fit", "fit_stream"])
def test_second_learning_thread_is_rejected_and_the_first_continues(paused, learn):
    model = OnlineOPE(3, batch_size=50, random_state=0, callbacks=paused)
    first = InThread(lambda: model.partial_fit(X))
    assert paused.reached.wait(WAIT)
    data = [X] if learn == "fit_stream" else X
    with pytest.raises(InputError, match="being fitted in another thread"):
        getattr(model, learn)(data)
    paused.go_on.set()
    assert first.join().error is None
    alone = OnlineOPE(3, batch_size=50, random_state=0).partial_fit(X)
    assert np.array_equal(model.components_, alone.components_)
    assert model.set_params(callbacks=None).partial_fit(X).n_docs_seen_ == 600  # and it is free


def test_concurrent_threads_leave_a_model_that_can_be_saved(tmp_path):
    docs = [{f"w{(7 * i + j) % (50 + i)}": 1 for j in range(9)} for i in range(400)]
    model = StreamingOPE(3, batch_size=10, random_state=0)
    model.fit_stream(docs[:20], vocabulary=Vocabulary(growing=True))
    threads = [InThread(lambda: model.fit_stream(docs)) for _ in range(4)]
    errors = [thread.join().error for thread in threads]
    assert all(error is None or "another thread" in str(error) for error in errors)
    assert None in errors
    assert model.n_docs_seen_ == 20 + 400 * errors.count(None)
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").n_features_in_ == len(model.vocabulary_)


def test_concurrent_mixtures_belong_to_one_update():
    seen = []
    model = MLOPE(3, batch_size=20, random_state=0, learning_decay=0.5).partial_fit(X)
    model.callbacks = lambda report: seen.append(report.model.transform(X).tobytes())
    found = [model.transform(X).tobytes()]
    learner = InThread(lambda: [model.partial_fit(X) for _ in range(5)])
    while learner.thread.is_alive():
        found.append(model.transform(X).tobytes())
    assert learner.join().error is None
    assert set(found) <= {found[0], *seen}


def test_updates_and_readers_wait_for_each_other(monkeypatch):
    """Otherwise a mixture could mix topics from before and after an update."""
    model = OnlineOPE(3, batch_size=300, random_state=0).partial_fit(X)
    inside, go_on, real = threading.Event(), threading.Event(), CPUEngine.infer

    def slow(*arguments):
        inside.set()
        assert go_on.wait(WAIT)
        return real(*arguments)

    monkeypatch.setattr(CPUEngine, "infer", slow)
    expected = copy.deepcopy(model)
    reader = InThread(lambda: model.transform(X))
    assert inside.wait(WAIT)
    learner = InThread(lambda: model.partial_fit(X))
    learner.thread.join(0.2)
    assert model.n_batch_iter_ == 1
    go_on.set()
    assert learner.join().error is reader.join().error is None
    assert model.n_batch_iter_ == 2
    assert np.array_equal(reader.result, expected.transform(X))


def test_texts_are_rejected_while_another_thread_grows_the_vocabulary(paused, tmp_path):
    texts = ["red fox hen", "blue fox", "red red hen", "green fox owl"] * 10
    model = OnlineOPE(2, batch_size=20, random_state=0, callbacks=paused)
    learner = InThread(lambda: model.fit_stream(texts))
    assert paused.reached.wait(WAIT)
    for ask in (model.transform, model.score):
        with pytest.raises(InputError, match="growing in another thread"):
            ask(texts)
    with pytest.raises(InputError, match="growing in another thread"):
        save(model, tmp_path / "model")
    assert model.transform(np.ones((2, model.n_features_in_))).shape == (2, 2)
    paused.go_on.set()
    assert learner.join().error is None
    assert model.transform(texts).shape == (40, 2)


def test_fixed_vocabulary_accepts_texts(paused):
    words = Vocabulary(["red", "fox", "hen"])
    model = OnlineOPE(2, batch_size=20, random_state=0, callbacks=paused)
    learner = InThread(lambda: model.fit_stream(["red fox", "fox hen"] * 20, vocabulary=words))
    assert paused.reached.wait(WAIT)
    assert model.transform(["hen fox"]).shape == (1, 2)
    paused.go_on.set()
    assert learner.join().error is None


def test_concurrent_readers():
    model = TopicModel(3, random_state=0, preset="fast").fit(X)
    together = threading.Barrier(6)
    lock, results = model._state.lock, []

    def read():
        with lock:
            together.wait(WAIT)  # all six are inside, or this fails

    threads = [InThread(read) for _ in range(6)]
    assert [thread.join().error for thread in threads] == [None] * 6
    expected = model.transform(X)
    threads = [InThread(lambda: model.transform(X)) for _ in range(6)]
    results = [thread.join().result for thread in threads]
    assert all(np.array_equal(result, expected) for result in results)


def test_callbacks_may_infer_copy_and_learn():
    """They run in the thread that learns, between two updates."""
    found = []

    def ask(report):
        model = report.model
        found.append(pickle.loads(pickle.dumps(copy.deepcopy(model._state))))
        found.append(model.transform(X[:3]))
        if report.n_updates == 3:
            clone(model).set_params(callbacks=None).fit(X)
            model.set_params(callbacks=None).partial_fit(X[:50])

    model = OnlineOPE(3, batch_size=100, random_state=0, callbacks=ask).fit(X)
    assert len(found) == 6
    assert model.n_batch_iter_ == 4


def test_copies_have_separate_locks(paused):
    model = OnlineOPE(3, batch_size=50, random_state=0, callbacks=paused)
    learner = InThread(lambda: model.partial_fit(X))
    assert paused.reached.wait(WAIT)
    state = copy.deepcopy(model._state)
    assert state.lock is not model._state.lock
    other = OnlineOPE(3, batch_size=50, random_state=0)
    other._state, other.n_features_in_ = state, model.n_features_in_
    assert other.partial_fit(X).n_docs_seen_ == 350
    paused.go_on.set()
    assert learner.join().error is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_forked_child_does_not_wait_for_parent_threads(paused):
    model = OnlineOPE(3, batch_size=50, random_state=0, callbacks=paused)
    learner = InThread(lambda: model.partial_fit(X))
    assert paused.reached.wait(WAIT)
    held = threading.Event()

    def read():
        with model._state.lock:
            held.set()
            assert paused.go_on.wait(WAIT)

    reader = InThread(read)
    assert held.wait(WAIT)
    child = os.fork()
    if child == 0:
        try:
            model.callbacks, model.n_jobs = None, 1
            model.partial_fit(X[:50])
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    paused.go_on.set()
    assert learner.join().error is reader.join().error is None


def test_interrupted_thread_exit_does_not_deadlock():
    lock = ReadWriteLock()
    for left_open in (lock, lock.writing()):
        left_open.__enter__()
        for again in (lock.writing(), lock):
            with again:
                pass


def test_neither_readers_nor_writers_starve():
    """A waiting reader enters after one write, even if another writer waits."""
    lock, n_writes, entered = ReadWriteLock(), 0, []

    def read():
        with lock:
            entered.append(n_writes)

    with lock.writing():
        reader = InThread(read)
        while len(lock._queue) < 2:  # until it waits for this write
            pass
        n_writes += 1
    for _ in range(1000):
        with lock.writing():
            n_writes += 1
    reader.join()
    assert entered == [1]


def test_interrupt_after_an_update_counts_it():
    class Late(CPUEngine):
        def update(self, *args, **options):
            done = super().update(*args, **options)
            if self.interrupts:
                raise KeyboardInterrupt
            return done

    engine = Late(1)
    engine.interrupts = True
    model = OnlineOPE(3, engine=engine, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[:100])
    engine.interrupts = False
    assert (model.n_batch_iter_, model.n_docs_seen_) == (1, 100)
    model.partial_fit(X[100:])
    whole = OnlineOPE(3, random_state=0).partial_fit(X[:100]).partial_fit(X[100:])
    assert (model.components_ == whole.components_).all()
