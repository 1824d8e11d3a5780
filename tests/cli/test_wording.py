"""Messages speak of options, and leave the user's own names alone."""

import pytest

from opelda.cli._wording import PARAMETERS, WORDS, with_options


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_is_an_option(name):
    option = PARAMETERS[name]
    assert with_options(f"{name} must be 1, got 2.") == f"{option} must be 1, got 2."
    assert (
        with_options(f"It is within {name}, or ({name}).")
        == f"It is within {option}, or ({option})."
    )
    assert with_options(f"Say {name}=3; or {name}='a b'.") == f"Say {option} 3; or {option} a b."
    assert with_options(f"It depends on {name}.") == f"It depends on {option}."


@pytest.mark.parametrize("name", WORDS)
def test_a_word_is_an_option_where_it_is_used_as_one(name):
    assert with_options(f"Give the file's with {name}=.") == f"Give the file's with --{name}."
    assert with_options(f"Say {name}='x-1', or what.") == f"Say --{name} x-1, or what."
    assert with_options(f"{name} must be given.") == f"--{name} must be given."
    for plain in (f"The {name} is what it is.", f"{name} has 3 lines.", f"a, {name}, b."):
        assert with_options(plain) == plain


@pytest.mark.parametrize(
    "text",
    [
        "min_df_data.txt is empty.",
        "min_df.txt is empty; look at it.",
        "data/min_df, line 3 is empty.",
        "min_df/data.txt is empty.",
        "There is no file or folder 'min_df'; check the path.",
        "There is no file or folder 'the min_df of n_iter'; check the path.",
        "my-min_df is empty.",
        "a=text=b.txt, line 3 is empty.",
        "/data/text=1/x.txt is empty.",
        "text=1/x.txt is empty.",
        "min_df=3.txt is empty.",
        "The word 'text=' is there; and \"min_df\" too.",
    ],
)
def test_names_are_left_alone(text):
    assert with_options(text) == text


def test_apostrophes_are_no_quotes():
    said = "give the vocabulary's encoding, for example encoding='latin-1', or the texts' min_df."
    assert with_options(said) == (
        "give the vocabulary's encoding, for example --encoding latin-1, or the texts' --min-df."
    )


def test_in_commands(cli, tmp_path):
    (tmp_path / "min_df_data.txt").write_bytes("caf\xe9\n".encode("latin-1") * 9)
    (tmp_path / "t.jsonl").write_text('{"a": "x y", "b": "z"}\n' * 9)
    (tmp_path / "odd.bin").write_bytes(b"\0\1\2" * 99)
    said = cli("fit", "min_df_data.txt").err
    assert "min_df_data.txt, line 1" in said
    assert "--encoding latin-1" in said
    assert "--on-error skip" in said
    assert "name it with --text-column" in cli("fit", "t.jsonl").err
    assert "--format lines." in cli("fit", "odd.bin").err
