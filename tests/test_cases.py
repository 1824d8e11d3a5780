"""Tables of cases: every row runs, a failure names its row, and rows share no state."""

import pytest

from tests.cases import cases


def test_every_row_runs_and_a_failure_names_its_row():
    seen = []

    @cases("first", [1, 2])
    @cases(("second", "third"), [("a", 0), ("b", 0)], ids=["letter a", "letter b"])
    def check(first, second, third):
        seen.append((first, second, third))
        assert (first, second) != (2, "b")

    with pytest.raises(AssertionError) as caught:
        check()
    assert seen == [(1, "a", 0), (1, "b", 0), (2, "a", 0), (2, "b", 0)]
    notes = caught.value.__notes__
    assert notes == ["in row 1, second, third: letter b", "in row 1, first: 2"]


def test_an_expected_error_that_is_missing_names_its_row():
    @cases("text", ["x", "1"])
    def check(text):
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(pytest.fail.Exception) as caught:
        check()
    assert caught.value.__notes__ == ["in row 1, text: '1'"]


@cases("name", ["a", "b"])
def test_rows_share_no_folder_and_no_patch(tmp_path, monkeypatch, name):
    assert not list(tmp_path.iterdir())
    (tmp_path / name).touch()
    monkeypatch.setenv("OPELDA_ROW", name, prepend=":")  # after a patch of the row before: "a:b"
    import os

    assert os.environ["OPELDA_ROW"] == name
