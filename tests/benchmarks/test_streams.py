"""Parts of the stream benchmark whose errors would go unnoticed."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from benchmarks import soak, stream_memory
from benchmarks.peers.corpora import Corpus
from benchmarks.peers.evaluate import normalised
from benchmarks.streams import corpora, run, systems, tables
from opelda.metrics import log_predictive_probability
from tests.cases import cases


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    # words appear one by one, so the documents seen so far matter
    chances = np.exp(-((np.arange(500)[:, None] / 500 - np.arange(20) / 20) ** 2) * 20)
    counts = sparse.csr_array(rng.poisson(chances).astype(np.int32))
    return Corpus("made", counts[:450], counts[450:])


class Noting:
    """A system that records its inputs."""

    def __init__(self, batch=7):
        self.batch, self.given = batch, []

    def __call__(self, corpus, seed, n_jobs):
        return self

    def prepare(self, counts):
        return counts.toarray()

    def learn(self, counts):
        self.given.append(counts)

    def topics(self):
        return np.ones((1, 20))


def job(system, **options):
    return run.Run("made", system, 0, **options)


@cases("n_docs", [1, 7, 450, 4_000, 55_608, 99_999, 100_000, 249_000, 1_200_000])
def test_points_are_spread_over_a_stream(n_docs):
    points = run.points(n_docs)
    assert points == sorted(set(points))
    assert not points or (points[0] > 0 and points[-1] < n_docs)
    if n_docs >= run.POINTS:
        assert 15 <= len(points) <= 45
        assert max(np.diff(points)) <= n_docs / 10
    if n_docs >= 100_000:  # no mini-batch of the paper's is cut
        assert all(point % systems.PAPER_BATCH == 0 for point in points)


def test_every_document_is_learned_once_in_order(corpus):
    noting, marks = Noting(), [10, 20, 200]
    states = list(run.learn(noting, corpus, marks, job("x"), 1))
    assert [documents for documents, *_ in states] == [*marks, corpus.n_docs]
    np.testing.assert_array_equal(np.vstack(noting.given), corpus.train.toarray())
    ends = list(itertools.accumulate(map(len, noting.given)))
    assert set(marks) <= set(ends)
    assert max(map(len, noting.given)) == 7


def test_collection_is_one_batch(corpus):
    noting = Noting(batch=0)
    states = list(run.learn(noting, corpus, [10, 20], job("x"), 1))
    assert [documents for documents, *_ in states] == [corpus.n_docs]
    assert len(noting.given) == 1


def test_run_stops_at_its_time_limit(corpus):
    states = list(run.learn(Noting(), corpus, [100, 200], job("x", seconds=-1.0), 1))
    assert [documents for documents, *_ in states] == [7]


def test_documents_are_scored_before_learning(corpus):
    found = run.result(job("frequencies"), corpus, 1)
    dense = corpus.train.toarray()
    for documents, _, lpp in found["points"]:
        frequencies = dense[:documents].sum(axis=0) + 0.1
        following = corpus.train[documents : documents + run.SCORED]
        expected = log_predictive_probability(
            frequencies[None] / frequencies.sum(), following, n_splits=1, random_state=0
        )
        assert lpp == pytest.approx(float(expected), abs=2e-5)
    assert found["documents"] == corpus.n_docs
    everything = normalised((dense.sum(axis=0) + 0.1)[None])
    held_out = log_predictive_probability(everything, corpus.held_out, random_state=0)
    assert found["lpp"] == pytest.approx(float(held_out), abs=2e-5)


@pytest.mark.parametrize("name", ["OnlineOPE", "TopicModel", "TopicModel, fit", "scikit-learn"])
def test_systems_learn(corpus, name):
    found = run.result(job(name), replace(corpus, train=corpus.train[:60]), 1)
    assert found["documents"] == 60
    assert -20 < found["lpp"] < 0
    assert bool(found["points"]) == (name != "TopicModel, fit")


def test_the_prequential_score_is_a_mean_over_documents():
    assert run.prequential([[10, 0, -9.0], [20, 0, -8.0]], 50) == pytest.approx(-8.25)
    assert run.prequential([], 50) is None


def test_rivers_topics_are_its_sticks():
    class Model:
        nu_1 = dict.fromkeys(range(100), np.array([1.0, 1.0, 3.0]))
        nu_2 = dict.fromkeys(range(100), np.array([3.0, 1.0, 1.0]))
        word_to_index = {4: 1, 2: 2}  # noqa: RUF012

    river = systems.River.__new__(systems.River)
    river.model, river.n_words = Model, 6
    expected = [0, 0, 0.75 * 0.5 * 0.75, 0, 0.75 * 0.5, 0]
    np.testing.assert_allclose(river.topics(), np.tile(expected, (100, 1)))


def test_held_out_documents_are_not_in_the_stream():
    counts = sparse.csr_array(np.diag(np.arange(100)))  # the first is empty
    train, held_out = corpora.hidden(counts, 10)
    assert held_out.sum(axis=1).min() >= corpora.LEAST_TOKENS
    left, taken = (set(part.indices.tolist()) for part in (train, held_out))
    assert not left & taken
    assert left | taken == set(range(1, 100))
    assert train.shape[0] == 89
    assert train.indices.tolist() == sorted(train.indices.tolist())


def line(system="TopicModel", seed=0, lpp=-8.0, documents=100, **more):
    shared = {"corpus": "c", "n_docs": 100, "seconds": 2.0, "npmi": 0.1, "prequential": -8.5}
    points = [[10, 0.1, lpp - 1], [50, 1.0, lpp]]
    return shared | {
        "system": system, "seed": seed, "lpp": lpp, "documents": documents, "points": points, **more
    }  # fmt: skip


def test_rows_are_means_over_seeds():
    rows = tables.markdown([line(lpp=-8.0), line(seed=1, lpp=-7.0), line("river", documents=10)])
    assert "| TopicModel | -8.500 ± 0.000 | -7.500 ± 0.500 | 0.100 ± 0.000 | 50 | 2 |" in rows
    assert "| river, its first 10 | -8.500 | -8.000 | 0.100 | 5 | 1 |" in rows


def test_last_of_two_equal_runs_counts(tmp_path):
    import json

    path = tmp_path / "lines.jsonl"
    lines = [line(lpp=-9.0), line(seed=1), line(lpp=-7.0)]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert [(one["seed"], one["lpp"]) for one in tables.read(path)] == [(0, -7.0), (1, -8.0)]


def test_every_system_has_a_plot_style(tmp_path):
    assert set(tables.LOOKS) == set(run.NAMES)
    lines = [line(), line("TopicModel, fit", points=[]), line("river", points=[], documents=3)]
    (path,) = tables.draw(lines, tmp_path)
    drawn = path.read_text()
    assert "TopicModel, fit (held-out)" in drawn
    assert "river" not in drawn  # it has no display


def test_generated_streams_keep_adding_words():
    texts = list(stream_memory.texts(25_000))
    assert len(texts) == 25_000
    assert texts[:50] == list(stream_memory.texts(50))
    words = [set(" ".join(texts[i : i + 5_000]).split()) for i in range(0, 25_000, 5_000)]
    seen = set()
    for some in words:
        assert len(some - seen) > 3_000
        assert not seen or len(some & seen) > 1_000
        seen |= some
    assert sum(word.startswith("once") for word in seen) == 2_500


def test_numbers_are_spelled_differently():
    base = len(stream_memory.SYLLABLES)
    numbers = [*range(1, 5_000), *range(base**2 - 50, base**2 + 50), base**3, 7 * base**3]
    numbers = sorted(set(numbers))
    assert len({stream_memory.word(number) for number in numbers}) == len(numbers)


def test_growth_is_reported_once_the_window_is_full():
    full = stream_memory.FULL
    filling = [{"documents": full // 2, "peak_mb": 9_000}]
    flat = [{"documents": full + 1 + i, "peak_mb": 300 + i % 2} for i in range(8)]
    assert stream_memory.growth([*filling, *flat]) == 1
    leaks = [{"documents": full + 1 + i, "peak_mb": 300 + 10 * i} for i in range(8)]
    assert stream_memory.growth([*filling, *leaks]) == pytest.approx(370 / 330)


def test_ages_count_from_the_first_checkpoint_with_the_documents(tmp_path):
    (tmp_path / ".times").write_text("2 30.0\n2 35.0\n5 70.5\n6 71.0\n")
    found = stream_memory.ages(tmp_path, [10.0, 11.0, 31.0, 40.0, 50.0, 51.0])
    assert found == {"first_age": 20.0, "oldest_age": 39.5, "checkpoints": 3}


def test_command_learns_every_document():
    if not stream_memory.Path("/proc/self/clear_refs").exists():
        pytest.skip("memory is read from /proc")
    options = ["-k", "5", "--batch-size", "100", "--jobs", "1", "--max-features", "300"]
    *looks, end = stream_memory.measure(450, 0.0, options, looks=3)
    assert [look["documents"] for look in looks] == [150, 300, 450]
    assert end["documents"] == end["written"] == 450
    assert end["rate"] == pytest.approx(450 / end["seconds"], abs=1)
    assert all(0 < look["resident_mb"] <= look["peak_mb"] * 1.01 for look in looks)


def test_memory_is_flat_in_a_short_soak():
    if not stream_memory.Path("/proc/self/clear_refs").exists():
        pytest.skip("memory is read from /proc")
    options = ["-k", "5", "--jobs", "1", "--max-features", "500", "--batch-size", "200"]
    options += ["--every", "200"]
    *looks, end = soak.soaked(4_000, options, looks=8)
    assert end["documents"] == end["written"] == 4_000
    assert len(looks) == 8
    assert end["followed_documents"] == 4_000
    assert soak.faults(looks, end, most_growth=3.0, most_worse=3.0) == []  # it has just begun


def test_soak_detects_a_leak():
    fine = {"peak_mb": 300, "follower_mb": 200, "files": 20, "threads": 6, "kept": 1, "score": -5.0}
    looks = [{"documents": stream_memory.FULL + 1 + i, **fine} for i in range(8)]
    end = {"documents": 9, "written": 9, "followed_documents": 9}
    assert soak.faults(looks, end) == []
    for name in ("peak_mb", "follower_mb", "files", "threads", "kept"):
        leaks = [look | {name: look[name] * (1 + i)} for i, look in enumerate(looks)]
        [fault] = soak.faults(leaks, end)
        assert name in fault
    worse = [look | {"score": -5.0 - i / 8} for i, look in enumerate(looks)]
    assert len(soak.faults(worse, end)) == 1
    assert len(soak.faults(looks, end | {"written": 10})) == 1
    assert len(soak.faults(looks, end | {"followed_documents": 8})) == 1
