"""Streams while they are learned: early checkpoints, waiting words and events."""

import numpy as np
import pytest

import opelda
from opelda import OnlineOPE, TopicModel
from opelda.corpus import Vocabulary, generate, generate_stream
from opelda.errors import InputError
from opelda.learning.streaming import _watch, _window

X = generate(120, n_words=30, n_topics=3).X
BATCHES = [X[at : at + 10] for at in range(0, 120, 10)]


def learn(folder, every, source=BATCHES, callbacks=None):
    model = OnlineOPE(3, random_state=0, callbacks=callbacks)
    return model.fit_stream(source, checkpoint=folder, every=every)


@pytest.mark.parametrize("every", ["1h", 1000])
def test_checkpoints_follow_the_first_update_and_the_interval(tmp_path, every):
    seen = []

    def source():
        for batch in BATCHES:
            seen.append(opelda.load(tmp_path).n_docs_seen_ if seen else None)
            yield batch

    learn(tmp_path, every, source())
    assert seen == [None] + [10] * 11
    assert opelda.load(tmp_path).n_docs_seen_ == 120
    learn(tmp_path, every, BATCHES * 2)  # also in a resumed run
    assert opelda.load(tmp_path).n_docs_seen_ == 240


def test_checkpoint_interval_does_not_change_the_bytes(tmp_path):
    wholes = set()
    for number, every in enumerate(("0.000001s", "1h", 1, 5, "5")):
        folder = tmp_path / str(number)
        learn(folder, every)
        wholes.add((folder / "checkpoint.opelda").read_bytes())
    assert len(wholes) == 1


def test_bad_interval_is_rejected_before_reading(tmp_path):
    source = iter(BATCHES)
    with pytest.raises(InputError, match=r"^every must be .* such as 30s, 5m or 1h, got '5 days'"):
        learn(tmp_path / "c", "5 days", source)
    assert len(list(source)) == 12
    assert not (tmp_path / "c").exists()


def test_waiting_words_are_saved_in_the_checkpoint(tmp_path):
    """Stopped after any item, a run resumes with identical bytes; few words wait."""
    stream = list(generate_stream(80, batch_size=8, n_words=40, n_topics=3, new_words_per_batch=9))

    def run(folder, *stops):
        for stop in (*stops, None):
            model = OnlineOPE(3, random_state=0)
            words = Vocabulary(growing=True, min_df=3, max_features=15)
            model.fit_stream(stream[:stop], vocabulary=words, checkpoint=folder, every=1)
        assert 0 < len(model.vocabulary_._waiting) <= 30 < model.n_words_dropped_
        return (folder / "checkpoint.opelda").read_bytes()

    whole = run(tmp_path / "whole")
    for stop in range(1, len(stream)):
        assert run(tmp_path / str(stop), stop, min(stop + 2, 10)) == whole


def test_batches_of_waiting_words_make_no_update(tmp_path):
    words = Vocabulary(growing=True, min_df=3)
    model = OnlineOPE(2, batch_size=1, random_state=0)
    model.fit_stream([["tea", "cup"]] * 5, vocabulary=words, checkpoint=tmp_path, every=1)
    assert (model.n_batch_iter_, model.n_docs_seen_, model.n_unknown_tokens_) == (3, 5, 4)
    with pytest.raises(InputError, match="have no words"):
        OnlineOPE(2).fit_stream([["tea", "cup"]] * 2, vocabulary=words)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("max_features", [200, None])
def test_only_new_words_are_reported_despite_evictions(monkeypatch, seed, max_features):
    """Zipf-distributed words in random order; two new words occur in the last documents."""
    monkeypatch.setattr(_watch, "BLOCK", 200)
    monkeypatch.setattr(_window, "MOST_DOCS", 1000)
    rng, n_docs, n_changed = np.random.default_rng(seed), 12_000, 2000
    shares = 1 / np.arange(5, 805)
    drawn = rng.choice(800, (n_docs, 6), p=shares / shares.sum())
    texts = [[f"w{number}" for number in row] for row in drawn.tolist()]
    for text in texts[-n_changed:]:
        text += ["storm", "flood"] if rng.random() < 0.25 else []
    words = Vocabulary(growing=True, max_features=max_features, min_df=5)
    model = TopicModel(2, n_sweeps=1, batch_size=100, n_jobs=1, random_state=seed)
    model.fit_stream(texts, vocabulary=words)
    assert (model.vocabulary_.n_evicted > 0) == (max_features is not None)
    events = [event for event in model.events_ if event.kind == "new words"]
    assert sorted(word for event in events for word in event.words) == ["flood", "storm"]
    assert all(0 < event.document - n_docs + n_changed <= 400 for event in events)
