"""The page on learning names what there is and quotes what its script prints."""

import contextlib
import importlib.util
import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "learning.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)


@pytest.fixture(scope="module")
def figures():
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("learning_figures", DOCS / "learning_figures.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)  # for figure_style.py beside it
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def drawn(figures, tmp_path_factory):
    """What the script draws and prints, from the measurements in the repository."""
    folder = tmp_path_factory.mktemp("figures")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr("sys.argv", ["learning_figures.py", "--out", str(folder)])
        figures.main()
    return folder, printed.getvalue()


def test_the_page_names_every_learner_and_every_rule():
    from opelda.learning import LEARNERS
    from opelda.learning._rules import RULES

    for name in [*LEARNERS, *(rule.__name__ for rule in RULES.values())]:
        assert f"`{name}`" in PAGE


def test_every_figure_is_shown_on_the_page(figures):
    assert {Path(picture).stem for picture in PICTURES} == set(figures.FIGURES)


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_are_small_and_carry_no_date(picture):
    text = (DOCS / picture).read_text(encoding="utf-8")
    ET.fromstring(text)
    assert len(text) < 100_000
    assert "dc:date" not in text


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_are_what_the_script_draws(picture, drawn, check_picture):
    check_picture(DOCS / picture, drawn[0] / Path(picture).name)


def test_page_quotes_the_script(drawn):
    lines = drawn[1].splitlines()
    assert lines[-1].split(": ")[1] in PAGE
    section = PAGE.split("## What the settings do")[1].split("\n## ")[0]
    quoted = re.findall(r"-\d\.\d{3}", section)
    assert len(quoted) == 3
    assert [score for score in quoted if score not in drawn[1]] == []
    [kept] = [line for line in lines if line.startswith("| StreamingOPE, S = 1,000")]
    assert re.findall(r"\((\d+)\)", kept) == ["14", "76"]
    assert "76 instead of 14" in section


def test_claims_about_the_measurements(figures):
    runs = figures.read()
    assert f"from {len(runs)} models" in PAGE
    decays = figures.by_decay(runs)
    for size in (250, 500, 1000, 2500, 5000, 10_000):
        for decay in (0.6, 0.7):
            better = decays[decay][size]["LPP"] - decays[0.9][size]["LPP"]
            assert 0.02 <= better < 0.065
    best = [max(sizes.values(), key=score) for sizes in figures.by_learner(runs).values()]
    found = [(run["learner"], run["batch_size"]) for run in best]
    assert found == [("OnlineOPE", 500), ("MLOPE", 2500), ("StreamingOPE", 250)]
    sizes = {max(runs.values(), key=score)["batch_size"] for runs in decays.values()}
    assert sizes == {500, 1000}
    ml = [run["incoherent topics"] for run in runs if run["learner"] == "MLOPE"]
    assert max(ml) == 2
    seeds = [run for run in runs if run["sweep"] == "seeds"]
    assert min(seeds, key=score)["random_state"] == 0
    incoherent = {run["incoherent topics"] for run in seeds}
    assert (min(incoherent), max(incoherent)) == (6, 12)


def score(run):
    return run["LPP"]
