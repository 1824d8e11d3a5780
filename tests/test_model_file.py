"""Model files: round trips, unsupported models and files of earlier versions."""

import base64
import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import opelda
from opelda import MLOPE, OnlineOPE, StreamingOPE, TopicModel, _store
from opelda.corpus import Tokenizer, Vocabulary, generate, generate_stream
from opelda.errors import InputError, ModelFileError
from opelda.inference import METHODS, OPE, VB, Exact, Method, PerToken
from opelda.learning import LEARNERS, SCVB0, TPS, Online, Seeds, Streaming
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import StoredModel, checksum
from opelda.report import topic_table, topic_weights
from tests.cases import cases

GOLDEN = Path(__file__).parent / "golden"
X = generate(60, n_words=12, n_topics=3, n_tokens=20).X
WORDS = ["naïve", "日本", "", "a b", *(f"w{j}" for j in range(8))]
STREAM = list(generate_stream(60, batch_size=10, n_words=20, n_topics=3, new_words_per_batch=5))


def made(cls=OnlineOPE, **parameters):
    return cls(**{"n_components": 3, "batch_size": 10, "random_state": 0} | parameters)


def streamed(**parameters):
    words = Vocabulary(WORDS, growing=True, max_features=30)
    return made(**parameters).fit_stream(STREAM, vocabulary=words)


def again(model, path):
    opelda.save(model, path)
    return opelda.load(path)


def same(a, b):
    (arrays, header), (others, said) = as_parts(a), as_parts(b)
    assert header == said
    assert arrays.keys() == others.keys()
    return all(arrays[name].tobytes() == others[name].tobytes() for name in arrays)


QUICK = {
    "hamcmc": {"n_iter": 5, "burn_in": 2},
    "pmd": {"n_iter": 2, "n_particles": 5},
    "tli": {"n_iter": 5},
    **{name: {"n_iter": 3} for name in ("cccp", "ofw", "smm")},
}
KINDS = {
    **{name: made(cls).fit(X[:30]) for name, cls in LEARNERS.items()},
    "stream": streamed(),
    "array priors": made(doc_topic_prior=[0.1, 0.2, 0.3], topic_word_prior=np.arange(1.0, 13)),
    "matrix prior": made(topic_word_prior=np.full((3, 12), 0.2, np.float32)),
    "numpy numbers": made(n_components=np.int64(3), learning_decay=np.float32(0.7)),
    "method": made(TopicModel, inference=OPE(n_iter=np.int32(9), variant="ope3"), learning="ml"),
    "random state": made(random_state=np.random.RandomState(3)),
    "generator": made(MLOPE, random_state=np.random.default_rng(3), n_jobs=2, n_passes=3),
    "transform method": made(transform_method=VB(n_iter=7)),
    "transform name": made(StreamingOPE, transform_method="same"),
    "start kept": made(StreamingOPE, keep_start=True),
    "prior kept": made(TopicModel, learning=Streaming(keep_prior=True), preset="paper"),
    "vectors": made(TopicModel, learning=TPS(vectors=np.eye(12, 5)), preset="paper"),
    "population": made(population=1e6, topic_word_prior=0.5, doc_topic_prior=1, verbose=0),
    "unseeded": made(random_state=None),
    **{
        name: made(TopicModel, inference=cls(**QUICK.get(name, {})), learning="ml")
        for name, cls in METHODS.items()
    },
}


@pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")
@pytest.mark.parametrize("name", KINDS)
def test_loaded_model_equals_the_saved_one_and_continues_equally(tmp_path, name):
    model = copy.deepcopy(KINDS[name])
    if not hasattr(model, "_state"):
        model.partial_fit(X[:30])
    loaded = again(model, tmp_path / "m")
    assert type(loaded) is type(model)
    assert same(loaded, model)
    opelda.save(loaded, tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    counts = X if model.n_features_in_ == 12 else model.vocabulary_.count(STREAM[0])
    assert loaded.components_.tobytes() == model.components_.tobytes()
    assert loaded.transform(counts[:5]).tobytes() == model.transform(counts[:5]).tobytes()
    assert same(loaded.partial_fit(counts[-10:]), model.partial_fit(counts[-10:]))


def test_loaded_stream_continues_with_its_vocabulary(tmp_path):
    words = Vocabulary(growing=True, max_features=25)
    whole = made().fit_stream(STREAM, vocabulary=words)
    part = again(made().fit_stream(STREAM[:3], vocabulary=words), tmp_path / "m")
    assert same(part.fit_stream(STREAM[3:]), whole)
    assert part.vocabulary_ == whole.vocabulary_
    assert part.top_words() == whole.top_words()


def test_sums_that_differ_from_their_topics_are_rejected(tmp_path):
    model = TopicModel(2, preset="fast", random_state=0).fit(np.eye(6, dtype=int).repeat(9, 0))
    model._state.weights.sums[1] *= 1.01
    opelda.save(model, tmp_path / "m")
    with pytest.raises(ModelFileError, match="do not add up to their sums"):
        opelda.load(tmp_path / "m")


def test_drifted_sums_round_trip(tmp_path):
    model = made().fit(X)
    model._state.weights.sums *= 1 + 1e-9  # what thousands of updates do to them
    assert same(again(model, tmp_path / "m"), model)


def test_column_names_round_trip(tmp_path):
    frame = pd.DataFrame(X.toarray(), columns=WORDS)
    loaded = again(made().fit(frame), tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == WORDS
    assert {word for topic in loaded.top_words() for word in topic} <= set(WORDS)
    loaded.transform(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame[WORDS[::-1]])
    # a vocabulary that has grown has other columns than the frame had
    grown = made().fit(frame).fit_stream(STREAM, vocabulary=Vocabulary(WORDS, growing=True))
    assert again(grown, tmp_path / "m").vocabulary_ == grown.vocabulary_
    odd = pd.DataFrame(X.toarray(), columns=pd.Index([*WORDS[1:], "\ud800"], dtype=object))
    with pytest.raises(InputError, match="UTF-8"):
        opelda.save(made().fit(odd), tmp_path / "m")


def test_only_machine_settings_are_not_saved(tmp_path):
    model = made(callbacks=lambda report: None, verbose=1, n_jobs=2, engine="cpu").fit(X)
    loaded = again(model, tmp_path / "m")
    left_out = {"callbacks": None, "verbose": 0, "n_jobs": None, "engine": "cpu"}
    assert loaded.get_params() == model.get_params() | left_out
    opelda.save(model.set_params(callbacks=None, verbose=0, n_jobs=None), tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


OLD = json.loads((GOLDEN / "presets-1.json").read_text())


@cases("name", OLD["models"])
def test_models_saved_before_presets_continue_unchanged(tmp_path, name):
    old, more = OLD["models"][name], np.array(OLD["more"])
    (tmp_path / "m").write_bytes(base64.b64decode(old["file"]))
    model = opelda.load(tmp_path / "m")
    np.testing.assert_allclose(model.transform(more), old["mixtures"], rtol=1e-3, atol=1e-5)
    presets = {"nothing given": "best", "a method and a preset": "fast"}
    if isinstance(model, TopicModel):
        assert model.preset == presets.get(name, "paper")
    model = again(model, tmp_path / "n")
    if model.get_params().get("preset") == "best":  # whose streams were not swept then
        model.set_params(n_sweeps=0)
    model.partial_fit(more)
    assert model.n_batch_iter_ == old["updates"]
    topics = old["topics_after_more"]
    np.testing.assert_allclose(model.components_, topics, rtol=1e-3, atol=1e-6)


def test_pickle_and_deepcopy_round_trip():
    for model in KINDS.values():
        if hasattr(model, "_state"):
            assert same(pickle.loads(pickle.dumps(model)), model)
            assert same(copy.deepcopy(model), model)


def test_unsupported_models_are_not_saved(tmp_path):
    class Mine(OnlineOPE):
        pass

    class Custom(VB):
        name = "custom"

    class Nameless(Method):
        kernel, solve = VB.kernel, VB.solve
        n_iter, tol, init, check, reference = 5, 0.1, "fixed", VB.check, VB.reference

    refused = {
        Mine(3).fit(X): (InputError, "got Mine"),
        OnlineOPE(3): (NotFittedError, "not fitted"),
        made(TopicModel, inference=Custom()).fit(X): (InputError, "Custom is not one of"),
        made(TopicModel, inference=Nameless()).fit(X): (InputError, "Nameless is not one of"),
        made().fit(X).set_params(n_components=4): (InputError, "n_components is 4"),
        made().fit(X).set_params(batch_size="x"): (InputError, "batch_size"),
        made().fit(X).set_params(learning_decay=[1]): (InputError, "learning_decay"),
        made().fit(X).set_params(population=np.nan): (InputError, "population"),
        "no model": (InputError, "got str"),
    }
    for model, (kind, message) in refused.items():
        with pytest.raises(kind, match=message):
            opelda.save(model, tmp_path / "m")
    broken = made().fit(X)
    broken._state.weights.sums[0] = np.nan
    with pytest.raises(InputError, match="not saved"):
        opelda.save(broken, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_the_golden_file_of_version_1(tmp_path):
    (tmp_path / "m").write_bytes(base64.b64decode((GOLDEN / "model-1.txt").read_text()))
    model = opelda.load(tmp_path / "m")
    expected = json.loads((GOLDEN / "model-1.topics.txt").read_text())
    np.testing.assert_allclose(model.components_, expected["components"], rtol=1e-4, atol=1e-7)
    assert list(model.vocabulary_.words) == expected["words"] == model.feature_names_in_.tolist()
    assert model.vocabulary_.document_frequency.tolist() == expected["document_frequency"]
    assert [model.n_docs_seen_, model.n_batch_iter_] == expected["seen"]
    assert model.n_unknown_tokens_ == expected["n_unknown_tokens"]
    added_since = {
        "preset": "paper",
        "n_sweeps": None,
        "seeds": None,
        "transform_method": "same",
        "engine": "cpu",
        "max_loss": None,
        "sparse_output": False,
        "n_runs": 1,
        "n_groups": 0,
    }
    moved = ("learning_decay", "learning_offset", "population", "keep_start")
    same = {name: value for name, value in expected["parameters"].items() if name not in moved}
    assert model.get_params() == same | added_since | {
        "learning": Online(decay=0.7, offset=1.0, population=1000),
        "inference": OPE(n_iter=20, coins="balanced"),
        "doc_topic_prior": pytest.approx([0.25, 0.5, 1.0]),
        "callbacks": None,
    } | {f"inference__{k}": v for k, v in OPE(n_iter=20, coins="balanced").get_params().items()}
    model.fit_stream([expected["words"]])
    assert model.n_batch_iter_ == expected["seen"][1] + 1


def test_the_golden_file_of_version_2(tmp_path):
    (tmp_path / "m").write_bytes(base64.b64decode((GOLDEN / "model-2.txt").read_text()))
    model = opelda.load(tmp_path / "m")
    expected = json.loads((GOLDEN / "model-2.topics.txt").read_text())
    np.testing.assert_allclose(model.components_, expected["components"], rtol=1e-4, atol=1e-7)
    assert list(model.vocabulary_.words) == expected["words"]
    assert [model.n_docs_seen_, model.n_batch_iter_] == expected["seen"]
    assert model.n_unknown_tokens_ == expected["n_unknown_tokens"]
    parameters, written = model.get_params(deep=False), expected["parameters"]
    kept = written.keys() & parameters.keys()
    assert {name: parameters[name] for name in kept} == {name: written[name] for name in kept}
    assert parameters["transform_method"] == VB(n_iter=30)
    assert parameters["topic_word_prior"].shape == (3, 12)
    mixtures = model.transform(expected["texts"])
    np.testing.assert_allclose(mixtures, expected["mixtures"], rtol=1e-3)
    model.fit_stream(expected["texts"])
    assert model.n_batch_iter_ == expected["seen"][1] + 1


PREVIOUS = {  # what version 2 wrote of `TopicModel` before rules had parameters
    "learning": None, "learning_decay": None, "learning_offset": None, "population": None,
    "keep_start": False, "init": None, "seed_words": None, "seed_strength": 0.1,
    "max_loss": None, "max_loss_per_token": None,
}  # fmt: skip
WORDS_OF = [["drinks", ["w1", "w2"]]]
EXACT = {"max_loss": None, "max_loss_per_token": 1e-3}


@cases(
    ("old", "today"),
    [
        ({}, {}),
        ({"learning": "ml"}, {"learning": "ml"}),
        ({"learning_decay": 0.7, "init": "random"}, {"learning": Online(decay=0.7, init="random")}),
        ({"learning": "scvb0", "population": 500.0}, {"learning": SCVB0(population=500.0)}),
        ({"learning": "streaming", "keep_start": True}, {"learning": Streaming(keep_start=True)}),
        ({"learning": "streaming", "learning_decay": 0.5}, {"learning": "streaming"}),
        ({"seed_words": WORDS_OF}, {"seeds": dict(WORDS_OF)}),
        ({"seed_words": WORDS_OF, "seed_strength": 0.3}, {"seeds": Seeds(dict(WORDS_OF), 0.3)}),
        ({"seed_strength": 0.3}, {}),
        ({"max_loss": 0.5}, {"max_loss": 0.5}),
        ({"max_loss_per_token": 0.01}, {"max_loss": PerToken(0.01)}),
        ({"max_loss": 0.5, "max_loss_per_token": 0.01}, {"max_loss": PerToken(0.01, 0.5)}),
        (
            {"transform_method": {"method": "exact", "parameters": EXACT}},
            {"transform_method": Exact(PerToken(1e-3))},
        ),
    ],
    ids=str,
)
def test_old_parameter_names_are_read(tmp_path, old, today):
    words = Vocabulary(WORDS)
    model = TopicModel(3, n_passes=1, n_sweeps=0, random_state=0).fit(X, vocabulary=words)
    arrays, header = as_parts(model)
    renamed = set(header["parameters"]) - {"seeds"}
    values = {name: header["parameters"][name] for name in renamed} | PREVIOUS | old
    header["parameters"] = values
    del header["checksum"]
    header["checksum"] = checksum(arrays, header)
    _store.write(tmp_path / "old", arrays, header, kind="opelda model", version=2)
    loaded = opelda.load(tmp_path / "old")
    assert loaded.get_params(deep=False) == model.get_params(deep=False) | today
    assert again(loaded, tmp_path / "new").get_params(deep=False) == loaded.get_params(deep=False)
    assert np.array_equal(loaded.components_, model.components_)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_file_does_not_depend_on_the_engine(tmp_path, engine):
    learned = made(engine=engine, topic_word_prior=0.3).fit(X)
    opelda.save(learned, tmp_path / "m")
    arrays, header, version = _store.read(tmp_path / "m", kind="opelda model", newest=2)
    assert (version, arrays["rows"].shape, arrays["rows"].dtype) == (2, (12, 3), np.float32)
    assert "engine" not in header["parameters"]
    for other in ("cpu", "reference"):
        loaded = opelda.load(tmp_path / "m").set_params(engine=other)
        np.testing.assert_allclose(loaded.components_, learned.components_, rtol=1e-5)
        np.testing.assert_allclose(loaded.transform(X), learned.transform(X), rtol=1e-4)
        loaded.partial_fit(X[:10])  # continues on the new engine
        assert loaded._state.weights.owner == other


@pytest.mark.parametrize("kind", ["fit", "checkpoint"])
def test_long_stop_word_lists_round_trip(tmp_path, kind):
    left_out = [f"{number:07}" + "stopped" * 16 for number in range(100_000)]
    words = Vocabulary(["tea", "cup"], tokenizer=Tokenizer(stop_words=left_out))
    texts = [f"tea {left_out[3]} cup", "tea tea"] * 10
    model = made()
    if kind == "fit":
        model.fit(texts, vocabulary=words)
        opelda.save(model, tmp_path / "checkpoint.opelda")
    else:
        model.fit_stream(texts, vocabulary=words, checkpoint=tmp_path)
    loaded = opelda.load(tmp_path / "checkpoint.opelda")
    assert loaded.vocabulary_.tokenizer == words.tokenizer
    assert np.array_equal(loaded.transform(texts), model.transform(texts))


def test_short_stop_word_list_is_stored_in_the_header(tmp_path):
    words = Vocabulary(["tea", "cup"], tokenizer=Tokenizer(stop_words=["the", "a"]))
    _, header = as_parts(made().fit(["the tea", "a cup"] * 5, vocabulary=words))
    assert header["vocabulary"]["tokenizer"]["stop_words"] == ["a", "the"]


@pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")
@cases("name", ["OnlineOPE", "MLOPE", "TopicModel", "stream", "matrix prior"])
def test_stored_model_lists_topics_without_loading(name, tmp_path):
    model = copy.deepcopy(KINDS[name])
    model = model if hasattr(model, "_state") else model.fit(X)
    opelda.save(model, tmp_path / "m")
    model, stored = opelda.load(tmp_path / "m"), StoredModel.read(tmp_path / "m")
    np.testing.assert_array_max_ulp(stored.components, model.components_, maxulp=1)
    shares = topic_weights(model)
    assert (stored.shares is None) == (shares is None)
    if shares is not None:
        np.testing.assert_array_equal(stored.shares, shares)
    if not stored.has_seed_words:
        for row, expected in zip(stored.topics(4), topic_table(model, 4), strict=True):
            assert (row.topic, row.weight, row.label) == (
                expected.topic, expected.weight, expected.label,
            )  # fmt: skip
            assert (row.words, row.stability) == (expected.words, expected.stability)
            np.testing.assert_allclose(row.probabilities, expected.probabilities, rtol=1e-6)


def test_reading_topics_of_a_file_imports_only_numpy():
    code = (
        "import sys, opelda.learning.persistence._stored_model\n"
        "print({'sklearn', 'scipy', 'polars', 'typer'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
