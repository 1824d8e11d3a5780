"""Web texts: markup, additional stop words and reported markup words."""

import pytest

import opelda
from opelda.corpus import Tokenizer
from opelda.corpus.text import _languages

TWEET = "RT @bob: <b>Cats</b> &amp; the dogs https://t.co/x\n"
BOUNDS = ("--min-df", "1", "--max-df", "100%", "--preset", "fast")


@pytest.fixture
def fitted(cli, tmp_path):
    (tmp_path / "t.txt").write_text(TWEET * 60)
    (tmp_path / "more.txt").write_text("cats\n")
    (tmp_path / "other.txt").write_text("Dogs\nthe\n")

    def fit(*options):
        done = cli("fit", "t.txt", "-k", 2, *BOUNDS, *options, "-o", "m")
        assert done.code == 0, done.err
        return done, opelda.load("m").vocabulary_

    return fit


def test_keep_markup_makes_words_of_markup(fitted):
    done, words = fitted("--stop-words", "none")
    assert set(words) == {"cats", "dogs", "the"}
    assert "mark-up" not in done.err
    done, words = fitted("--stop-words", "none", "--keep-markup")
    assert set(words) == {"cats", "dogs", "the", "rt", "bob", "amp", "https", "co"}
    assert (
        "these words look like markup: amp, https, rt; exclude them with --stop-words +FILE."
        in (done.err)
    )
    assert "mark-up" not in fitted("--keep-markup", "-q")[0].err


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("en+more.txt", {"dogs"}),
        ("+more.txt", {"dogs"}),  # the detected language is English
        ("none+more.txt", {"dogs", "the"}),
        ("none+more.txt+other.txt", set()),
        ("other.txt+more.txt", set()),
        ("other.txt", {"cats"}),
    ],
)
def test_files_extend_stop_words(fitted, cli, given, expected, tmp_path):
    (tmp_path / "t.txt").write_text(TWEET * 60 + "and what is this to you or me, birds?\n")
    _, words = fitted("--stop-words", given)
    assert set(words) & {"cats", "dogs", "the"} == expected
    (tmp_path / "more.txt").unlink()  # the words are saved, not the path
    assert cli("transform", "m", "t.txt", "-o", "theta.csv").code == 0
    assert Tokenizer.from_dict(words.tokenizer.to_dict()) == words.tokenizer


def test_missing_stop_word_file_is_named(cli, tmp_path):
    (tmp_path / "t.txt").write_text(TWEET)
    done = cli("fit", "t.txt", "--stop-words", "en+gone.txt")
    assert done.code == 2
    assert "gone.txt" in done.err
    done = cli("convert", "t.txt", "gone.mtx", "--stop-words", "klingon+t.txt")
    assert done.code == 2


def test_file_name_with_a_plus(fitted, tmp_path):
    (tmp_path / "c++.txt").write_text("cats\n")
    assert set(fitted("--stop-words", "c++.txt")[1]) == {"dogs", "the"}


def test_stop_word_file_is_not_overwritten(cli, tmp_path):
    (tmp_path / "t.txt").write_text(TWEET)
    (tmp_path / "stop.mtx").write_text("cats\n")
    done = cli("convert", "t.txt", "stop.mtx", "--stop-words", "en+stop.mtx")
    assert done.code == 2
    assert "the input itself" in done.err
    assert (tmp_path / "stop.mtx").read_text() == "cats\n"


def test_info_and_stream_report_markup_words(cli, tmp_path):
    (tmp_path / "t.txt").write_text("galaxies colspan stars br br\nplanets of stars br\n" * 600)
    line = "these words look like markup: br, colspan; exclude them with --stop-words +FILE."
    assert line in cli("info", "t.txt").err
    options = ("--checkpoint", "state", "-k", 2, "--preset", "fast", "--batch-size", 500)
    done = cli("stream", "t.txt", *options)
    assert done.err.count(line) == 1, done.err


def test_resumed_stream_keeps_markup(cli, tmp_path):
    """Like a stream of a version without the option."""
    (tmp_path / "t.txt").write_text(TWEET * 60)
    command = ("stream", "t.txt", "--checkpoint", "state", "-k", 2, "--preset", "fast")
    assert cli(*command, "--stop-words", "en", "--keep-markup").code == 0
    (tmp_path / "t.txt").write_text(TWEET * 60 + "&euro; one\n" * 20)
    assert cli(*command, "--stop-words", "none").code == 2
    assert cli(*command, "--stop-words", "en").code == 0
    words = opelda.load("state").vocabulary_
    assert {"bob", "euro"} <= set(words)
    assert words.tokenizer.keep_markup


@pytest.mark.parametrize(("words", "named"), [("div", ""), ("nbsp", "nbsp"), ("div td", "div, td")])
def test_ambiguous_markup_word_alone_is_not_reported(cli, tmp_path, words, named):
    (tmp_path / "t.txt").write_text(f"the {words} of the company is up\n" * 20)
    output = cli("info", "t.txt").err
    assert (f"markup: {named};" in output) if named else ("markup" not in output)


def test_rare_markup_word_is_not_reported(cli, tmp_path):
    (tmp_path / "t.txt").write_text("galaxies of stars\n" * 500 + "br\n" * 4)
    assert "mark-up" not in cli("info", "t.txt").err


def test_phrases_option_joins_phrases(cli, tmp_path):
    lines = [f"word{n % 7} word{n % 5} health care word{n % 3}" for n in range(200)]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    for command in ("fit t.txt -o m", "stream t.txt --checkpoint m2 --batch-size 100 --min-df 1"):
        bounds = BOUNDS[2:] if command.startswith("fit") else BOUNDS[4:]
        done = cli(*command.split(), "-k", 2, *bounds, "--stop-words", "en", "--phrases")
        assert done.code == 0, done.err
        words = opelda.load("m" if command.startswith("fit") else "m2").vocabulary_
        assert "health care" in words
        assert "care" not in words
    assert cli("stream", "t.txt", "--checkpoint", "m2", "-k", 2, *BOUNDS[4:], "--phrases").code == 0
    assert cli("fit", "t.txt", "--phrases", "--ngrams", 2).code == 2


def test_detected_language_is_reported(cli, tmp_path, monkeypatch):
    (tmp_path / "t.txt").write_text("Der Hund und die Katze sind nicht da, das Haus auch\n" * 60)
    fit = ("fit", "t.txt", "-k", 2, *BOUNDS)
    assert "words (German stop words left out): 2 topics" in cli(*fit, "-v").err
    monkeypatch.setattr(_languages, "languages", lambda: {"en": "english"})  # without the extra
    for command in (fit, ("stream", "t.txt", "--checkpoint", "s", *fit[2:4])):
        output = cli(*command).err.splitlines()
        assert [line for line in output if "language" in line or "stop words" in line] == [
            "opelda: The texts seem to be German, whose stop words are not installed and stay in: "
            "pip install 'opelda[languages]'."
        ]
    assert cli(*fit, "-q").err == ""
