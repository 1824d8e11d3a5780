"""Parquet: text columns, and error messages about columns of another type."""

import numpy as np
import polars as pl
import pytest

from opelda.corpus import read as read_corpus
from opelda.corpus import stream
from opelda.corpus.formats import FORMATS
from opelda.errors import InputError
from tests.cases import cases
from tests.corpus.formats.test_text_formats import read


def test_columns_are_read_as_text(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "text": ["tea", None, "cup"],
        "n": [1, None, 3],
        "words": [["a", "b"], None, []],
        "raw": [b"x", b"y", None],
        "kind": pl.Series(["x", None, "y"], dtype=pl.Categorical),
    }
    pl.DataFrame(columns).write_parquet(path)
    assert read("parquet", path, block_size=2) == ["tea", "", "cup"]
    assert read("parquet", path, True, name_column="n")[1] == ["1", "", "3"]
    assert read("parquet", path, text_columns=("words", "n", "kind")) == ["a b 1 x", "  ", " 3 y"]
    with pytest.raises(InputError, match=r"type Binary in its column 'raw', but texts must be"):
        read("parquet", path, text_columns=("raw",))
    with pytest.raises(InputError, match="has no column 'id'"):
        read("parquet", path, name_column="id")


@cases("others", [{}, {"id": ["a"]}, {"id": ["a"], "note": ["b"]}, {"n": [1]}])
@cases(
    ("values", "kind"),
    [
        ([b"tea"], "Binary"),
        ([{"a": "tea"}], "Struct"),
        ([[1, 2]], "List"),
        ([7], "Int64"),
    ],
)
def test_non_text_column_named_text_is_rejected(values, kind, others, tmp_path):
    """The column exists, so the message does not suggest naming it."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"text": values, **others}).write_parquet(path)
    if kind == "Int64" and list(others) == ["id"]:  # the only column of strings is the text
        with pytest.warns(UserWarning, match="the text is read from 'id', not from 'text'"):
            assert read("parquet", path) == ["a"]
        return
    with pytest.raises(InputError) as error:
        read("parquet", path)
    message = str(error.value)
    assert f"type {kind}" in message
    assert "in its column 'text', but texts must be of type String; convert it" in message


def test_lists_of_words_are_joined(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"id": ["a", "b"], "text": [["no", "tea"], []]}).write_parquet(path)
    assert read("parquet", path) == ["no tea", ""]


def test_parquet_needs_a_file_path(tmp_path):
    with pytest.raises(InputError, match="cannot be read as Parquet; pass the path of a file"):
        read("parquet", b"PAR1")
    with pytest.raises(InputError, match="There is no file"):
        read("parquet", tmp_path / "none.parquet")
    with pytest.raises(InputError, match="is a folder"):
        read("parquet", tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(
        InputError, match=r"is corrupted or not a Parquet file \(.*\); restore the file"
    ):
        read("parquet", tmp_path / "a.parquet")


def test_counts_round_trip(tmp_path):
    path = tmp_path / "counts.parquet"
    rng = np.random.default_rng(0)
    words = [f"word {i}" for i in range(30)]
    X = rng.poisson(0.2, (40, 30)).astype(np.float32)
    X[[0, 7, 39]] = 0
    X[1, 2] = 2.5
    X[2] = X[2] + (X.sum(axis=0) == 0)  # a word that no document has is not written
    written = read_corpus(X, column_words=words)
    FORMATS["parquet"].write(written, str(path))
    found = read_corpus(path, min_df=1, max_df=1.0)
    assert found.words == tuple(sorted(words))
    order = [written.words.index(word) for word in found.words]
    assert (found.X.toarray() == X[:, order]).all()
    assert pl.read_parquet(path).columns == ["document", "word", "count"]
    batches = list(stream(path, batch_size=7))
    assert [batch.X.shape[0] for batch in batches] == [7] * 5 + [5]
    again = stream(path, batch_size=7)
    again.seek(batches[2].position)
    assert sum(batch.X.sum() for batch in again) == pytest.approx(X[21:].sum())
    with pytest.raises(InputError, match="has no words to write as Parquet; choose mm or npz"):
        FORMATS["parquet"].write(read_corpus(X), str(path))


def test_invalid_counts_are_rejected(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {"document": [0, 0], "word": ["tea", "cup"], "count": [1.0, -2.0]}
    pl.DataFrame(columns).write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet"):
        read_corpus(path)
    pl.DataFrame(columns | {"count": ["x", "y"]}).write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet is corrupted"):
        read_corpus(path)
