"""What holds for each of the experiments, and what stops them all before they begin."""

import io
import json
import sys

import pytest

from opelda.corpus import generate
from opelda.errors import InputError
from opelda.experiments import NAMES, Settings, experiment, prepare, reproduce

pytest.importorskip("matplotlib")

SETTINGS = Settings.small(n_topics=3, n_test=20, n_passes=1)


@pytest.fixture(scope="module")
def data():
    return prepare(generate(120, n_words=30, n_topics=3).X, SETTINGS, label="generated")


def test_mistakes(data, tmp_path):
    with pytest.raises(InputError, match="no experiment 'magic'"):
        reproduce("magic", data, tmp_path)
    (tmp_path / "file").write_text("")
    for out in ("file", "file/below"):
        with pytest.raises(InputError, match="file"):
            reproduce("learning-time", data, tmp_path / out)


def test_figures_need_matplotlib(data, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "opelda.experiments._plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match="install it"):
        reproduce("learning-time", data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_is_what_its_name_says(name, data):
    found = experiment(name)
    assert found.name == name
    assert found.title
    assert found.place
    runs = found.runs(SETTINGS, data)
    named = [(run.measure.__qualname__, json.dumps(run.parameters)) for run in runs]
    assert len(set(named)) == len(named) > 0
    assert all(run.label for run in runs)
    assert found.judge([])
    found.draw([]).savefig(io.BytesIO(), format="svg")
