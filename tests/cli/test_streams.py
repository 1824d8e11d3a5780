"""`opelda stream`: a stopped stream resumes with identical bytes."""

import json
import os
import sys

import pytest

import opelda
from opelda.corpus import stream
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE

OPTIONS = ("-k", 3, "--batch-size", 20, "--every", 2, "-q")


@pytest.fixture
def piped(cli, texts):
    def run(folder, *more, lines=None):
        text = "\n".join(texts if lines is None else lines) + "\n"
        return cli("stream", "-", "--checkpoint", folder, *more, stdin=text)

    return run


def test_stream_from_stdin(piped, tmp_path):
    done = piped("c", "-k", 3, "--batch-size", 20, "-o", "m.opelda", "--summary-every", 100)
    assert done.code == 0
    assert done.err.count("topic  weight") == 3  # after the first update, 100 and 200 documents
    assert done.err.startswith("opelda: 20 docs, ")  # and a line after the first update
    assert "240 documents" in done.err
    assert "opelda topics m.opelda" in done.err
    model = opelda.load("m.opelda")
    assert model.n_docs_seen_ == 240
    assert model.vocabulary_.growing
    assert model.vocabulary_.max_features == 100_000


def test_stopped_stream_resumes_with_identical_bytes(piped, texts, tmp_path):
    assert piped("whole", *OPTIONS).code == 0
    for end in (60, 100, 240):
        assert piped("parts", *OPTIONS, lines=texts[:end]).code == 0
    assert (tmp_path / "parts" / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()


def test_resumed_stream_keeps_its_options(piped, texts):
    piped("c", *OPTIONS, "--stem", "english", "--learner", "streaming-ope", lines=texts[:100])
    done = piped("c")
    assert done.code == 0
    assert "resuming from c after 100 documents" in done.err
    model = opelda.load(f"c/{FILE}")
    assert (type(model).__name__, model.n_components, model.batch_size) == ("StreamingOPE", 3, 20)
    assert model.n_docs_seen_ == 240
    assert model.vocabulary_.tokenizer.stem == "english"


def test_resuming_with_other_options_is_rejected(piped, texts, tmp_path):
    piped("c", *OPTIONS, lines=texts[:100])
    before = (tmp_path / "c" / FILE).read_bytes()
    for options, message in (
        (("-k", 4), "with --topics 3"),
        (("--learner", "ml-ope"), "without --learner"),
        (("--preset", "fast"), "with --preset best"),
        (("--seed", 1), "with --seed 0"),
        (("--iterations", 30), "with --iterations 20"),
        (("--stem", "english"), "different tokenizer options"),
        (("--max-features", 7), "different tokenizer options"),
        (("--min-df", 3), "different tokenizer options"),
        (("--batch-size", 30), "with --batch-size 20"),
        (("--eta", 0.5), "without --eta"),
        (("--alpha", 0.5), "without --alpha"),
    ):
        done = piped("c", *options)
        assert done.code == 2, options
        assert message in done.err, options
        assert (tmp_path / "c" / FILE).read_bytes() == before, options


def test_resuming_with_the_same_options_is_accepted(piped, texts):
    """Including the options that the preset chose."""
    piped("c", *OPTIONS, lines=texts[:100])
    given = ("--preset", "best", "--iterations", 20, "--seed", 0)
    done = piped("c", *OPTIONS, *given, "--transform-method", "same", "--json")
    assert json.loads(done.out)["documents"] == 240
    assert opelda.load(f"c/{FILE}").transform_method == "same"


@pytest.mark.parametrize("options", [("--preset", "fast"), ("--learner", "ml-ope"), ()])
def test_stream_gives_the_topics_of_the_library(piped, options, tmp_path, texts):
    assert piped("c", "-k", 3, *options, "-q").code == 0
    ours = opelda.load(f"c/{FILE}")
    make = {"--preset": opelda.TopicModel(3, preset="fast"), "--learner": opelda.MLOPE(3)}
    model = make[options[0]] if options else opelda.TopicModel(3)
    (tmp_path / "t.txt").write_text("\n".join(texts) + "\n")
    source = stream(tmp_path / "t.txt", batch_size=model._schedule().batch_size)
    theirs = model.set_params(random_state=0).fit_stream(source)
    assert ours.components_.tobytes() == theirs.components_.tobytes()
    assert ours.vocabulary_.words == theirs.vocabulary_.words


def test_stdin_may_continue_after_the_last_line(piped, texts):
    piped("c", *OPTIONS, lines=texts[:100])
    done = piped("c", "--json", lines=texts[100:])
    assert json.loads(done.out)["documents"] == 240
    assert (
        "standard input has different contents than before and is read from the start" in done.err
    )


def test_stdin_may_repeat_the_last_lines(piped, texts):
    piped("c", *OPTIONS, lines=texts[:100])
    done = piped("c", "--json", lines=texts[90:])
    assert json.loads(done.out)["documents"] == 240
    assert "standard input begins with the last 10 lines that were read before" in done.err


def test_documents_before_a_bad_line_are_committed(cli, texts, tmp_path, monkeypatch):
    """Stdin is a system pipe, whose lines come once."""

    def piped(text, *more):
        reading, writing = os.pipe()  # holds 64 KiB
        os.write(writing, text.encode())
        os.close(writing)
        with open(reading) as pipe:
            monkeypatch.setattr(sys, "stdin", pipe)
            return cli("stream", "-", "--checkpoint", "c", *OPTIONS[:4], "--every", 100, *more)

    records = [json.dumps({"text": text}) for text in texts[:50]]
    done = piped("\n".join([*records, "bad"]))
    assert done.code == 2
    assert "c has the model after 50 documents" in done.err
    assert "line 51 is not JSON" in done.err
    assert opelda.load(tmp_path / "c" / FILE).n_docs_seen_ == 50
    done = piped("\n".join(records) + "\n" + records[0], "--json")
    assert json.loads(done.out)["documents"] == 51
    assert "standard input begins as before: the first 50 lines were read already" in done.err


def test_rotated_log_is_reported(cli, texts, tmp_path):
    log = tmp_path / "log"
    log.write_text("\n".join(texts[:100]) + "\n")
    cli("stream", log, "--checkpoint", "c", *OPTIONS, "--limit", 60)
    log.rename(tmp_path / "log.1")
    log.write_text("\n".join(texts[100:]) + "\n")
    done = cli("stream", log, "--checkpoint", "c", "--json")
    assert json.loads(done.out)["documents"] == 240
    assert f"than the file that was read up to line 60; {log}.1 is read to its end" in done.err
    log.write_text("\n".join(texts[:50]) + "\n")
    done = cli("stream", log, "--checkpoint", "c", "--json")
    assert json.loads(done.out)["documents"] == 290
    assert "which is missing; all lines are read as new" in done.err


def test_stream_tokenizes_like_fit(cli, piped, corpus_file):
    piped("c", *OPTIONS)
    cli("fit", corpus_file, "-k", 3, "-o", "m.opelda", "--preset", "fast", "-q")
    streamed, fitted = (opelda.load(path).vocabulary_ for path in (f"c/{FILE}", "m.opelda"))
    assert streamed.tokenizer == fitted.tokenizer
    assert set(streamed) >= set(fitted)
    assert "the" not in streamed


def test_file_resumes_after_the_limit(cli, corpus_file):
    first = cli("stream", corpus_file, "--checkpoint", "c", *OPTIONS, "--limit", 100, "--json")
    assert json.loads(first.out)["documents"] == 100
    found = json.loads(cli("stream", corpus_file, "--checkpoint", "c", "--json").out)
    assert (found["documents"], found["stopped"], found["model"]) == (240, False, None)


def test_checkpoint_is_a_model(cli, piped):
    piped("c", *OPTIONS)
    assert json.loads(cli("info", "c", "--json").out)["documents_seen"] == 240
    assert len(cli("topics", "c").out.splitlines()) == 4


def test_empty_input_is_an_error(piped):
    done = piped("c", lines=[])
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_words_need_min_df_documents(piped, texts):
    lines = [f"{text} rare{i % 30} more{i % 20}" for i, text in enumerate(texts)]  # 8 and 12
    assert piped("one", *OPTIONS, "--min-df", 1, lines=lines).code == 0
    assert piped("nine", *OPTIONS, "--min-df", 9, lines=lines).code == 0
    one, nine = (set(opelda.load(name).vocabulary_) for name in ("one", "nine"))
    assert one - nine == {f"rare{i}" for i in range(30)}
    done = piped("share", *OPTIONS, "--min-df", "0.1")
    assert done.code == 2
    assert "--min-df must be a whole number, at least 1, got 0.1" in done.err
    done = piped("time", *OPTIONS[:-3], "--every", "5 days")
    assert done.code == 2
    assert "--every must be a whole number or a time such as 30s" in done.err
