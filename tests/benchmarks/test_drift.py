"""Streams with known changes: order, measurements and detections."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from benchmarks.peers.corpora import Corpus
from benchmarks.streams import drift, drift_tables, run, themes
from opelda.metrics import log_predictive_probability
from tests.cases import cases

CHANGE = themes.Change(400, "a", 0.5, ((100, 200), (300, 350)))


@pytest.fixture(scope="module")
def titles():
    """Of the theme is every third title, and every tenth is empty."""
    tokens = np.arange(2000) % 10
    return np.arange(2000) % 3 == 0, tokens


@pytest.mark.parametrize("seed", range(5))
def test_theme_occurs_only_while_active(titles, seed):
    is_theme, tokens = titles
    order, own, others = themes.ordered(CHANGE, is_theme, tokens, seed, n_held=50)
    on = CHANGE.chances() > 0
    assert len(order) == 400
    assert not is_theme[order[~on]].any()
    assert 0.3 < is_theme[order[on]].mean() < 0.7
    assert len({*order, *own, *others}) == 500  # and no title twice
    assert is_theme[own].all()
    assert not is_theme[others].any()
    assert tokens[order].min() > 0
    assert tokens[np.concatenate((own, order[is_theme[order]]))].min() >= themes.LEAST_TOKENS


def test_seeds_determine_the_orders(titles):
    orders = [themes.ordered(CHANGE, *titles, seed, n_held=50)[0].tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]


def test_too_few_titles_are_rejected(titles):
    for change in (replace(CHANGE, share=1.0, stretches=((0, 400),)), themes.Change(1300)):
        with pytest.raises(SystemExit, match="titles of its theme"):
            themes.ordered(change, *titles, 0, n_held=50)


def test_gradual_theme_grows():
    chances = replace(CHANGE, grows=True).chances()
    assert chances[[99, 100, 199, 200, 300, 349]].tolist() == [0, 0, 0.5, 0, 0, 0.5]
    assert (np.diff(chances[100:200]) > 0).all()


@cases("name", themes.CHANGES)
def test_points_are_at_every_change(name):
    change = themes.CHANGES[name]
    points = change.points()
    assert points == sorted(set(points))
    assert points[0] > 0
    assert points[-1] < change.n_docs
    line = {"stretches": change.stretches, "n_docs": change.n_docs}
    if change.stretches:  # all that tables look up
        assert set(drift_tables.boundaries(line)) <= {*points, change.n_docs}
    for begin, end in change.stretches:
        assert set(range(begin, min(end, points[-1]), 10_000)) <= set(points)
    assert max(np.diff(points)) <= 50_000


def test_typical_words_are_frequent_in_a_theme_and_rare_elsewhere():
    dense = np.zeros((400, 4), int)
    dense[:200, 0] = 1  # all of the theme's, and no others
    dense[:, 1] = 3  # all
    dense[:10, 2] = dense[390:, 2] = 1  # as many here as there
    dense[:100, 3], dense[391:, 3] = 1, 9  # in eleven times as many here
    is_theme = np.arange(400) < 200
    found = themes.typical(sparse.csr_array(dense), is_theme)
    assert found.tolist() == [True, False, False, True]


def test_topics_common_to_all_titles_match_no_theme():
    beta = np.full((3, 6), 0.01)
    for topic in range(3):
        beta[topic, 2 * topic : 2 * topic + 2] = 0.48
    own, others = np.tile([9, 9, 4, 4, 0, 0], (5, 1)), np.tile([9, 9, 0, 0, 4, 4], (5, 1))
    theme = themes.Theme(sparse.csr_array(own), sparse.csr_array(others), np.zeros(6, bool))
    found = drift.topics_of(theme, beta, 1)
    assert [topic for topic, *_ in found] == [1, 0, 2]
    assert found[1][1] > found[0][1] > 0.2 > found[0][2]


class Two:
    """A system that knows two topics, and tells something at times."""

    batch = 10

    def __init__(self, corpus, seed, n_jobs):
        self.n_docs, self.model = 0, SimpleNamespace(events_=())

    def prepare(self, counts):
        return counts

    def learn(self, counts):
        self.n_docs += counts.shape[0]
        event = SimpleNamespace(
            kind="topic rising", document=self.n_docs, topic=1, numbers={}, words=("x3", "x0")
        )
        self.model.events_ = (*self.model.events_, event)[-12:]  # the last ones are kept

    def topics(self):
        return np.array([[8.0, 8, 1, 1], [1, 1, 4, 4]])


@pytest.mark.parametrize("seed", range(1))
def test_run_measures_the_theme_and_the_next_documents(monkeypatch, seed):
    monkeypatch.setitem(drift.DRIFTING, "two", Two)
    rng = np.random.default_rng(seed)
    early, late = np.array([[4, 4, 0.1, 0.1], [0.1, 0.1, 4, 4]])
    train = sparse.csr_array(np.concatenate([rng.poisson(early, (100, 4)) for _ in range(4)]))
    own, others = (sparse.csr_array(rng.poisson(mean, (50, 4))) for mean in (late, early))
    theme = themes.Theme(own, others, np.array([False, False, True, True]))
    corpus, words = Corpus("made", train, others), ["a", "b", "c", "d"]
    line = drift.result(run.Run("made", "two", 0), corpus, theme, words, [100, 200], 1)
    assert [point["documents"] for point in line["points"]] == [100, 200, 400]
    beta = np.array([[8, 8, 1, 1], [1, 1, 4, 4]]) / [[18], [10]]
    options = {"method": "vb", "n_splits": 1, "random_state": 0}
    for point in line["points"]:
        expected = log_predictive_probability(beta, own, **options)
        assert point["theme_lpp"] == pytest.approx(float(expected), abs=1e-5)
        (first, mine, theirs), *_ = point["topics"]
        assert first == 1
        assert mine > 0.8 > 0.2 > theirs
        assert set(point["words"][:2]) == {"c", "d"}
    expected = log_predictive_probability(beta, train[100:], **options)
    assert line["points"][0]["lpp"] == pytest.approx(float(expected), abs=1e-5)
    assert "lpp" not in line["points"][-1]
    # every event once, except events that the model dropped between two points
    told = [event["document"] for event in line["events"]]
    assert told == [*range(10, 201, 10), *range(290, 401, 10)]
    assert all(e["words"] == ["d", "a"] and e["typical"] == 1 for e in line["events"])


def event(kind, document, topic=None, typical=0, words=("a", "b", "c")):
    return {
        "kind": kind, "document": document, "topic": topic, "typical": typical, "words": list(words)
    }  # fmt: skip


def point(documents, topic=7, lpp=-8.0):
    topics = [[topic, 0.3, 0.1], [topic + 1, 0.2, 0.1], [topic + 2, 0.1, 0.1]]
    return {"documents": documents, "lpp": lpp, "theme_lpp": lpp - 1, "topics": topics,
            "words": ["tea", "cup"]}  # fmt: skip


def line(events=(), points=(), system="TopicModel", seed=0, stretches=((100, 200), (300, 350))):
    return {
        "corpus": "c", "system": system, "seed": seed, "n_docs": 400, "seconds": 2.0,
        "prequential": -8.5, "stretches": [list(each) for each in stretches],
        "points": list(points), "events": list(events),
    }  # fmt: skip


def test_events_are_about_the_theme_by_topic_or_by_words():
    points = [point(100, topic=1), point(200, topic=7), point(300, topic=20)]
    for topic, document, expected in (
        (7, 150, True),
        (9, 200, True),
        (10, 150, False),
        (1, 150, False),  # it was the theme's before
        (1, 100, True),
        (20, 999, True),  # the last point covers the following documents
        (None, 150, False),
    ):
        found = drift_tables.about_theme(event("topic rising", document, topic), points)
        assert found is expected, (topic, document)
    for typical, expected in ((0, False), (1, False), (2, True)):
        one = event("topic changed", 150, 50, typical)
        assert drift_tables.about_theme(one, points) is expected
    assert not drift_tables.about_theme(event("prediction dropped", 150, words=()), points)


def test_delay_is_from_onset_to_first_event():
    run_ = line(
        [
            event("topic rising", 90, 7),
            event("topic rising", 110, 50),  # of another topic
            event("topic rising", 120, 7),
            event("topic rising", 130, 7),
            event("new topic", 150, 8),
            event("topic fading", 180, 7),  # the theme is still on
            event("topic changed", 210, 7),  # it is not any more
            event("topic fading", 240, 7),
            event("topic rising", 301, 7),
            event("topic fading", 400, 7),
        ],
        [point(n) for n in range(50, 401, 50)],
    )
    first = {"topic rising": 20, "new topic": 50, "topic fading": 40}
    assert drift_tables.delays(run_, 0) == first
    assert drift_tables.delays(run_, 1) == {"topic rising": 1, "topic fading": 50}
    late = line([event("topic fading", 390, 7)], run_["points"])
    assert drift_tables.delays(late, 0) == {}  # it is the second stretch that ended
    assert [e["document"] for e in drift_tables.false_alarms(run_)] == [90]
    assert [e["document"] for e in drift_tables.others(run_)] == [110]
    still = line(run_["events"], stretches=())
    assert len(drift_tables.false_alarms(still)) == 10


def test_theme_score_is_of_its_active_stretches():
    scores = {50: -1.0, 100: -2.0, 150: -3.0, 200: -4.0, 300: -7.0, 350: -8.0}
    run_ = line(points=[point(n, lpp=lpp) for n, lpp in scores.items()])
    assert drift_tables.while_on(run_) == pytest.approx(-4.0)
    assert drift_tables.while_on(line(stretches=())) is None


def test_theme_matches_its_topic(monkeypatch):
    monkeypatch.setattr(drift_tables, "SOON", 20)
    for (former, soon, later), expected in {
        (7, 7, 7): (True, True), (7, 8, 7): (False, True), (7, 3, 3): (False, False),
    }.items():  # fmt: skip
        points = [point(200, former), point(320, soon), point(350, later)]
        assert drift_tables.found_again(line(points=points)) == expected


def test_tables_and_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(drift_tables, "SOON", 20)
    monkeypatch.setattr(drift_tables, "BEFORE", 60)
    points = [point(n) for n in (50, 100, 120, 200, 300, 320, 350, 400)]
    events = [event("topic rising", 40), event("topic rising", 120, 7), event("new topic", 130, 90)]
    lines = [line(events, points), line((), points, seed=1), line((), points, "OnlineOPE")]
    lines.append({**line(events, points, stretches=()), "corpus": "still"})
    rows = drift_tables.markdown(lines)
    mixed = [lines[i] for i in (2, 1, 3, 0)]
    assert sorted(drift_tables.markdown(mixed).splitlines()) == sorted(rows.splitlines())
    assert "c, 400 documents, theme on from 100 to 200 and 300 to 350:" in rows
    assert "| TopicModel | -8.500 ± 0.000 | -8.000 ± 0.000 | -9.000 ± 0.000 |" in rows
    assert "| OnlineOPE | 7: 30.0% (10.0%) |" in rows
    assert "| 2 of 2 | 2 of 2 | tea cup |" in rows
    assert "| TopicModel | 100 | 20, - | -, - | -, - | -, - | -, - | -, - | 1, 0 | 1, 0 |" in rows
    assert "| OnlineOPE | 100 |" not in rows  # it has no events
    assert "| TopicModel | 2 | 1 | 0 | 0 | 0 | 0 | 3 | 0 | 7500.0 |" in rows
    drawn = [path.read_text() for path in drift_tables.draw(lines, tmp_path)]
    assert len(drawn) == 2
    assert "the theme's" in drawn[0]
    assert "topic rising" in drawn[0]
    assert "the next" in drawn[1]


def test_every_system_has_a_plot_style():
    assert set(drift.DRIFTING) <= set(drift_tables.LOOKS)
    assert set(drift.MEMORY) <= set(drift.DRIFTING)
