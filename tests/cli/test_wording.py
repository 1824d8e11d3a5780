"""Messages name options instead of parameters, and keep the user's names."""

import re
from pathlib import Path

import typer

from opelda.cli import app
from opelda.cli._exit import OPTIONS, as_option, sentence
from opelda.errors import EngineError, InputError, ModelFileError
from tests.cases import cases

TRANSFORMS = ("transform", "evaluate", "serve", "report")  # commands with --max-loss


def commands():
    return typer.main.get_command(app).commands.values()


def test_all_mapped_options_exist():
    known = {opt for command in commands() for param in command.params for opt in param.opts}
    known |= {opt for command in commands() for p in command.params for opt in p.secondary_opts}
    assert set(OPTIONS.values()) <= known


def test_parameter_has_one_option_in_all_commands():
    for command in commands():
        for param in command.params:
            if param.param_type_name == "option" and param.name != "help":
                assert OPTIONS[param.name] in param.opts


@cases(
    ("name", "option"),
    [
        ("min_df", "--min-df"),
        ("n_components", "--topics"),
        ("n_topics", "--topics"),
        ("n_words", "--words"),
        ("n_jobs", "--jobs"),
        ("doc_topic_prior", "--alpha"),
        ("lambda_", "--lambda"),
        ("seeds", "--seed-words"),
        ("random_state", "--seed"),
        ("text_column", "--text-column"),
        ("every", "--every"),
    ],
)
def test_messages_name_options_for_parameters(name, option):
    assert sentence(InputError("must be 1, got 2.", name)) == f"{option} must be 1, got 2."
    advice = InputError(f"Odd; give {{{name}}}.", None, **{name: "a b"})
    assert sentence(advice) == f"Odd; give {option} a b."
    plain = InputError(f"Odd; give {{{name}}}.", None, **{name: ...})
    assert sentence(plain) == f"Odd; give {option}."


def test_other_parameters_are_unchanged():
    assert as_option("y") == "y"
    assert sentence(InputError("must hold counts.", "X")) == "X must hold counts."


@cases("kind", [InputError, ModelFileError, EngineError])
def test_names_of_the_user_are_unchanged(kind):
    text = "min_df_data.txt has min_df=3 and 'the n_iter'; look at it."
    assert sentence(kind(text)) == text


@cases(
    ("args", "message"),
    [
        (("--alpha", "-1"), "--alpha must be positive"),
        (("--eta", "0"), "--eta must be positive"),
        (("--iterations", "1"), "--iterations must be a whole number, from 2"),
        (("--iterations", "1", "--learner", "ml-ope"), "--iterations must be a whole number"),
        (("--preset", "slow"), "--preset must be 'best', 'fast' or 'paper'"),
        (("--learner", "magic"), "--learner must be one of"),
        (("--seed", "4294967296"), "--seed must be"),
    ],
)
def test_command_errors_name_options(cli, corpus_file, args, message):
    done = cli("fit", corpus_file, "-k", 2, *args)
    assert done.code == 2
    assert message in done.err.splitlines()[-1]


@cases(
    ("loss", "message"),
    [
        ("abc", "--max-loss must be a number of nats such as 0.01 or 0.0001/token, not 'abc'"),
        ("-1/token", "--max-loss"),
        ("-1", "--max-loss must be"),
    ],
)
def test_invalid_max_loss_is_rejected(cli, corpus_file, model_file, loss, message):
    done = cli("transform", model_file, corpus_file, "--max-loss", loss)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err
    assert cli("transform", model_file, corpus_file, "--max-loss", "0.001/token").code == 0


def test_guarantee_is_stated_for_the_likelihood(cli):
    """`max_loss` bounds the likelihood of the observed words; such mixtures may predict worse."""
    root = Path(__file__).parents[2]
    paths = [path for folder in ("src", "docs", "page/src") for path in (root / folder).rglob("*")]
    for path in (root / "README.md", *paths):
        if path.suffix in (".md", ".py", ".js") and "node_modules" not in path.parts:
            text = " ".join(path.read_text("utf-8").split())
            assert not re.search(
                "best mixture|best (one )?there (is|are)|nats of the best", text
            ), path
    for text in ((root / "README.md").read_text(), *(cli(c, "--help").out for c in TRANSFORMS)):
        assert "short texts" in " ".join(re.sub("[│\\s]+", " ", text).split())


def test_reading_errors_name_options(cli, tmp_path):
    (tmp_path / "min_df_data.txt").write_bytes("caf\xe9\n".encode("latin-1") * 9)
    (tmp_path / "t.jsonl").write_text('{"a": "x y", "b": "z"}\n' * 9)
    (tmp_path / "odd.bin").write_bytes(b"\0\1\2" * 99)
    output = cli("fit", "min_df_data.txt").err
    assert "min_df_data.txt, line 1" in output
    assert "--encoding latin-1" in output
    assert "--on-error skip" in output
    assert "select one with --text-column" in cli("fit", "t.jsonl").err
    assert "--format lines." in cli("fit", "odd.bin").err
