"""User errors give one sentence on stderr and an exit code, and change no file."""

import errno
import gzip
import shlex
import signal

import pytest
from polars.exceptions import PanicException

import opelda
from opelda import _store
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from tests.cases import cases

MISTAKES = {
    "unknown command": (["nothing"], "No such command"),
    "unknown option": (["fit", "t.txt", "--nope"], "No such option"),
    "missing argument": (["fit"], "Missing argument"),
    "invalid number": (["fit", "t.txt", "-k", "many"], "-k"),
    "zero topics": (["fit", "t.txt", "-k", "0"], "-k"),
    "missing file": (["fit", "missing.txt"], "missing.txt"),
    "unknown learner": (["fit", "t.txt", "--learner", "magic"], "online-ope"),
    "sweeps of a learner without sweeps": (
        ["fit", "t.txt", "--sweeps", "3", "--learner", "online-vb"],
        "--sweeps",
    ),
    "negative sweeps": (["fit", "t.txt", "--sweeps", "-1"], "--sweeps"),
    "unknown preset": (["fit", "t.txt", "--preset", "slow"], "--preset"),
    "preset and learner": (
        ["fit", "t.txt", "--preset", "best", "--learner", "ml-ope"],
        "--learner",
    ),
    "too few iterations": (["fit", "t.txt", "--iterations", "1"], "--iterations"),
    "unknown inference method": (["fit", "t.txt", "--transform-method", "magic"], "magic"),
    "held-out documents without words": (["fit", "t.txt", "--valid", "blank.txt"], "blank.txt"),
    "stream with preset and learner": (
        ["stream", "t.txt", "--checkpoint", "c", "--preset", "fast", "--learner", "online-vb"],
        "--learner",
    ),
    "transform with an unknown method": (
        ["transform", "m.opelda", "t.txt", "--transform-method", "magic"],
        "magic",
    ),
    "continue with sweeps": (
        ["fit", "t.txt", "--continue", "m.opelda", "--sweeps", "3"],
        "--sweeps",
    ),
    "unknown format": (["fit", "t.txt", "--format", "word"], "word"),
    "invalid min-df": (["fit", "t.txt", "--min-df", "some"], "--min-df"),
    "unknown stop word language": (["fit", "t.txt", "--stop-words", "klingon"], "klingon"),
    "missing stop word file": (["fit", "t.txt", "--stop-words", "gone.txt"], "gone.txt"),
    "unknown stemmer": (["fit", "t.txt", "--stem", "klingon"], "klingon"),
    "invalid pattern": (["fit", "t.txt", "--pattern", "("], "("),
    "negative prior": (["fit", "t.txt", "--alpha", "-1"], "--alpha"),
    "invalid on-error": (["fit", "t.txt", "--on-error", "cry"], "--on-error"),
    "unknown encoding": (["fit", "t.txt", "--encoding", "utf-99"], "utf-99"),
    "output is a folder": (["fit", "t.txt", "-o", "folder"], "folder"),
    "output in a missing folder": (["fit", "t.txt", "-o", "gone/m.opelda"], "gone"),
    "output is the input": (["fit", "t.txt", "-o", "t.txt"], "input itself"),
    "output is not a model": (["fit", "t.txt", "-o", "other.txt"], "not a model"),
    "empty corpus": (["fit", "empty.txt"], "empty.txt"),
    "texts for a model without words": (
        ["transform", "plain.opelda", "t.txt"],
        "no words",
    ),
    "continue with other columns": (["fit", "t.txt", "--continue", "plain.opelda"], "columns"),
    "corpus without words": (["fit", "blank.txt"], "no words"),
    "other columns": (["evaluate", "plain.opelda", "t.txt"], "columns"),
    "truncated gzip": (["fit", "cut.txt.gz"], "cut.txt.gz"),
    "wrong encoding": (["fit", "latin.txt"], "latin.txt"),
    "missing held-out documents": (["fit", "t.txt", "--valid", "gone.txt"], "gone.txt"),
    "continue a missing model": (["fit", "t.txt", "--continue", "gone.opelda"], "gone.opelda"),
    "continue with a preset": (
        ["fit", "t.txt", "--continue", "m.opelda", "--preset", "fast"],
        "--preset",
    ),
    "continue with a seed": (["fit", "t.txt", "--continue", "m.opelda", "--seed", "1"], "--seed"),
    "continue with topics": (["fit", "t.txt", "--continue", "m.opelda", "-k", "9"], "-k"),
    "continue with a prior": (["fit", "t.txt", "--continue", "m.opelda", "--eta", "1"], "--eta"),
    "continue with a stemmer": (
        ["fit", "t.txt", "--continue", "m.opelda", "--stem", "en"],
        "--stem",
    ),
    "file and standard input": (["fit", "t.txt", "-"], "Standard input"),
    "missing model": (["topics", "gone.opelda"], "gone.opelda"),
    "text instead of a model": (["topics", "t.txt"], "t.txt"),
    "folder without a checkpoint": (["topics", "folder"], "without a checkpoint"),
    "unknown topic": (["topics", "m.opelda", "--only", "77"], "got 77"),
    "unknown rank": (["topics", "m.opelda", "--rank", "best"], "--rank"),
    "unknown sort order": (["topics", "m.opelda", "--sort", "best"], "--sort"),
    "lambda of another rank": (
        ["topics", "m.opelda", "--rank", "frex", "--lambda", "0.5"],
        "--lambda has no effect with --rank frex",
    ),
    "format of a model": (["info", "m.opelda", "--format", "csv"], "--format has no effect"),
    "limit without a source": (["info", "--limit", "5"], "--limit has no effect"),
    "stemmer for counts": (
        ["fit", "x.npz", "--continue", "plain.opelda", "--stem", "en"],
        "--stem",
    ),
    "unused name column": (["fit", "t.jsonl", "--name-column", "id"], "--name-column"),
    "name column of evaluate": (
        ["evaluate", "m.opelda", "t.jsonl", "--name-column", "id"],
        "--name",
    ),
    "lambda out of range": (["topics", "m.opelda", "--lambda", "2"], "--lambda"),
    "unknown table format": (["transform", "m.opelda", "t.txt", "-o", "t.ods"], "t.ods"),
    "compressed parquet": (
        ["transform", "m.opelda", "t.txt", "-o", "t.parquet.gz"],
        "t.parquet.gz",
    ),
    "table in a missing folder": (["transform", "m.opelda", "t.txt", "-o", "gone/t.csv"], "gone"),
    "table on the input": (["transform", "m.opelda", "t.csv", "-o", "t.csv"], "input itself"),
    "transform an empty file": (["transform", "m.opelda", "empty.txt"], "empty.txt"),
    "evaluate an empty file": (["evaluate", "m.opelda", "empty.txt"], "empty.txt"),
    "convert to an unknown suffix": (["convert", "t.txt", "t.what"], "--to"),
    "convert to an unknown format": (["convert", "t.txt", "t.what", "--to", "odd"], "odd"),
    "missing text column": (["fit", "t.jsonl", "--text-column", "body"], "body"),
    "stream without a checkpoint": (["stream", "t.txt"], "--checkpoint"),
    "fractional min-df of a stream": (
        ["stream", "t.txt", "--checkpoint", "c", "--min-df", "0.1"],
        "--min-df",
    ),
    "invalid interval": (["stream", "t.txt", "--checkpoint", "c", "--every", "5d"], "--every"),
    "invalid summary interval": (
        ["stream", "t.txt", "--checkpoint", "c", "--summary-every", "5d"],
        "--summary",
    ),
    "checkpoint is a file": (["stream", "t.txt", "--checkpoint", "t.txt"], "t.txt"),
    "info of a missing file": (["info", "gone.txt"], "gone.txt"),
}


@pytest.fixture
def folder(tmp_path, corpus_file, model_file):
    """Write files for wrong commands."""
    text = corpus_file.read_text()
    (tmp_path / "t.txt").write_text(text)
    (tmp_path / "t.csv").write_text("text\n" + text)
    (tmp_path / "t.jsonl").write_text('{"text": "star"}\n' * 9)
    (tmp_path / "other.txt").write_text("precious\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("1 2 3\n\n")
    (tmp_path / "latin.txt").write_bytes("caf\xe9 cr\xe8me\n".encode("latin-1") * 9)
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(text.encode())[:-40])
    (tmp_path / "m.opelda").write_bytes(model_file.read_bytes())
    plain = opelda.OnlineOPE(2, random_state=0).fit([[1, 2, 3], [3, 2, 1]])
    opelda.save(plain, tmp_path / "plain.opelda")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize("command", sorted({args[0] for args, _ in MISTAKES.values()}))
def test_user_errors_are_one_sentence(cli, folder, command):
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for name, (args, message) in MISTAKES.items():
        if args[0] != command:
            continue
        done = cli(*args)
        assert done.code == 2, (name, done.err)
        assert done.out == "", name
        assert done.err.startswith("opelda: "), name
        assert done.err.count("\n") <= 2, (name, done.err)  # a line on learning may come first
        last = done.err.splitlines()[-1]
        assert message in last, name
        assert last.endswith("."), name
        assert "Traceback" not in done.err, name
        after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        assert after == before, name


def test_debug_shows_a_traceback(cli, folder, monkeypatch):
    done = cli("topics", "gone.opelda", "--debug")
    assert done.code == 2
    assert "Traceback" in done.err
    monkeypatch.setenv("OPELDA_DEBUG", "1")
    assert "Traceback" in cli("topics", "gone.opelda").err


def test_unexpected_errors_ask_for_a_report(cli, folder, monkeypatch):
    monkeypatch.setattr(opelda.model_file, "load", lambda path: 1 / 0)
    done = cli("topics", "m.opelda", "--tree")
    assert done.code == 1
    assert done.err == (
        "opelda: unexpected error: ZeroDivisionError: division by zero; run again with --debug and "
        "report it.\n"
    )


@cases("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_out_of_memory_is_one_sentence(cli, folder, monkeypatch, error):
    def load(path):
        raise error

    monkeypatch.setattr(opelda.model_file, "load", load)
    done = cli("topics", "m.opelda", "--tree")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "Out of memory" in done.err


@cases(
    "error",
    [
        PanicException("index out of bounds"),
        RuntimeError("CUDA: an illegal memory access was encountered"),
        ImportError("memory.so: undefined symbol"),
    ],
)
def test_library_errors_are_unexpected_errors(cli, folder, monkeypatch, error):
    """Including messages that mention memory."""

    def load(path):
        raise error

    monkeypatch.setattr(opelda.model_file, "load", load)
    done = cli("topics", "m.opelda", "--tree")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert f"unexpected error: {type(error).__name__}: {error}" in done.err


@cases("name", ["n_iter", "batch_size", "learning_decay", "transform_method"])
def test_invalid_model_parameters_name_the_file(cli, folder, name):
    arrays, header, version = _store.read("plain.opelda", kind=KIND, newest=FORMAT)
    header["parameters"][name] = -1
    del header["checksum"]
    header["checksum"] = checksum(arrays, header)  # a valid checksum
    _store.write("bad.opelda", arrays, header, kind=KIND, version=version)
    for args in (
        ("transform", "bad.opelda", "t.txt"),
        ("fit", "t.txt", "--continue", "bad.opelda"),
        ("topics", "bad.opelda", "--tree"),
    ):
        done = cli(*args)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert done.err.startswith("opelda: bad.opelda is not a model")
        assert name in done.err
        assert "--" not in done.err


@cases(
    ("args", "message"),
    [
        (("-k", 0), "greater than or equal to 1"),
        (("-k", "ten"), "should be a valid integer"),
        (("--passes", -1), "greater than or equal to 1"),
        (("--alpha", "a"), "should be a valid number"),
        (("--limit", 0.5), "should be a valid integer"),
    ],
)
def test_invalid_option_values_are_rejected(cli, folder, args, message):
    done = cli("fit", "t.txt", *args)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith(f"opelda: Invalid value for '{args[0]}'") or args[0] == "-k"
    assert f"{message}" in done.err
    assert done.err.endswith("; see 'opelda fit --help'.\n")


def test_ctrl_c_while_reading_saves_nothing(cli, folder, monkeypatch):
    def read(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("opelda.corpus.read", read)
    done = cli("fit", "t.txt", "-o", "new.opelda")
    assert done.code == 130
    assert "no model was saved" in done.err
    assert not (folder / "new.opelda").exists()


def test_interrupted_fit_suggests_a_command_that_runs(cli, folder, monkeypatch):
    def fit(model, *args, fit=opelda.TopicModel.fit, **more):
        fit(model, *args, **more)
        signal.raise_signal(signal.SIGINT)

    (folder / "my texts.txt").write_bytes((folder / "t.txt").read_bytes())
    with monkeypatch.context() as patched:
        patched.setattr(opelda.TopicModel, "fit", fit)
        done = cli("fit", "my texts.txt", "-k", 2, "-o", "a model", "--quiet")
    assert done.code == 130
    command = shlex.split(done.err.splitlines()[-1].partition("Continue with: ")[2])
    assert command == ["opelda", "fit", "my texts.txt", "--continue", "a model"]
    assert cli(*command[1:]).code == 0


def test_signal_handlers_are_restored(cli, folder):
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    try:
        cli("fit", "t.txt", "-k", 2, "--preset", "fast")
        cli("stream", "t.txt", "--checkpoint", "c", "-k", 2)
        assert [signal.getsignal(number) for number in numbers] == [signal.SIG_DFL] * 2
    finally:
        for number, former in zip(numbers, before, strict=True):
            signal.signal(number, former)


def test_full_disk_keeps_the_old_model(cli, folder, monkeypatch):
    before = (folder / "m.opelda").read_bytes()

    def fsync(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fsync)
    done = cli("fit", "t.txt", "-k", 2, "-o", "m.opelda", "-q")
    assert done.code == 2
    assert "No space left" in done.err
    assert (folder / "m.opelda").read_bytes() == before
    table = cli("transform", "m.opelda", "t.txt", "-o", "t2.csv")
    assert table.code == 2
    assert not (folder / "t2.csv").exists()


def test_skipped_documents_are_reported(cli, folder):
    lines = ['{"text": "star galaxy orbit"}'] * 60
    lines[3] = lines[7] = "{broken"
    (folder / "b.jsonl").write_text("\n".join(lines))
    stopped = cli("fit", "b.jsonl", "-k", 2)
    assert stopped.code == 2
    assert "b.jsonl, line 4" in stopped.err
    assert "--on-error skip" in stopped.err
    done = cli("fit", "b.jsonl", "-k", 2, "--on-error", "skip", "--max-df", "1.0", "-v")
    assert done.code == 0
    assert "2 documents could not be read" in done.err
    assert "line 8" in done.err
    assert "58" in done.out


def test_help_has_examples_and_exits_with_0(cli):
    for name in ("fit", "stream", "topics", "transform", "evaluate", "convert", "info"):
        shown = cli(name, "--help")
        assert shown.code == 0
        assert f"opelda {name}" in shown.out
        assert "Examples" in shown.out
    assert "fit" in cli("--help").out
    assert cli("--version").out == f"opelda {opelda.__version__}\n"
    assert cli().code == 2
