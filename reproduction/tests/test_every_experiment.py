"""Properties of every experiment, their names, and errors before a run."""

import io
import json
import re

import pytest

from opelda.corpus import generate
from opelda.errors import InputError
from reproduction import NAMES, Settings, find_experiment, prepare, reproduce
from tests.cases import cases

SETTINGS = Settings.small(n_topics=3, n_test=20, n_passes=1)


@pytest.fixture(scope="module")
def data():
    return prepare(generate(120, n_words=30, n_topics=3).X, SETTINGS, label="generated")


def test_bad_arguments_are_rejected(data, tmp_path):
    with pytest.raises(InputError, match="no experiment 'magic'"):
        reproduce("magic", data, tmp_path)
    (tmp_path / "file").write_text("")
    for out in ("file", "file/below"):
        with pytest.raises(InputError, match="file"):
            reproduce("learning-time", data, tmp_path / out)


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_matches_its_name(name, data):
    found = find_experiment(name)
    assert found.name == name
    assert found.title
    assert found.place
    runs = found.runs(SETTINGS, data)
    named = [(run.measure.__qualname__, json.dumps(run.parameters)) for run in runs]
    assert len(set(named)) == len(named) > 0
    assert all(run.label for run in runs)
    assert found.judge([])
    found.draw([]).savefig(io.BytesIO(), format="svg")


@cases("name", NAMES)
def test_paper_numbers_are_names(name):
    found = find_experiment(name)
    numbered = re.match(r"(Figure|Table) (\d)", found.place)
    if numbered:
        kind, number = numbered.groups()
        assert find_experiment(f"{kind.lower()}-{number}") is found
        assert find_experiment(f"{kind}-{number}") is found


def test_every_figure_and_table_of_the_paper_has_an_experiment():
    names = [f"figure-{n}" for n in range(1, 6)] + ["table-1"]
    assert len({find_experiment(name).name for name in names}) == 6


@cases("name", ["figure-6", "table-2", "figure", "section-5", "", "Figure 3"])
def test_unknown_name_lists_the_known_ones(name):
    with pytest.raises(InputError) as caught:
        find_experiment(name)
    told = str(caught.value)
    assert all(known in told for known in NAMES)
    assert "sensitivity (figure-3)" in told
    assert "methods-table (table-1)" in told
    assert told.count(".") == 1
