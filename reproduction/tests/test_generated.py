"""Generated collections by name, and test documents in given splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.errors import InputError
from reproduction import generated as module
from reproduction.generated import SHAPES, generated, parse
from reproduction.split_files import read_split_files
from tests.cases import cases


@pytest.mark.parametrize("seed", range(1))
@cases("shape", SHAPES)
def test_the_published_shape(shape, monkeypatch, seed):
    monkeypatch.setattr(module, "BLOCK", 2000)
    kind = SHAPES[shape]
    X = generated(shape, 2000, seed=seed)
    assert X.shape == (2000, kind.n_words)
    assert X.nnz / 2000 == pytest.approx(kind.n_distinct, rel=0.05)
    assert X.sum() / 2000 == pytest.approx(kind.n_tokens, rel=0.05)
    assert (X.data.dtype, X.indices.dtype) == (np.float32, np.int32)
    assert X.data.min() >= 1
    same_row = np.diff(np.repeat(np.arange(2000), np.diff(X.indptr))) == 0
    assert (np.diff(X.indices.astype(np.int64))[same_row] > 0).all()


def test_smaller_collections_are_prefixes_of_larger_ones(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 40)
    whole = generated("small", 130, seed=3).toarray()
    for n_docs in (1, 39, 40, 41, 120):
        assert np.array_equal(generated("small", n_docs, seed=3).toarray(), whole[:n_docs])
    assert not np.array_equal(generated("small", 130, seed=4).toarray(), whole)
    assert not np.array_equal(whole[:40], whole[40:80])


@given(st.sampled_from(sorted(SHAPES)), st.integers(1, 2**31 - 1))
def test_names_contain_shape_and_number(shape, n_docs):
    assert parse(f"generated:{shape}:{n_docs}") == (shape, n_docs)
    assert parse(f"generated:{shape}") == (shape, SHAPES[shape].n_docs)


@cases(
    "name",
    [
        *("tweets", "nyt:", "nyt:0", "nyt:-3", "nyt:1e3", "nyt:3:4", "nyt:9999999999", "", "nyt:²"),
        "nyt:" + "1" * 5000,
    ],
)
def test_bad_collection_names_are_rejected(name):
    with pytest.raises(InputError, match="generated:"):
        parse(f"generated:{name}")


def write_split(folder, X, rng, name, first_id):
    held = rng.binomial(X, 0.4)
    for part, counts in (("part_1", X - held), ("part_2", held)):
        lines = []
        for row in counts:
            pairs = [f"{word + first_id}:{row[word]}" for word in np.flatnonzero(row)]
            lines.append(" ".join([str(len(pairs)), *pairs]))
        (folder / f"{name}_{part}.txt").write_text("\n".join(lines) + "\n")
    return X - held, held


@pytest.fixture
def counts():
    """Documents in which the first and the last words do not occur, and others of their kind."""
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(200, 0.3)) * 60
    weights[[0, 1, -2, -1]] = 0
    return rng.poisson(weights, (30, 200)), rng.poisson(weights, (80, 200))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "the_voca.txt").write_text("".join(f"word{i}\n" for i in range(200)))
    return tmp_path


@pytest.mark.parametrize("first_id", [0, 1])
def test_splits_are_read_unchanged(folder, counts, first_id):
    X, others = counts
    rng = np.random.default_rng(1)
    written = [write_split(folder, X, rng, f"test_{n}", first_id) for n in range(3)]
    found = read_split_files(folder)
    assert found.words == [f"word{i}" for i in range(200)]
    # the word ids allow both: only the other documents decide
    assert found.first_id(sparse.csr_array(others)) == first_id
    for pair, expected in zip(found.splits(first_id), written, strict=True):
        for part, whole in zip(pair, expected, strict=True):
            assert np.array_equal(part.toarray(), whole)


@pytest.mark.parametrize(("first_id", "word"), [(0, 0), (1, 199)])
def test_edge_word_determines_the_first_id(folder, counts, first_id, word):
    X, others = counts
    X[3, word] = 2
    write_split(folder, X, np.random.default_rng(1), "a", first_id)
    found = read_split_files(folder)
    misleading = sparse.csr_array(np.roll(others, 1 - 2 * first_id, axis=1))
    assert found.first_id(misleading) == first_id
    with pytest.raises(InputError, match=f"say first_id={first_id}"):
        found.splits(1 - first_id)


@pytest.mark.parametrize("first_id", [0, 1])
def test_word_ids_beyond_the_vocabulary_are_rejected(folder, counts, first_id):
    X, _ = counts
    X[3, 0] = X[4, -1] = 2
    write_split(folder, X, np.random.default_rng(1), "a", 1)
    (folder / "a_part_1.txt").write_text("1 0:3\n" * len(X))
    with pytest.raises(InputError, match="words from 0 to 200, one more than the 200"):
        read_split_files(folder).splits(first_id)


def test_missing_parts_are_named(folder, counts):
    with pytest.raises(InputError, match="NAME_part_1"):
        read_split_files(folder / "gone")
    X, _ = counts
    write_split(folder, X, np.random.default_rng(1), "a", 1)
    (folder / "a_part_2.txt").rename(folder / "b_part_2.txt")
    with pytest.raises(InputError, match=r"no file .*a_part_2"):
        read_split_files(folder)
    (folder / "b_part_2.txt").rename(folder / "a_part_2.txt")
    write_split(folder, X[:7], np.random.default_rng(1), "c", 1)
    with pytest.raises(InputError, match=r"c_part_1.txt has 7 documents and .* 30"):
        read_split_files(folder)
    (folder / "the_voca.txt").write_text("one\ntwo\n")
    with pytest.raises(InputError, match=r"has the word \d+, but the vocabulary"):
        read_split_files(folder)
    (folder / "the_voca.txt").unlink()
    with pytest.raises(InputError, match="no vocabulary"):
        read_split_files(folder)


@cases("at_once", [700, 8192, 9000, 30_000])
def test_parts_of_any_size_equal_the_whole_collection(at_once):
    parts = list(module.drawn("small", 20_000, 3, at_once))
    assert [part.shape[0] for part in parts[:-1]] == [at_once] * (len(parts) - 1)
    whole = generated("small", 20_000, 3)
    assert (sparse.vstack(parts) != whole).nnz == 0
