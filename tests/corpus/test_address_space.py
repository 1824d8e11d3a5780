"""Reading under a limit of the address space: a sentence or a success, never a signal."""

import subprocess
import sys

import pytest

from opelda.corpus import Vocabulary, read
from opelda.corpus import _address_space as address_space
from opelda.errors import InputError

resource = pytest.importorskip("resource")

READ = """
import sys
from opelda.errors import InputError
try:
    from opelda.corpus import read
    print(len(read(sys.argv[1])))
except InputError as error:
    print(error)
    sys.exit(3)
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    words = [f"word{i}" for i in range(3_000)]
    lines = (" ".join(words[i * 7 % 2900 : i * 7 % 2900 + 80]) for i in range(10_000))
    path.write_text("\n".join(lines) + "\n")
    return path


def limited(command, megabytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, resource.RLIM_INFINITY))

    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)


@pytest.mark.parametrize("megabytes", [600, 800, 1000, 1300, 1600, 8000])
def test_reading_ends_with_a_sentence_or_an_answer(texts, megabytes):
    ran = limited([sys.executable, "-c", READ, str(texts)], megabytes)
    assert ran.returncode in (0, 3), ran.stderr[-500:]
    assert len(ran.stdout.splitlines()) == 1
    assert ran.stdout.strip() == "10000" if ran.returncode == 0 else "address space" in ran.stdout
    assert ran.returncode == 0 or megabytes < 8000


@pytest.mark.parametrize("megabytes", [600, 1000])
def test_the_command_line_says_so_in_one_line(texts, tmp_path, megabytes):
    command = [sys.executable, "-m", "opelda", "fit", str(texts), "-o", str(tmp_path / "m.opelda")]
    ran = limited(command, megabytes)
    assert ran.returncode == 2
    assert "address space" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_no_limit_asks_for_nothing(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    address_space.check_reading(10**15)


class PanicException(BaseException):
    """As that of polars, which is no Exception."""


@pytest.mark.parametrize(
    "error", [PanicException("null"), MemoryError(), RuntimeError("can't start new thread")]
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_want_of_memory_is_an_input_error(error, n_jobs):
    def texts():
        yield "tea"
        yield "cup"
        raise error

    with pytest.raises(InputError, match="for want of memory"):
        read(texts(), n_jobs=n_jobs)
    with pytest.raises(ValueError, match="else"), address_space.memory_errors():
        raise ValueError("something else")


def test_counting_texts_needs_no_more_than_before():
    assert Vocabulary(["tea"]).count(["tea"] * 200).sum() == 200
