"""Events on the command line: JSON Lines, a command per event, and changes of topics."""

import json
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from opelda.cli._callbacks import EventCommands as Commands
from opelda.cli._callbacks import EventLines as Lines
from opelda.learning import Event
from opelda.learning.streaming import _watch, _window
from tests.cases import cases

OPTIONS = ("-k", 3, "--batch-size", 50, "--every", 5)
N_BEFORE = 2500


@pytest.fixture
def feed(monkeypatch, themes):
    """Texts of three themes; one theme grows and has a new word."""
    monkeypatch.setattr(_watch, "BLOCK", 50)
    monkeypatch.setattr(_window, "MOST_DOCS", 1000)
    chance = random.Random(0)
    kinds = chance.choices(range(3), k=N_BEFORE) + chance.choices(range(3), [8, 1, 1], k=800)
    texts = []
    for number, kind in enumerate(kinds):
        more = ["quasar"] if kind == 0 and number >= N_BEFORE else []
        texts.append(" ".join(chance.choices(themes[kind], k=8) + more))
    return texts


@pytest.fixture
def streamed(cli):
    def run(folder, texts, *more):
        text = "\n".join(texts) + "\n"
        return cli("stream", "-", "--checkpoint", folder, *OPTIONS, *more, stdin=text)

    return run


def without_time(line):
    return {name: value for name, value in json.loads(line).items() if name != "time"}


def test_stdout_has_only_events(streamed, feed):
    done = streamed("c", feed, "--events", "-")
    assert done.code == 0
    events = [json.loads(line) for line in done.out.splitlines()]
    assert {"topic rising", "new words"} <= {event["kind"] for event in events}
    rising = next(event for event in events if event["kind"] == "topic rising")
    assert rising["document"] > N_BEFORE
    assert "star" in rising["words"]
    assert rising["numbers"]["share"] > rising["numbers"]["share_before"]
    assert rising["time"].endswith("+00:00")
    assert "is rising after" in done.err


def test_resumed_streams_write_each_event_once(streamed, feed, tmp_path):
    assert streamed("whole", feed, "-q", "--events", "whole.jsonl").code == 0
    for end in (2000, 2600, 2600, 2750, len(feed)):
        assert streamed("parts", feed[:end], "-q", "--events", "parts.jsonl").code == 0
    whole, parts = ((tmp_path / f"{n}.jsonl").read_text().splitlines() for n in ("whole", "parts"))
    assert list(map(without_time, parts)) == list(map(without_time, whole))
    files = [(tmp_path / n / "checkpoint.opelda").read_bytes() for n in ("whole", "parts")]
    assert files[0] == files[1]


def report(*events):
    return SimpleNamespace(events=events)


def test_event_file_has_no_duplicates_after_a_restart(tmp_path):
    path = tmp_path / "e.jsonl"
    first, second = (Event("new words", n, 1, {"share": 0.1}, ("tea",), 5.0) for n in (10, 20))
    begun, gone_on = SimpleNamespace(), SimpleNamespace(_state=1)
    for model, events in ((begun, [first]), (gone_on, [first, second])):
        lines = Lines(str(path), [])
        lines.begin(model)
        lines(report(*events))
        lines.end(model)
    assert [json.loads(line)["document"] for line in path.read_text().splitlines()] == [10, 20]
    with open(path, "a") as file:
        file.write('{"kind": "new wo')  # a kill during a write
    lines = Lines(str(path), [])
    lines.begin(begun)  # another stream may have equal events
    lines(report(first))
    lines.end(begun)
    assert json.loads(path.read_text().splitlines()[-1])["document"] == 10


def test_command_receives_each_event(streamed, feed, tmp_path):
    done = streamed("c", feed, "-q", "--events", "e.jsonl", "--on-event", "cat >> got; echo hi")
    assert done.code == 0
    assert done.out == ""
    assert (tmp_path / "got").read_text() == (tmp_path / "e.jsonl").read_text() != ""


def test_failing_command_is_reported_once(streamed, feed):
    done = streamed("c", feed, "--on-event", "exit 3")
    assert done.code == 0
    assert done.err.count("the command of --on-event ended with 3; the stream continues.") == 1


def test_command_reads_the_event_and_writes_to_stderr(capfd):
    commands = Commands("echo heard; cat")
    commands.begin(None)
    commands(report(Event("new topic", 5, 1)))
    commands.end(None)
    out, err = capfd.readouterr()
    assert out == ""
    heard, line = err.splitlines()
    assert (heard, json.loads(line)["document"]) == ("heard", 5)


def test_slow_command_does_not_block_the_stream(capsys, tmp_path):
    commands = Commands(f"while [ ! -e {tmp_path / 'go'} ]; do sleep 0.01; done", 3, 0.1)
    commands.begin(None)
    event = Event("new topic", 5, 1)
    commands(report(*[event] * 20))  # returns at once
    commands.end(None)
    (tmp_path / "go").touch()
    err = capsys.readouterr().err
    assert err.count("events arrive faster than --on-event handles events") == 1
    assert "is still running; opelda does not wait" in err
    left_out = int(err.split(" events dropped")[0].split()[-1])
    assert 19 <= left_out <= 20  # without the running one


def test_topics_since_reports_changes(streamed, feed, cli):
    streamed("c", feed, "-q")
    moved = cli("topics", "c", "--since", 800)
    assert moved.code == 0
    assert f" documents to {len(feed):,}, largest changes:\n" in moved.out
    assert "quasar" in moved.out
    assert "is rising after" in moved.out
    lately = json.loads(cli("topics", "c", "--since", 800, "--json").out)["topics"]
    assert any("quasar" in topic["came"] and "star" in topic["words"] for topic in lately)
    assert not any("quasar" in topic["went"] for topic in lately)
    output = json.loads(cli("topics", "c", "--since", "1d", "--json").out)
    assert output["documents"] == len(feed)
    about_stars = [topic for topic in output["topics"] if "star" in topic["words"]]
    star = max(about_stars, key=lambda topic: topic["share"])
    assert star["share"] > star["share_before"]
    assert all(event["time"] is not None for event in output["events"])
    assert {"topic rising", "new words"} <= {event["kind"] for event in output["events"]}


@cases(
    ("args", "message"),
    [
        (("topics", "MODEL", "--since", "1x"), "--since must be a whole number or a time"),
        (("topics", "MODEL", "--since", "10"), "This model has no history"),
        (("topics", "MODEL", "--since", "1h"), "stores no times; pass a number of documents"),
        (
            ("topics", "MODEL", "--since", "5", "--only", "1"),
            "combine it only with --words and --json",
        ),
        (("stream", "T", "--checkpoint", "c", "--on-event", " "), "needs a command to run"),
        (("stream", "T", "--checkpoint", "c", "--events", "T"), "is the input itself"),
        (("stream", "T", "--checkpoint", "c", "--events", "no"), "exists and has no events"),
        (("stream", "T", "--checkpoint", "c", "--events", "x/y"), "does not exist"),
        (
            ("stream", "T", "--checkpoint", "c", "--events", "-", "--preset", "fast"),
            "this learner does not use",
        ),
    ],
)
def test_errors_are_one_sentence(cli, args, message, model_file, corpus_file):
    Path("no").write_text("some notes\n")
    names = {"MODEL": model_file, "T": corpus_file}
    done = cli(*(names.get(arg, arg) for arg in args))
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert Path("no").read_text() == "some notes\n"
