"""`stream`: the counts of `read`, in mini-batches, from any position."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import OnlineOPE
from opelda.corpus import (
    DocumentStream,
    MiniBatch,
    Tokenizer,
    Vocabulary,
    mini_batches,
    read,
    stream,
)
from opelda.corpus._block import Problems
from opelda.errors import InputError
from tests.cases import cases

RNG = np.random.default_rng(0)
WORDS = np.array([f"w{i}" for i in range(60)])
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(0, 12))) for _ in range(137)]


@pytest.fixture
def files(tmp_path):
    """Write the same documents to one file, and to three files."""
    (tmp_path / "all.txt").write_text("".join(text + "\n" for text in TEXTS))
    for number, part in enumerate((TEXTS[:50], TEXTS[50:61], TEXTS[61:])):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part)
        (tmp_path / f"part-{number}.jsonl").write_text(lines)
    return tmp_path


@cases("name", ["all.txt", "part-*.jsonl"])
@cases("n_jobs", [1, 3])
def test_batches_add_up_to_the_corpus(files, name, n_jobs):
    whole = read(str(files / name), min_df=1, max_df=1.0)
    for size in (1, 20, 137, 500):
        batches = list(
            stream(str(files / name), batch_size=size, vocabulary=whole.vocabulary, n_jobs=n_jobs)
        )
        assert [b.X.shape[0] for b in batches[:-1]] == [size] * (len(batches) - 1)
        assert (sparse.vstack([b.X for b in batches]) != whole.X).nnz == 0


@given(data=st.data())
def test_every_position_resumes_with_the_same_batches(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    cuts = sorted(data.draw(st.lists(st.integers(0, 30), max_size=3)))
    for number, (first, after) in enumerate(zip([0, *cuts], [*cuts, 30], strict=True)):
        (folder / f"{number}.txt").write_text("".join(t + "\n" for t in TEXTS[first:after]))
    size = data.draw(st.integers(1, 12))
    fixed = Vocabulary(WORDS.tolist())
    batches = list(stream(str(folder / "*.txt"), batch_size=size, vocabulary=fixed))
    at = data.draw(st.integers(0, len(batches) - 1))
    place = json.loads(json.dumps(batches[at].position))
    rest = stream(str(folder / "*.txt"), batch_size=size, vocabulary=fixed)
    rest.seek(place)
    left = list(rest)
    assert [b.position for b in left] == [b.position for b in batches[at + 1 :]]
    for ours, theirs in zip(left, batches[at + 1 :], strict=True):
        assert (ours.X != theirs.X).nnz == 0


def test_iterators_are_read_no_further_than_needed():
    taken = []

    def documents():
        for text in TEXTS:
            taken.append(text)
            yield text

    batches = iter(stream(documents(), batch_size=10))
    for n_batches in (1, 2, 3):
        next(batches)
        assert len(taken) == 10 * n_batches


def test_vocabulary_grows_up_to_max_features():
    batches = stream(TEXTS, batch_size=10, max_features=20)
    assert max(batch.X.shape[1] for batch in batches) == 20
    with pytest.raises(InputError, match="leave those out"):
        stream(TEXTS, vocabulary=Vocabulary(["a"]), max_features=3)


def test_language_is_detected_once(tmp_path):
    texts = ["the stars of the galaxy and what they are"] * 30 + ["cells of the body"] * 30
    model = OnlineOPE(2, random_state=0)
    model.fit_stream(stream(texts, batch_size=10), checkpoint=tmp_path)
    assert "the" not in model.vocabulary_
    assert model.vocabulary_.tokenizer == Tokenizer(stop_words="en").decided
    again = OnlineOPE(2, random_state=0)
    again.fit_stream(stream(texts, batch_size=10), checkpoint=tmp_path)
    assert again.n_docs_seen_ == 60


def test_learner_counts_with_its_own_vocabulary(files):
    source = stream(files / "all.txt", batch_size=25, min_df=1)
    model = OnlineOPE(3, random_state=0).fit_stream(source)
    assert model.n_docs_seen_ == 137
    assert len(source.vocabulary) == 0
    assert set(model.vocabulary_.words) == set(" ".join(TEXTS).split())
    by_hand = OnlineOPE(3, random_state=0)
    lists = [[text.split() for text in TEXTS[i : i + 25]] for i in range(0, 137, 25)]
    by_hand.fit_stream(lists, vocabulary=Vocabulary(growing=True))
    assert (model.components_ == by_hand.components_).all()


def test_interrupted_stream_gives_the_identical_checkpoint(files, tmp_path):
    def learn(folder, limit=None):
        model = OnlineOPE(3, batch_size=10, random_state=0)
        source = stream(str(files / "part-*.jsonl"), batch_size=10, limit=limit)
        return model.fit_stream(source, checkpoint=folder, every=1)

    learn(tmp_path / "cut", limit=50)
    resumed, whole = learn(tmp_path / "cut"), learn(tmp_path / "whole")
    assert (resumed.components_ == whole.components_).all()
    cut, full = (tmp_path / name / "checkpoint.opelda" for name in ("cut", "whole"))
    assert cut.read_bytes() == full.read_bytes()


def test_positions_of_other_files_are_recognized(files):
    place = next(iter(stream(str(files / "part-*.jsonl"), batch_size=5))).position
    other = stream(files / "all.txt", batch_size=5)
    other.seek(place)
    assert sum(batch.X.shape[0] for batch in other) == 137  # by content, all of it is new
    other.seek(7)
    with pytest.raises(InputError, match="not a valid position"):
        next(iter(other))


def test_limit_stops_the_stream(files, tmp_path):
    fixed = Vocabulary(WORDS.tolist())
    batches = list(stream(files / "all.txt", batch_size=5, limit=7, vocabulary=fixed))
    assert [batch.X.shape[0] for batch in batches] == [5, 2]
    rest = stream(files / "all.txt", batch_size=200, vocabulary=fixed)
    rest.seek(batches[-1].position)
    left = next(iter(rest)).X
    assert (left != fixed.count(TEXTS[7:])).nnz == 0


def test_documents_before_a_bad_line_are_given_for_any_n_jobs(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "tea"}\n' * 100 + "bad\n")
    for n_jobs in (1, 2, 3):
        taken = []
        with pytest.raises(InputError, match="line 101"):
            taken.extend(batch.X.shape[0] for batch in stream(path, batch_size=10, n_jobs=n_jobs))
        assert sum(taken) == 100


class Repeated:
    """A user-defined stream with the methods of the Protocol only."""

    def __init__(self, texts, batch_size):
        self.vocabulary = Vocabulary(growing=True, tokenizer=Tokenizer(stop_words=None))
        self.position = None
        self.problems = Problems()
        self._texts, self._size = texts, batch_size

    def seek(self, position):
        self.position = position

    def batches(self, vocabulary=None, n_words=None):
        words = self.vocabulary if vocabulary is None else vocabulary
        for first in range(self.position or 0, len(self._texts), self._size):
            X, change = words.learn(self._texts[first : first + self._size])
            self.position = first + self._size
            yield MiniBatch(X, self.position, change, change.n_unknown_tokens, words)


def test_learners_accept_user_defined_streams(tmp_path):
    texts = ["tea cup", "pot tea", "cup pot"] * 20
    assert isinstance(Repeated(texts, 6), DocumentStream)
    assert not isinstance(texts, DocumentStream)
    expected = OnlineOPE(2, random_state=0).fit_stream(Repeated(texts, 6))
    first = OnlineOPE(2, random_state=0)
    first.fit_stream(Repeated(texts[:30], 6), checkpoint=tmp_path / "state")
    again = OnlineOPE(2, random_state=0)
    again.fit_stream(Repeated(texts, 6), checkpoint=tmp_path / "state")
    assert (again.components_ == expected.components_).all()
    assert next(mini_batches(Repeated(texts, 6), batch_size=1, position=54)).position == 60


def test_counting_does_not_change_the_vocabulary():
    own = Vocabulary(growing=True)
    own.learn(["tea cup", "tea"])
    before = own.copy()
    source = stream(["tea pot", "cup cup pan"], batch_size=2)
    batch = next(source.batches(own, learn=False))
    assert own == before
    assert batch.change is None
    assert batch.n_tokens.tolist() == [2, 3]
    assert batch.X.toarray().tolist() == own.count(["tea pot", "cup cup pan"]).toarray().tolist()
    assert batch.n_unknown_tokens == 2


def test_numbered_columns_must_match_n_words():
    source = stream(np.eye(3), batch_size=2)
    with pytest.raises(InputError, match="3 columns without words, but they are to be counted"):
        next(source.batches(None, 4, learn=False))
    assert next(source.batches(None, 4)).X.shape == (2, 4)
