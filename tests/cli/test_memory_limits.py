"""Commands under a limit of the address space, far too low to enough: a sentence or a success."""

import re

import pytest

from opelda.cli._ending import sentence
from tests.cli.conftest import make_texts

resource = pytest.importorskip("resource")

COMMANDS = {
    "read": "convert texts.txt corpus.mtx",
    "fit": "fit texts.txt -k 5 -o new.opelda",
    "transform": "transform {model} texts.txt -o mixtures.parquet",
    "stream": "stream texts.txt -k 5 --checkpoint state",
    "look": "topics {model}",
    "report": "report {model} texts.txt -o page.html --no-stability",
}
FEW, ENOUGH = [30, 100, 150, 250, 500, 900], 16_000
MANY = [*range(20, 400, 20), *range(400, 3_000, 50), 4_000, ENOUGH]


def run(process, tmp_path, model_file, name, megabytes):
    """Run a command that may have so much; return whether it succeeded."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    (tmp_path / "texts.txt").write_text("\n".join(make_texts(3_000)))
    words = COMMANDS[name].format(model=model_file).split()
    done = process(*words, preexec_fn=limit)
    where = f"{name} with {megabytes} MB: {done.stderr[-2000:]}"
    assert done.returncode in (0, 2), where  # a signal is a negative number, a surprise 1
    assert done.returncode == 0 or re.fullmatch(
        r"opelda: .*memory.*\.\n|opelda: .*address "
        r"space.*\.\n",
        done.stderr,
    ), where
    return done.returncode == 0


@pytest.mark.parametrize("megabytes", FEW)
def test_too_little_is_said_in_a_sentence(process, tmp_path, model_file, megabytes):
    assert not run(process, tmp_path, model_file, "fit", megabytes)


@pytest.mark.parametrize(("limit", "is_memory"), [(20 << 20, True), (8 << 30, False), (-1, False)])
def test_what_python_says_under_a_hopeless_limit_is_of_memory(monkeypatch, limit, is_memory):
    """Its parser, when nothing is left, finds fields missing that are there."""
    monkeypatch.setattr("opelda.corpus._address_space._limit", lambda: limit)
    said = sentence(ValueError("field 'target' is required for AnnAssign"))
    assert ("memory" in said) is is_memory
    assert "memory" not in sentence(FileNotFoundError(2, "No such file", "a.txt"))


@pytest.mark.heavy
@pytest.mark.parametrize("name", COMMANDS)
def test_every_limit_ends_in_a_sentence_or_a_success(process, tmp_path, model_file, name):
    ends = {limit: run(process, tmp_path, model_file, name, limit) for limit in MANY}
    assert ends[ENOUGH]
    print(
        f"{name}: {len(ends)} limits, {sum(ends.values())} successes, from "
        f"{min(limit for limit, success in ends.items() if success)} MB on"
    )
