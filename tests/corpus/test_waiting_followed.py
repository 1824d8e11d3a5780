"""Mini-batches that close by time: followed files and folders, and iterables."""

import os
from itertools import islice

import pytest

from opelda.corpus import NOTHING, mini_batches, stream
from opelda.corpus import _block as _patience
from opelda.corpus.sources import _followed
from tests.corpus.restarts import SIZE, WORDS, Clock, Learner, lines, waiting


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (_followed, _patience):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def learner(tmp_path):
    return Learner(tmp_path)


def test_followed_file_closes_a_batch_after_max_wait(learner, clock):
    learner.write(0, 25)
    with learner.path.open("a") as file:
        file.write("w2")  # half a line

    def follow(n_batches):
        opened = waiting(learner.path, 30, follow=True)
        opened.seek(learner.position)
        return learner.learn(islice(opened, n_batches))

    follow(3)
    assert learner.batches[2] == [20, 21, 22, 23, 24]
    assert 30 <= clock.now < 32
    with learner.path.open("a") as file:
        file.write("5\n" + lines(26, 33))
    follow(1)
    learner.has(range(33), same=False)
    learner.write(33, 50, mode="a")
    follow(2)
    learner.has(range(50), same=False)


def test_rest_of_a_deleted_followed_file_is_given(learner, clock):
    """The rest of the old file is given before a new file exists."""

    def follow():
        opened = waiting(learner.path, 30, follow=True)
        opened.seek(learner.position)
        return opened

    learner.write(0, 15)
    learner.learn(islice(follow(), 1))
    learner.path.rename(learner.folder / "log.1")
    learner.write(15, 16)
    again = follow()
    learner.path.unlink()
    learner.learn(islice(again, 1)).has(range(15))
    (learner.folder / "log.1").rename(learner.folder / "log.2")
    learner.write(15, 25, "log.1")
    learner.write(25, 35)
    for number, name in enumerate(("log.2", "log.1", "log")):
        os.utime(learner.folder / name, (number, number))
    learner.learn(islice(follow(), 2)).has(range(35), same=False)


def test_partial_row_of_a_followed_table_waits_for_its_end(learner, clock):
    learner.path = learner.folder / "log.csv"
    learner.path.write_text('text\nw0\nw1\n"w2\n')

    def rest():
        with learner.path.open("a") as file:
            file.write('w3"\nw4\n')

    clock.after(100, rest)
    learner.learn(islice(waiting(learner.path, 30, follow=True), 1))
    assert learner.batches == [[0, 1, 2, 3, 4]]
    assert clock.now >= 100


def test_followed_folder_closes_a_batch_after_max_wait(learner, clock):
    learner.write(0, 15, "a")
    opened = waiting(learner.folder, 30, follow=True, format="lines")
    learner.learn(islice(opened, 2)).has(range(15))
    assert 30 <= clock.now < 32
    learner.write(15, 18, "b")
    again = waiting(learner.folder, 30, follow=True, format="lines")
    again.seek(learner.position)
    learner.learn(islice(again, 1)).has(range(18), same=False)


@pytest.mark.parametrize("wrap", [lambda items: items, lambda items: stream(items, batch_size=5)])
def test_iterable_closes_a_batch_with_the_next_item(clock, wrap):
    def slow(n, seconds):
        for i in range(n):
            clock.sleep(seconds)
            yield f"w{i}"

    def sizes(n, seconds):
        batches = mini_batches(wrap(slow(n, seconds)), batch_size=5, max_wait=30)
        return [batch.X.shape[0] for batch in batches]

    assert sizes(12, 5) == [5, 5, 2]
    assert sizes(12, 10) == [4, 4, 4]
    assert sizes(3, 100) == [2, 1]


@pytest.mark.parametrize("wrap", [lambda items: items, lambda items: stream(items, batch_size=9)])
def test_iterable_may_yield_nothing(learner, clock, wrap):
    def polled(first, after):
        for i in range(first, after):
            yield f"w{i}"
        for _ in range(4):
            yield NOTHING
            clock.sleep(10)
        assert learner.batches[-1] == list(range(first, after))
        yield f"w{after}"

    called = []
    for first, after in ((0, 3), (4, 8)):
        source = wrap(polled(first, after))
        learner.learn(
            mini_batches(
                source, batch_size=9, vocabulary=WORDS, position=learner.position, max_wait=30,
                meanwhile=lambda: called.append(clock.now),
            )
        )  # fmt: skip
    assert learner.batches == [[0, 1, 2], [3], [4, 5, 6, 7], [8]]
    assert learner.position["n"] == 5
    assert len(called) == 8


def test_items_before_a_failing_iterator_are_given(learner):
    def source():
        yield from lines(0, 25).split()
        raise ConnectionError

    with pytest.raises(ConnectionError):
        learner.learn(stream(source(), batch_size=SIZE, vocabulary=WORDS))
    learner.has(range(25))
