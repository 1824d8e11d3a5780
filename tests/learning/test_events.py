"""Events of streams with known changes, and the stored history."""

import copy
import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import opelda
from opelda import TopicModel
from opelda.corpus import Vocabulary
from opelda.engines import CPUEngine
from opelda.engines.seam import HostWeights
from opelda.errors import InputError, ModelFileError
from opelda.learning import Event, History, OnEvent, OnlineOPE
from opelda.learning.persistence._checkpoint import note_time
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from opelda.learning.streaming import _watch, _window
from opelda.learning.streaming._events import SENTENCES, Times
from opelda.learning.streaming._events import TIMES_FILE as FILE
from opelda.learning.streaming._watch import Drawn, Watch
from opelda.learning.streaming._window import Assignments
from tests.cases import cases

THEMES = [[f"{theme}{n}" for n in range(8)] for theme in ("tea", "sea", "law", "sun")]
WORDS = [word for theme in THEMES for word in theme]
EVEN = [0.25] * 4
COMMON = {"n_components": 4, "batch_size": 50, "n_sweeps": 10, "n_jobs": 1}
N_BEFORE = 3000


@pytest.fixture(autouse=True)
def small_window(monkeypatch):
    """Small blocks, and a window that soon fills, which ends the refits."""
    monkeypatch.setattr(_watch, "BLOCK", 50)
    monkeypatch.setattr(_window, "MOST_DOCS", 1000)


def documents(rng, n_docs, shares, themes=THEMES):
    """Single-theme documents."""
    which = rng.choice(len(themes), n_docs, p=shares)
    return [rng.choice(themes[theme], 8).tolist() for theme in which]


def learned(seed, source, **more):
    model = TopicModel(**COMMON, random_state=seed % 2**31, **more)
    return model.fit_stream(source, vocabulary=Vocabulary(growing=True))


def watched(rng, source, words=WORDS):
    """Watch a stream by topics that stand still: each has a theme's words, and a few of all."""
    engine, vocabulary = CPUEngine(1), Vocabulary(words, growing=True)
    watch, n_docs = Watch.of(4, len(words)), 0
    for first in range(0, len(source), 50):
        X, _ = vocabulary.learn(source[first : first + 50])
        rows = np.zeros((len(vocabulary), 4), np.float32)
        rows[:32][np.arange(32), np.arange(32) // 8] = 1000.0
        weights = engine.weights(HostWeights(rows, 1.0, prior_weight=1.0))
        tokens = engine.tokens(engine.documents(X), 4)
        counts = engine.sweep(weights, tokens, np.full(4, 0.1), seed=int(rng.integers(2**40)))
        kept, n_docs = Assignments(tokens.rows, tokens.topics), n_docs + X.shape[0]
        watch = watch.after(
            Drawn(engine, weights, kept, counts, np.full(4, 0.1), vocabulary), n_docs
        )
    return watch


every_seed = pytest.mark.parametrize("seed", range(5))


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@every_seed
def test_stationary_stream_has_no_events(rng):
    assert watched(rng, documents(rng, 5000, EVEN)).events == ()


@every_seed
@pytest.mark.parametrize(("kind", "after"), [("topic rising", 0.55), ("topic fading", 0.02)])
def test_rising_and_fading_theme_is_reported(rng, kind, after):
    shares = [after] + [(1 - after) / 3] * 3
    source = documents(rng, N_BEFORE, EVEN) + documents(rng, 1000, shares)
    watch = watched(rng, source)
    event, *more = [event for event in watch.events if event.topic == 0]
    assert {event.kind for event in (event, *more)} == {kind}  # it may go further
    assert N_BEFORE < event.document <= N_BEFORE + 700
    assert set(event.words[:8]) == set(THEMES[0])
    assert event.numbers["share_before"] == pytest.approx(0.25, abs=0.1)
    moved = event.numbers["share"] - event.numbers["share_before"]
    assert moved * (after - 0.25) > 0
    points = watch.points  # each the mean of 250 documents or more
    assert points.shares[-1, 0] == pytest.approx(after, abs=0.2)
    assert points.shares[points.before(N_BEFORE), 0] == pytest.approx(0.25, abs=0.17)
    np.testing.assert_allclose(points.shares.sum(axis=1), 1.0, rtol=1e-5)


@every_seed
def test_new_words_are_reported_with_their_topic(rng):
    new = [*THEMES[:3], [*THEMES[3], "moon", "mars"]]
    source = documents(rng, N_BEFORE, EVEN) + documents(rng, 1000, EVEN, new)
    events = [event for event in watched(rng, source).events if event.kind == "new words"]
    assert sorted(word for event in events for word in event.words) == ["mars", "moon"]
    for event in events:
        assert N_BEFORE < event.document <= N_BEFORE + 400
        assert event.topic == 3
        # 8 tokens of a quarter of the documents, each a tenth of the time, in 50 documents: give or
        # take five standard deviations
        share = 0.25 * (1 - 0.9**8)
        deviation = (share * (1 - share) / 50) ** 0.5
        assert event.numbers["share"] == pytest.approx(share, abs=5 * deviation)


@every_seed
def test_changed_words_report_a_changed_topic(rng):
    often = [*THEMES[:3], ["rare", *THEMES[3]]]
    source = documents(rng, N_BEFORE, EVEN) + documents(rng, 1000, EVEN, often)
    watch = watched(rng, source, [*WORDS, "rare"])
    (event,) = [event for event in watch.events if event.kind == "topic changed"]
    assert (event.topic, event.words[0]) == (3, "rare")
    assert N_BEFORE < event.document <= N_BEFORE + 700
    # a ninth of the tokens are a thousand times less likely, in a few hundred documents
    assert event.numbers["rho"] == pytest.approx(1000 ** (-1 / 9), abs=0.3)


@every_seed
def test_mixed_documents_report_a_prediction_drop(rng):
    source = documents(rng, N_BEFORE, EVEN) + documents(rng, 1000, [1.0], [WORDS])
    events = [e for e in watched(rng, source).events if e.kind == "prediction dropped"]
    assert N_BEFORE < events[0].document <= N_BEFORE + 500
    assert events[0].numbers["score"] < events[0].numbers["score_before"] - 0.3
    assert events[0].numbers["score_before"] > -np.log(len(WORDS))  # a token's


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("every", [1, 7])
def test_stopped_stream_resumes_with_identical_history_and_every_event(tmp_path, every):
    rng = np.random.default_rng(0)
    source = documents(rng, N_BEFORE, EVEN)
    source += documents(rng, 600, [0.7, 0.1, 0.1, 0.1], [*THEMES[:3], [*THEMES[3], "moon"]])

    def until(stop):
        def look(report):
            if stop < report.n_docs:
                raise StoppedError

        return look

    told = {}
    for name, stops in (("whole", []), ("parts", [60, 1015, 3111, 3333, 3480])):
        heard = told[name] = []
        for stop in [*stops, len(source)]:
            callbacks = [OnEvent(heard.append), until(stop)]
            model = TopicModel(**COMMON, random_state=0, callbacks=callbacks)
            with suppress(StoppedError):
                model.fit_stream(
                    source,
                    vocabulary=Vocabulary(growing=True),
                    checkpoint=tmp_path / name,
                    every=every,
                )
    files = [(tmp_path / name / "checkpoint.opelda").read_bytes() for name in told]
    assert files[0] == files[1]
    whole, parts = ([json.dumps(e.as_saved()) for e in told[name]] for name in told)
    assert len(whole) == len(set(whole)) > 1
    assert set(parts) == set(whole)
    assert list(dict.fromkeys(parts)) == whole  # again, but never others, nor in another order
    assert [event.as_saved() for event in model.events_] == list(map(json.loads, whole))
    assert len(model._state.watch.points) > 3


def test_failed_event_callback_is_called_again(tmp_path):
    rng = np.random.default_rng(0)
    source = documents(rng, N_BEFORE, EVEN) + documents(rng, 800, [0.7, 0.1, 0.1, 0.1])
    heard = []

    def fail_once(event):
        heard.append(event.as_saved())
        if len(heard) == 1:
            raise StoppedError

    for _ in range(2):
        model = TopicModel(**COMMON, random_state=0, callbacks=[OnEvent(fail_once)])
        words = Vocabulary(growing=True)
        with suppress(StoppedError):
            model.fit_stream(source, vocabulary=words, checkpoint=tmp_path, every=1)
    assert heard[0] == heard[1]
    assert heard[1:] == [event.as_saved() for event in model.events_]


def test_reassigned_columns_leave_the_history():
    watch = Watch.of(2, 5)
    words = np.arange(20, dtype=np.int32).reshape(2, 10) % 5
    points = watch.points.added(100, np.full(2, 0.5), np.ones(2), words)
    after = replace(watch, points=points).forget(np.array([3]), 120)
    assert 3 not in after.points.words
    assert (after.points.words == -1).sum() == 4
    assert after.young.tolist() == [[3], [120], [0]]


def test_new_topic_is_reported_and_its_watch_restarts():
    watch = Watch.of(3, 5)
    full = replace(watch.shares, table=np.ones_like(watch.shares.table))
    after = replace(watch, shares=full).new_topic(1, 70, {"share": 0.1}, ["tea"])
    assert [str(event) for event in after.events] == [
        "Topic 1 (tea) is new after 70 documents, in 10.0% of the last ones."
    ]
    assert after.shares.table.any(axis=0).tolist() == [True, False, True]


def test_refit_restarts_the_watch():
    rng = np.random.default_rng(0)
    model = TopicModel(**COMMON, random_state=0)
    blocks = []
    model.callbacks = [lambda report: blocks.append(report.model._state.watch.shares.table[0, 0])]
    model.fit_stream(documents(rng, 1100, EVEN), vocabulary=Vocabulary(growing=True))
    # at the first and the second of 50, and at a quarter of 1000 documents
    assert [i for i, n in enumerate(blocks) if n == 0] == [0, 1, 4]
    assert model._state.watch.is_settled


DAMAGE = {
    "no fits": lambda arrays, watch: arrays.pop("watch.fits"),
    "short sums": lambda arrays, watch: arrays.update({"watch.sums": arrays["watch.sums"][:1]}),
    "nan score": lambda arrays, watch: arrays["watch.score"].fill(np.nan),
    "unknown words": lambda arrays, watch: arrays["watch.points.words"].fill(10**6),
    "zero spacing": lambda arrays, watch: watch.update(spacing=0),
    "too many judged": lambda arrays, watch: watch.update(n_judged=10**6),
    "unknown event": lambda arrays, watch: watch.update(events=[{"kind": "odd"}]),
    "no events": lambda arrays, watch: watch.update(events=None),
    "unknown topic": lambda arrays, watch: watch.update(
        events=[Event("new topic", 5, 99).as_saved()]
    ),
}


@pytest.fixture
def parts_with_history(small_window):
    return as_parts(learned(0, documents(np.random.default_rng(0), N_BEFORE, EVEN)))


@cases("damage", DAMAGE)
def test_damaged_history_is_rejected(tmp_path, parts_with_history, damage):
    arrays, header = copy.deepcopy(parts_with_history)
    DAMAGE[damage](arrays, header["watch"])
    header["checksum"] = checksum(arrays, header)
    path = tmp_path / "m.opelda"
    opelda._store.write(path, arrays, header, kind=KIND, version=FORMAT)
    with pytest.raises(ModelFileError, match=r"is not a model this version can use"):
        opelda.load(path)


@cases("kind", SENTENCES)
def test_events_are_sentences_and_plain_values(kind):
    event = Event(kind, 1234, None if "pred" in kind else 3, {"share": 0.5}, ("tea",), 0.0)
    assert str(event).endswith(".")
    assert "1,234 documents" in str(event)
    said = json.loads(json.dumps(event.as_dict()))
    assert said["time"] == "1970-01-01T00:00:00.000+00:00"
    assert Event.from_saved(said, 4) == replace(event, time=None)


@pytest.mark.parametrize("seed", range(1))
def test_events_are_in_reports_and_stop_learning(rng, seed):
    source = documents(rng, N_BEFORE, EVEN) + documents(rng, 1000, [0.7, 0.1, 0.1, 0.1])
    history = History()
    model = learned(seed, source, callbacks=[OnEvent(lambda event: True), history])
    told = [event for report in history.reports for event in report.events]
    assert told
    assert model.n_docs_seen_ == told[0].document < len(source)


def test_learners_without_sweeps_have_no_events():
    with pytest.raises(InputError, match="Events need sweeps"):
        OnlineOPE(2, callbacks=[OnEvent(print)]).fit_stream(["tea cup"] * 9)
    assert OnlineOPE(2).fit_stream(["tea cup"] * 9).events_ == []


def test_times_file_is_beside_the_checkpoint_and_bounded(tmp_path, monkeypatch):
    now = iter(range(100_000))
    monkeypatch.setattr("time.time", lambda: float(next(now)))
    assert not Times(tmp_path)
    for step in range(20_000):
        note_time(tmp_path, 10 * step)
    assert (tmp_path / FILE).stat().st_size <= 100_100
    times = Times(tmp_path)
    assert times.last == 19_999.0
    assert times.at(123_450) == pytest.approx(12_345, abs=20)
    assert times.documents(12_345.0) == pytest.approx(123_450, abs=200)
    with open(tmp_path / FILE, "a") as file:
        file.write("7 8\n9 1")  # restarted, then truncated
    assert Times(tmp_path).documents(8.0) == 7.0


def test_on_event_needs_a_function():
    heard = OnEvent(lambda event: None)
    assert heard.function is not None
    with pytest.raises(InputError, match="must be a function that accepts an event, got 3"):
        OnEvent(3)
