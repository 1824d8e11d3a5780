"""`stream`: the same counts as `read`, in mini-batches, from any position on."""

import json
import threading
import time
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import OnlineOPE
from opelda.corpus import Tokenizer, Vocabulary, read, stream
from opelda.corpus.sources import _followed
from opelda.errors import InputError

RNG = np.random.default_rng(0)
WORDS = np.array([f"w{i}" for i in range(60)])
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(0, 12))) for _ in range(137)]


@pytest.fixture
def files(tmp_path):
    """The same documents in one file, and in three."""
    (tmp_path / "all.txt").write_text("".join(text + "\n" for text in TEXTS))
    for number, part in enumerate((TEXTS[:50], TEXTS[50:61], TEXTS[61:])):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part)
        (tmp_path / f"part-{number}.jsonl").write_text(lines)
    return tmp_path


@pytest.mark.parametrize("name", ["all.txt", "part-*.jsonl"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_batches_add_up_to_what_is_read(files, name, n_jobs):
    whole = read(str(files / name), min_df=1, max_df=1.0)
    for size in (1, 20, 137, 500):
        batches = list(
            stream(str(files / name), batch_size=size, vocabulary=whole.vocabulary, n_jobs=n_jobs)
        )
        assert [b.X.shape[0] for b in batches[:-1]] == [size] * (len(batches) - 1)
        assert (sparse.vstack([b.X for b in batches]) != whole.X).nnz == 0


@given(data=st.data())
def test_going_on_from_any_position_gives_the_same_batches(data, tmp_path_factory):
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


def test_no_more_is_read_than_is_needed_when_waiting():
    taken = []

    def documents():
        for text in TEXTS:
            taken.append(text)
            yield text

    batches = iter(stream(documents(), batch_size=10, n_jobs=1))
    next(batches)
    assert len(taken) <= 10 * 4 + 1


def test_vocabularies_grow_and_stay_bounded():
    batches = stream(TEXTS, batch_size=10, max_features=20)
    assert max(batch.X.shape[1] for batch in batches) == 20
    with pytest.raises(InputError, match="leave those out"):
        stream(TEXTS, vocabulary=Vocabulary(["a"]), max_features=3)


def test_the_language_is_found_once(tmp_path):
    texts = ["the stars of the galaxy and what they are"] * 30 + ["cells of the body"] * 30
    model = OnlineOPE(2, random_state=0)
    model.fit_stream(stream(texts, batch_size=10), checkpoint=tmp_path)
    assert "the" not in model.vocabulary_
    assert model.vocabulary_.tokenizer == Tokenizer(stop_words="en")
    again = OnlineOPE(2, random_state=0)
    again.fit_stream(stream(texts, batch_size=10), checkpoint=tmp_path)
    assert again.n_docs_seen_ == 60


def test_a_learner_counts_with_its_own_copy(files):
    source = stream(files / "all.txt", batch_size=25)
    model = OnlineOPE(3, random_state=0).fit_stream(source)
    assert model.n_docs_seen_ == 137
    assert len(source.vocabulary) == 0
    assert set(model.vocabulary_.words) == set(" ".join(TEXTS).split())
    by_hand = OnlineOPE(3, random_state=0)
    lists = [[text.split() for text in TEXTS[i : i + 25]] for i in range(0, 137, 25)]
    by_hand.fit_stream(lists, vocabulary=Vocabulary(growing=True))
    assert (model.components_ == by_hand.components_).all()


def test_interrupted_streams_end_the_same(files, tmp_path):
    def learn(folder, limit=None):
        model = OnlineOPE(3, batch_size=10, random_state=0)
        source = stream(str(files / "part-*.jsonl"), batch_size=10, limit=limit)
        return model.fit_stream(source, checkpoint=folder, every=1)

    learn(tmp_path / "cut", limit=50)
    resumed, whole = learn(tmp_path / "cut"), learn(tmp_path / "whole")
    assert (resumed.components_ == whole.components_).all()
    cut, full = (tmp_path / name / "checkpoint.opelda" for name in ("cut", "whole"))
    assert cut.read_bytes() == full.read_bytes()


def test_positions_of_other_files_are_refused(files):
    place = next(iter(stream(str(files / "part-*.jsonl"), batch_size=5))).position
    other = stream(files / "all.txt", batch_size=5)
    other.seek(place)
    with pytest.raises(InputError, match="part-0"):
        next(iter(other))
    other.seek(7)
    with pytest.raises(InputError, match="not a place"):
        next(iter(other))


def followed(source, n_batches, **options):
    return list(islice(stream(source, follow=True, **options), n_batches))


def test_a_growing_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    path = tmp_path / "log.txt"
    path.write_text("".join(text + "\n" for text in TEXTS[:15]))

    def write():
        with path.open("a") as file:
            for text in TEXTS[15:60]:
                half = len(text) // 2
                file.write(text[:half])
                file.flush()  # a reader may see half a line
                time.sleep(0.001)
                file.write(text[half:] + "\n")
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    fixed = Vocabulary(WORDS.tolist())
    batches = followed(path, 6, batch_size=10, vocabulary=fixed)
    writer.join()
    assert (sparse.vstack([b.X for b in batches]) != fixed.count(TEXTS[:60])).nnz == 0


def test_a_file_that_was_cut_short_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    path = tmp_path / "log.txt"
    path.write_text("tea\ntea\n" * 5)
    batches = iter(stream(path, batch_size=10, follow=True, vocabulary=Vocabulary(["tea", "cup"])))
    assert next(batches).X.sum(axis=0).tolist() == [10, 0]
    path.write_text("cup\n" * 5)

    def more():
        with path.open("a") as file:
            file.write("cup\n" * 5)

    threading.Timer(0.1, more).start()
    assert next(batches).X.sum(axis=0).tolist() == [0, 10]


def test_files_that_arrive_are_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    monkeypatch.setattr(_followed, "SETTLED", 0.0)
    fixed = Vocabulary(WORDS.tolist())

    def put(name, texts):
        (tmp_path / f".{name}").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
        (tmp_path / f".{name}").rename(tmp_path / name)

    put("b.jsonl", TEXTS[:12])
    batches = iter(stream(tmp_path, follow=True, batch_size=10, vocabulary=fixed))
    first = next(batches)
    put("a.jsonl", TEXTS[12:24])  # an earlier name, but later: not lost
    second = next(batches)
    assert (sparse.vstack([first.X, second.X]) != fixed.count(TEXTS[:20])).nnz == 0
    put("c.jsonl", TEXTS[24:30])
    again = stream(tmp_path, follow=True, batch_size=10, vocabulary=fixed)
    again.seek(json.loads(json.dumps(second.position)))
    assert (fixed.count(TEXTS[20:30]) != next(iter(again)).X).nnz == 0


def test_text_files_that_arrive_are_a_document_each(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    monkeypatch.setattr(_followed, "SETTLED", 0.0)
    for number, text in enumerate(TEXTS[:6]):
        (tmp_path / f"{number}.txt").write_text(text)
    fixed = Vocabulary(WORDS.tolist())
    batches = followed(tmp_path, 2, batch_size=3, vocabulary=fixed)
    assert (sparse.vstack([b.X for b in batches]) != fixed.count(TEXTS[:6])).nnz == 0


def test_what_cannot_be_followed(tmp_path):
    import gzip

    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"tea\n"))
    with pytest.raises(InputError, match="cannot be followed"):
        stream(tmp_path / "a.txt.gz", follow=True)


def test_half_a_line_is_no_problem_while_it_is_being_written(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    path = tmp_path / "log.jsonl"
    line = json.dumps({"text": "tea é"}, ensure_ascii=False).encode() + b"\n"
    path.write_bytes(line * 5 + line[:-4])  # within a letter
    batches = iter(stream(path, follow=True, batch_size=3, vocabulary=Vocabulary(["tea"])))
    assert next(batches).X.shape[0] == 3

    def rest():
        with path.open("ab") as file:
            file.write(line[-4:])

    threading.Timer(0.1, rest).start()
    assert next(batches).X.sum() == 3
    path.write_bytes(line * 6 + b"{no json}\n" + line * 3)
    with pytest.raises(InputError, match="line 7"):
        next(batches)


def test_problems_of_a_growing_file_are_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    path = tmp_path / "log.jsonl"
    path.write_text('{"text": "tea"}\nbad\n')
    source = stream(
        path, follow=True, batch_size=2, on_error="skip", vocabulary=Vocabulary(["tea"])
    )

    def more():
        for _ in range(3):
            time.sleep(0.05)
            with path.open("a") as file:
                file.write('{"text": "tea"}\n')

    threading.Thread(target=more).start()
    assert next(iter(source)).X.shape[0] == 2
    assert (source.problems.n_skipped, len(source.problems.first)) == (1, 1)


def test_following_begins_where_reading_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    path = tmp_path / "log.txt"
    path.write_text("tea\n" * 4 + "cup\n" * 4)
    fixed = Vocabulary(["tea", "cup"])
    place = next(iter(stream(path, batch_size=4, vocabulary=fixed))).position
    more = stream(path, batch_size=4, vocabulary=fixed, follow=True)
    more.seek(place)
    batch = next(iter(more))
    assert batch.X.sum(axis=0).tolist() == [0, 4]
    with pytest.raises(InputError, match="UTF-8"):
        stream(path, follow=True, encoding="latin-1")
    with pytest.raises(InputError, match="Only one"):
        stream([path, path], follow=True)


def test_files_of_a_followed_folder_may_go_again(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    monkeypatch.setattr(_followed, "SETTLED", 0.0)
    (tmp_path / "1.txt").write_text("tea")
    (tmp_path / "2.jsonl").write_text('{"text": "cup"}\n' * 3)
    (tmp_path / "2.jsonl.vocab").write_text("cup\n")
    fixed = Vocabulary(["tea", "cup"])
    batches = iter(stream(tmp_path, follow=True, batch_size=1, vocabulary=fixed))
    first, second = next(batches), next(batches)
    assert first.position == {"done": ["1.txt"], "file": None, "at": None}
    assert second.position["file"] == "2.jsonl"
    (tmp_path / "1.txt").unlink()
    (tmp_path / "2.jsonl").unlink()
    (tmp_path / "3.txt").write_text("tea tea")
    rest = stream(tmp_path, follow=True, batch_size=1, vocabulary=fixed)
    rest.seek(second.position)
    assert next(iter(rest)).X.toarray().tolist() == [[2, 0]]
    (tmp_path / "docword.a.txt").write_text("1\n1\n1\n1 1 1\n")
    with pytest.raises(InputError, match="holds counts"):
        followed(tmp_path, 2, batch_size=1, vocabulary=fixed)


def test_a_limit_ends_where_it_says(files, tmp_path):
    fixed = Vocabulary(WORDS.tolist())
    batches = list(stream(files / "all.txt", batch_size=5, limit=7, vocabulary=fixed))
    assert [batch.X.shape[0] for batch in batches] == [5, 2]
    rest = stream(files / "all.txt", batch_size=200, vocabulary=fixed)
    rest.seek(batches[-1].position)
    left = next(iter(rest)).X
    assert (left != fixed.count(TEXTS[7:])).nnz == 0


def test_what_was_read_before_a_bad_line_counts_for_any_threads(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "tea"}\n' * 100 + "bad\n")
    for n_jobs in (1, 2, 3):
        taken = []
        with pytest.raises(InputError, match="line 101"):
            taken.extend(batch.X.shape[0] for batch in stream(path, batch_size=10, n_jobs=n_jobs))
        assert sum(taken) == 100


def test_a_file_that_was_replaced_is_read_from_its_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    path = tmp_path / "log.txt"
    path.write_text("tea\n" * 5)
    batches = iter(stream(path, batch_size=5, follow=True, vocabulary=Vocabulary(["tea", "cup"])))
    assert next(batches).X.sum(axis=0).tolist() == [5, 0]
    (tmp_path / "new.txt").write_text("cup\n" * 10)
    (tmp_path / "new.txt").rename(path)
    assert next(batches).X.sum(axis=0).tolist() == [0, 5]
    assert next(batches).X.sum(axis=0).tolist() == [0, 5]
