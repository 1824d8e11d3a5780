"""Every experiment on a tiny collection: plain rows, a figure, and no verdict from few updates."""

import json

import pytest

from opelda.corpus import generate
from reproduction import NAMES, Settings, find_experiment, prepare
from reproduction.plots import LOOKS, style
from tests.cases import cases

FEW = "too few updates to judge"
# a collection of the size of NIPS in one mini-batch of the paper's: an update a pass
SETTINGS = Settings.small(n_topics=3, n_test=30, n_jobs=1, n_iter=5, batch_size=5000, n_passes=2)


@pytest.fixture(scope="module")
def measured():
    """The rows of every experiment after very few updates."""
    X = generate(150, n_words=40, n_topics=3, n_tokens=10).X
    data = prepare(X, SETTINGS, label="few")
    found = {}
    for name in NAMES:
        runs = find_experiment(name).runs(SETTINGS, data)
        if name == "methods-table":  # only its quality is learned
            runs = runs[-1:]
        found[name] = [
            row
            for run in runs
            for row in run.measure(data, SETTINGS, lambda share: None, **run.parameters)
        ]
    return found


@cases("name", NAMES)
def test_too_few_updates_get_no_verdict(measured, name):
    verdicts = find_experiment(name).judge(measured[name])
    assert {verdict.outcome for verdict in verdicts} == {"not tested"}
    judged_by_topics = verdicts[-1:] if name == "methods-table" else verdicts
    assert all(FEW in verdict.why for verdict in judged_by_topics)


@cases("name", NAMES)
def test_enough_updates_get_a_verdict(measured, name):
    """The same rows, as if they came of more updates."""
    rows = [row | {"updates": 20} for row in measured[name] if "updates" in row]
    if name == "inference-time":
        rows = [row | {"batch": row["batch"] + 16} for row in measured[name]]
    assert rows
    assert not any(FEW in verdict.why for verdict in find_experiment(name).judge(rows))


def test_too_large_batches_are_left_out_of_the_sweep():
    lpp = {100: -8.0, 500: -7.5, 1000: -7.0, 5000: -9.0}
    rows = [
        {"learner": learner, "parameter": "batch_size", "value": float(size), "as_set": False}
        | {"seed": 0, "documents": 20_000, "updates": 20_000 // size, "lpp": value, "npmi": 0.1}
        for learner in ("ML-OPE", "Online-OPE")
        for size, value in lpp.items()
    ]
    verdict = find_experiment("sensitivity").judge(rows)[0]
    assert verdict.outcome == "reproduced"  # 5000 would have spoilt it
    assert "5000" in verdict.why
    assert FEW in verdict.why


@pytest.mark.parametrize("n_rows", [10**6, 1])
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_plain_and_figures_show_them(measured, name, n_rows):
    rows = json.loads(json.dumps(measured[name][:n_rows], allow_nan=False))
    assert rows == measured[name][:n_rows]
    with style():
        figure = find_experiment(name).draw(rows)
        figure.draw_without_rendering()
    assert figure.get_figwidth() <= 11
    assert all(axes.get_xlabel() for axes in figure.axes)
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(set(labels)) == len(labels) > 0
    drawn = {line.get_label(): line for axes in figure.axes for line in axes.lines}
    for label in drawn.keys() & LOOKS.keys():
        assert drawn[label].get_color() == LOOKS[label].colour
