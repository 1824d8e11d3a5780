"""Engines of commands: a missing GPU is one error message."""

import sys

import pytest

from opelda.engines.cuda import _device as _cuda_device


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    _cuda_device.device_of.cache_clear()
    path = tmp_path / "texts.txt"
    path.write_text("topic models learn words\nwords of models\ntopics learn from words\n" * 5)
    return path


def test_missing_gpu_is_one_error(cli, texts):
    done = cli("fit", texts, "-k", 2, "--engine", "cuda", "-o", "m.opelda")
    assert done.code != 0
    assert done.err.splitlines()[-1] == (
        "opelda: The engine 'cuda' needs CuPy, which cannot be imported; run "
        "pip install 'opelda[cuda]', or use the engine 'cpu'."
    )
    assert not (texts.parent / "m.opelda").exists()


def test_auto_engine_falls_back_to_the_cpu(cli, texts):
    done = cli("fit", texts, "-k", 2, "--engine", "auto", "--preset", "fast", "-o", "m.opelda")
    assert done.code == 0
    assert (texts.parent / "m.opelda").exists()
