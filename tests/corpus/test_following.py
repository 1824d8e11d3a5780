"""Following growing files, and folders that get new files."""

import gzip
import json
import threading
import time
from itertools import islice

import numpy as np
import pytest
from scipy import sparse

from opelda.corpus import Vocabulary, stream
from opelda.corpus.formats import Options
from opelda.corpus.formats._input import Input
from opelda.corpus.formats.texts import file_blocks
from opelda.corpus.sources import _followed
from opelda.errors import InputError
from tests.cases import cases

RNG = np.random.default_rng(0)
WORDS = np.array([f"w{i}" for i in range(60)])
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(0, 12))) for _ in range(60)]


@pytest.fixture(autouse=True)
def fast_polling(monkeypatch):
    monkeypatch.setattr(_followed, "POLL", 0.01)
    monkeypatch.setattr(_followed, "SETTLED", 0.0)


def followed(source, n_batches, **options):
    return list(islice(stream(source, follow=True, **options), n_batches))


def test_growing_file_is_followed(tmp_path):
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


def test_followed_folder_skips_binary_files(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK\3\4\0")
    (tmp_path / "b.txt").write_text("tea")
    batches = iter(stream(tmp_path, batch_size=1, follow=True, vocabulary=Vocabulary(["tea"])))
    assert next(batches).names == ["b.txt"]
    threading.Timer(0.05, (tmp_path / "c.txt").write_text, ["tea"]).start()
    with pytest.warns(UserWarning, match=r"^1 file skipped: a\.docx \(damaged\)\.$"):
        assert next(batches).names == ["c.txt"]


def test_truncated_file_is_read_from_the_start(tmp_path):
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


def test_new_files_are_read_once(tmp_path):
    fixed = Vocabulary(WORDS.tolist())

    def put(name, texts):
        (tmp_path / f".{name}").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
        (tmp_path / f".{name}").rename(tmp_path / name)

    put("b.jsonl", TEXTS[:12])
    batches = iter(stream(tmp_path, follow=True, batch_size=10, vocabulary=fixed))
    first = next(batches)
    put("a.jsonl", TEXTS[12:24])  # sorts first, but is new
    second = next(batches)
    assert (sparse.vstack([first.X, second.X]) != fixed.count(TEXTS[:20])).nnz == 0
    put("c.jsonl", TEXTS[24:30])
    again = stream(tmp_path, follow=True, batch_size=10, vocabulary=fixed)
    again.seek(json.loads(json.dumps(second.position)))
    assert (fixed.count(TEXTS[20:30]) != next(iter(again)).X).nnz == 0


@pytest.mark.parametrize("follow", [True, False])
def test_folder_position_is_small_and_forgets_deleted_files(tmp_path, follow):
    for number in range(300):
        (tmp_path / f"{number:060}.txt").write_text("tea")
    source = stream(tmp_path, batch_size=100, vocabulary=Vocabulary(["tea"]), follow=follow)
    position = [batch.position for batch in islice(source, 3)][-1]
    assert len(json.dumps(position)) < 300 * 11 + 100
    for path in sorted(tmp_path.iterdir())[:290]:
        path.unlink()
    for number in range(100):
        (tmp_path / f"new {number}").write_text("tea")
    source.seek(position)
    (last,) = islice(source, 1)
    assert last.X.shape[0] == 100
    assert len(json.dumps(last.position)) < 110 * 11 + 100


@cases("position", [{"done": "x"}, {"done": []}, {}, 3, "a"])
def test_invalid_folder_positions_are_rejected(tmp_path, position):
    (tmp_path / "a.txt").write_text("tea")
    source = stream(tmp_path, batch_size=1, vocabulary=Vocabulary(["tea"]))
    source.seek(position)
    with pytest.raises(InputError, match="not a valid position in a folder"):
        next(iter(source))


def test_new_text_files_are_one_document_each(tmp_path):
    for number, text in enumerate(TEXTS[:6]):
        (tmp_path / f"{number}.txt").write_text(text)
    fixed = Vocabulary(WORDS.tolist())
    batches = followed(tmp_path, 2, batch_size=3, vocabulary=fixed)
    assert (sparse.vstack([b.X for b in batches]) != fixed.count(TEXTS[:6])).nnz == 0


def test_compressed_files_cannot_be_followed(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"tea\n"))
    with pytest.raises(InputError, match="cannot be followed"):
        stream(tmp_path / "a.txt.gz", follow=True)


def test_partial_line_waits_for_its_end(tmp_path):
    path = tmp_path / "log.jsonl"
    line = json.dumps({"text": "tea é"}, ensure_ascii=False).encode() + b"\n"
    path.write_bytes(line * 5 + line[:-4])  # within a character
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


def test_bad_lines_of_a_growing_file_are_counted_once(tmp_path):
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


def test_following_resumes_from_a_read_position(tmp_path):
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


def test_files_of_a_followed_folder_may_be_deleted(tmp_path):
    (tmp_path / "1.txt").write_text("tea")
    (tmp_path / "2.jsonl").write_text('{"text": "cup"}\n' * 3)
    (tmp_path / "2.jsonl.vocab").write_text("cup\n")
    fixed = Vocabulary(["tea", "cup"])
    batches = iter(stream(tmp_path, follow=True, batch_size=1, vocabulary=fixed))
    first, second = next(batches), next(batches)
    assert first.position["file"] is None
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


def test_replaced_file_is_read_from_the_start(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("tea\n" * 5)
    batches = iter(stream(path, batch_size=5, follow=True, vocabulary=Vocabulary(["tea", "cup"])))
    assert next(batches).X.sum(axis=0).tolist() == [5, 0]
    (tmp_path / "new.txt").write_text("cup\n" * 10)
    (tmp_path / "new.txt").rename(path)
    assert next(batches).X.sum(axis=0).tolist() == [0, 5]
    assert next(batches).X.sum(axis=0).tolist() == [0, 5]


def test_folder_resumes_from_every_position(tmp_path):
    for name in "abcde":
        (tmp_path / f"{name}.txt").write_text("tea for two\n\nand cake")
    options = Options(block_size=3)
    blocks = list(file_blocks(Input.of(tmp_path), options))
    assert [len(block) for block in blocks] == [3, 2]
    for n, block in enumerate(blocks):
        left = file_blocks(Input.of(tmp_path), options, block.position)
        assert [len(rest) for rest in left] == [len(rest) for rest in blocks[n + 1 :]]
