"""`--embeddings` of `opelda fit` and `opelda transform`."""

import json

import numpy as np
import pytest

import opelda
from opelda import TopicModel
from opelda.corpus import read
from tests.cases import cases


@pytest.fixture
def folder(tmp_path, texts):
    """Texts, a vector each in a file, and both in one table."""
    E = np.random.default_rng(0).standard_normal((len(texts), 5)).round(3)
    np.save(tmp_path / "e.npy", E)
    (tmp_path / "t.txt").write_text("".join(f"{text}\n" for text in texts))
    rows = ({"text": text, "e": row} for text, row in zip(texts, E.tolist(), strict=True))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_a_file_and_a_column_are_as_in_python(cli, folder):
    X, E = read(folder / "t.txt"), np.load(folder / "e.npy")
    model = TopicModel(3, random_state=0, n_sweeps=2).fit(X, embeddings=E)
    wanted = model.transform(X, embeddings=E)
    for corpus, vectors in (("t.txt", "e.npy"), ("t.jsonl", "e")):
        more = ("--embeddings", vectors, *(("-t", "text") if "json" in corpus else ()))
        fitted = cli("fit", corpus, "-k", 3, "--sweeps", 2, "-o", "m", "--quiet", *more)
        assert fitted.code == 0, fitted.err
        assert np.array_equal(opelda.load(folder / "m").components_, model.components_)
        groups = json.loads(cli("info", "m", "--json").out)["groups"]
        assert (groups["number"], groups["of"]) == (3, "words and embeddings")
        assert groups["strength"] == pytest.approx(model._state.groups.strength)
        done = cli("transform", "m", corpus, "--dense", *more)
        assert done.code == 0, done.err
        found = [json.loads(line)["theta"] for line in done.out.splitlines()]
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@cases(
    ("args", "said"),
    [
        (("t.txt", "--embeddings", "short.npy"), "has 239 rows, but there are 240"),
        (("t.txt", "--embeddings", "long.npy"), "has 480 rows, but there are 240"),
        (("t.txt", "--embeddings", "none.npy"), "not a .npy file"),
        (("t.txt", "--embeddings", "t.npy"), "not a .npy file"),
        (("t.jsonl", "-t", "text", "--embeddings", "text"), "list of numbers for each document"),
        (("t.jsonl", "-t", "text", "--embeddings", "other"), "other"),
        (("t.txt", "--continue", "m", "--embeddings", "e.npy"), "no effect with --continue"),
        (("t.txt", "--embeddings", "e.npy", "--groups", "0"), "no effect with n_groups=0"),
    ],
)
def test_wrong_vectors_are_refused(cli, folder, args, said):
    E = np.load(folder / "e.npy")
    np.save(folder / "short.npy", E[:-1])
    np.save(folder / "long.npy", np.r_[E, E])
    (folder / "t.npy").write_text("1, 2, 3")
    done = cli("fit", *args, "-o", "new")
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert not (folder / "new").exists()
