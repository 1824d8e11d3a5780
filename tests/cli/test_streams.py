"""`opelda stream`: the same bytes whether it was stopped or not."""

import json

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


def test_from_standard_input(piped, tmp_path):
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


def test_stopped_and_begun_again_is_as_if_never_stopped(piped, texts, tmp_path):
    assert piped("whole", *OPTIONS).code == 0
    for end in (60, 100, 240):
        assert piped("parts", *OPTIONS, lines=texts[:end]).code == 0
    assert (tmp_path / "parts" / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()


def test_going_on_needs_no_options_again(piped, texts):
    piped("c", *OPTIONS, "--stem", "english", "--learner", "streaming-ope", lines=texts[:100])
    done = piped("c")
    assert done.code == 0
    assert "going on from c after 100 documents" in done.err
    model = opelda.load(f"c/{FILE}")
    assert (type(model).__name__, model.n_components, model.batch_size) == ("StreamingOPE", 3, 20)
    assert model.n_docs_seen_ == 240
    assert model.vocabulary_.tokenizer.stem == "english"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-k", 4), "with --topics 3"),
        (("--learner", "ml-ope"), "without --learner"),
        (("--preset", "fast"), "with --preset best"),
        (("--seed", 1), "with --seed 0"),
        (("--iterations", 30), "with --iterations 20"),
        (("--stem", "english"), "options for texts"),
        (("--max-features", 7), "options for texts"),
        (("--min-df", 3), "options for texts"),
        (("--batch-size", 30), "with --batch-size 20"),
        (("--eta", 0.5), "without --eta"),
        (("--alpha", 0.5), "without --alpha"),
    ],
)
def test_going_on_with_other_options_is_refused(piped, texts, options, said, tmp_path):
    piped("c", *OPTIONS, lines=texts[:100])
    before = (tmp_path / "c" / FILE).read_bytes()
    done = piped("c", *options)
    assert done.code == 2
    assert said in done.err
    assert (tmp_path / "c" / FILE).read_bytes() == before


def test_going_on_with_the_same_options_is_no_matter(piped, texts):
    """Also with those that the preset had chosen."""
    piped("c", *OPTIONS, lines=texts[:100])
    given = ("--preset", "best", "--iterations", 20, "--seed", 0)
    done = piped("c", *OPTIONS, *given, "--transform-method", "same", "--json")
    assert json.loads(done.out)["documents"] == 240
    assert opelda.load(f"c/{FILE}").transform_method == "same"


@pytest.mark.parametrize("options", [("--preset", "fast"), ("--learner", "ml-ope"), ()])
def test_a_stream_is_learned_as_the_library_would(piped, options, tmp_path, texts):
    assert piped("c", "-k", 3, *options, "-q").code == 0
    ours = opelda.load(f"c/{FILE}")
    make = {"--preset": opelda.TopicModel(3, preset="fast"), "--learner": opelda.MLOPE(3)}
    model = make[options[0]] if options else opelda.TopicModel(3)
    (tmp_path / "t.txt").write_text("\n".join(texts) + "\n")
    source = stream(tmp_path / "t.txt", batch_size=model._schedule().batch_size)
    theirs = model.set_params(random_state=0).fit_stream(source)
    assert ours.components_.tobytes() == theirs.components_.tobytes()
    assert ours.vocabulary_.words == theirs.vocabulary_.words


def test_standard_input_may_go_on_where_it_stopped(piped, texts):
    piped("c", *OPTIONS, lines=texts[:100])
    done = piped("c", "--json", lines=texts[100:])
    assert json.loads(done.out)["documents"] == 240
    assert "standard input is not what was read before: all of it is new" in done.err


def test_the_last_lines_of_standard_input_may_come_again(piped, texts):
    piped("c", *OPTIONS, lines=texts[:100])
    done = piped("c", "--json", lines=texts[90:])
    assert json.loads(done.out)["documents"] == 240
    assert "standard input begins with the last 10 lines that were read before" in done.err


def test_what_came_before_a_bad_line_is_committed(process, texts, tmp_path):
    records = [json.dumps({"text": text}) for text in texts[:50]]
    command = ("stream", "-", "--checkpoint", "c", *OPTIONS[:4], "--every", 100)
    done = process(*command, input="\n".join([*records, "bad"]), stdin=None)
    assert done.returncode == 2
    assert "c holds what was learned from 50 documents" in done.stderr
    assert "line 51 is not JSON" in done.stderr
    assert opelda.load(tmp_path / "c" / FILE).n_docs_seen_ == 50
    done = process(*command, "--json", input="\n".join(records) + "\n" + records[0], stdin=None)
    assert json.loads(done.stdout)["documents"] == 51
    assert "standard input begins as before: the first 50 lines were read already" in done.stderr


def test_a_rotated_log_is_told_of(cli, texts, tmp_path):
    log = tmp_path / "log"
    log.write_text("\n".join(texts[:100]) + "\n")
    cli("stream", log, "--checkpoint", "c", *OPTIONS, "--limit", 60)
    log.rename(tmp_path / "log.1")
    log.write_text("\n".join(texts[100:]) + "\n")
    done = cli("stream", log, "--checkpoint", "c", "--json")
    assert json.loads(done.out)["documents"] == 240
    assert f"than the one that was read up to line 60: {log}.1 is read to its end" in done.err
    log.write_text("\n".join(texts[:50]) + "\n")
    done = cli("stream", log, "--checkpoint", "c", "--json")
    assert json.loads(done.out)["documents"] == 290
    assert "which is not beside it: all of it is new" in done.err


def test_texts_are_made_into_words_as_by_fit(cli, piped, corpus_file):
    piped("c", *OPTIONS)
    cli("fit", corpus_file, "-k", 3, "-o", "m.opelda", "--preset", "fast", "-q")
    streamed, fitted = (opelda.load(path).vocabulary_ for path in (f"c/{FILE}", "m.opelda"))
    assert streamed.tokenizer == fitted.tokenizer
    assert set(streamed) >= set(fitted)
    assert "the" not in streamed


def test_a_file_goes_on_after_the_place_reached(cli, corpus_file):
    first = cli("stream", corpus_file, "--checkpoint", "c", *OPTIONS, "--limit", 100, "--json")
    assert json.loads(first.out)["documents"] == 100
    found = json.loads(cli("stream", corpus_file, "--checkpoint", "c", "--json").out)
    assert (found["documents"], found["stopped"], found["model"]) == (240, False, None)


def test_a_checkpoint_is_a_model(cli, piped):
    piped("c", *OPTIONS)
    assert json.loads(cli("info", "c", "--json").out)["documents_seen"] == 240
    assert len(cli("topics", "c").out.splitlines()) == 4


def test_nothing_to_learn_from(piped):
    done = piped("c", lines=[])
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_words_wait_for_as_many_documents_as_asked_for(piped, texts):
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
