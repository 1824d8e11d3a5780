"""Damaged model files: refused in one sentence, or a model that can be used; never believed."""

import copy
import random
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opelda
from opelda import StreamingOPE, TopicModel, _store
from opelda.corpus import Vocabulary, generate
from opelda.errors import ModelFileError
from opelda.inference import EM, OPE
from opelda.learning.persistence._model_arrays import SINCE, as_parts
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum, shortened
from tests.cases import cases

X = generate(60, n_words=12, n_topics=3, n_tokens=20).X
WORDS = [f"w{j}" for j in range(12)]
RICH = TopicModel(
    3,
    preset="paper",
    batch_size=10,
    random_state=0,
    inference=OPE(n_iter=9),
    transform_method=EM(n_kept=2),
    doc_topic_prior=[0.1, 0.2, 0.3],
    topic_word_prior=np.linspace(0.1, 1, 12),
).fit(pd.DataFrame(X.toarray(), columns=WORDS))
RICH.fit_stream([{"w1": 2}, {"w2": 1, "other": 1}], vocabulary=Vocabulary(WORDS))
SWEPT = TopicModel(3, batch_size=10, random_state=0).partial_fit(X)  # has a window and a watch
FILES = {
    "rich": as_parts(RICH),
    "plain": as_parts(StreamingOPE(3, random_state=0).fit(X)),
    "swept": as_parts(SWEPT),
}
HEADER = [
    (name, *path)
    for name, (_, header) in FILES.items()
    for path in [
        *((key,) for key in header if key != "checksum"),
        *(("parameters", key) for key in header["parameters"] if key not in SINCE),
        *(("vocabulary", key) for key in header.get("vocabulary", ())),
    ]
]
INFERENCE = ("rich", "parameters", "inference")
HEADER += [(*INFERENCE, "parameters"), (*INFERENCE, "method"), (*INFERENCE, "parameters", "n_iter")]
ARRAYS = [(name, array) for name in ("rich", "plain") for array in FILES[name][0]]
MISSING = object()


def mutated(name, path, value):
    """Return copies of a file's parts with something in the header replaced or left out."""
    arrays, header = copy.deepcopy(FILES[name])
    place = header
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    if value is MISSING:
        del place[path[-1]]
    return arrays, header


def write(folder, arrays, header, seal=True):
    """Write a file with a correct checksum and other damage."""
    if seal:
        header = header | {"checksum": checksum(arrays, header)}
    _store.write(folder / "m", arrays, header, kind=KIND, version=FORMAT)
    return folder / "m"


def refused(folder, arrays, header, seal=True):
    """Whether the file is refused; if it is not, it must make a model that can be used."""
    path = write(folder, arrays, header, seal)
    try:
        model = opelda.load(path)
    except ModelFileError as error:
        message = str(error)
    else:
        as_parts(model)
        check_topics(model)
        if any(header["parameters"] == said["parameters"] for _, said in FILES.values()):
            check_topics(model.fit_stream([np.ones((2, model.n_features_in_))]))
        return False
    if seal:
        assert message.startswith(f"{path} is not a model this version can use: ")
        assert message.endswith("; save the model again.")
    else:
        assert message.startswith(f"{path}: checksum mismatch, the file is corrupted; ")
    assert len(message) < 400 + len(str(path))
    assert "\n" not in message
    return True


def check_topics(model):
    topics = model.components_
    assert topics.shape == (model.n_components, model.n_features_in_)
    np.testing.assert_allclose(topics.sum(axis=1, dtype=float), 1, atol=2e-3)
    assert topics.min() >= 0


def test_files_before_damage_are_valid(tmp_path):
    for arrays, header in FILES.values():
        assert not refused(tmp_path, arrays, header)


def test_any_changed_byte_is_detected(tmp_path):
    whole = write(tmp_path, *FILES["rich"]).read_bytes()
    expected = as_parts(opelda.load(tmp_path / "m"))[1]
    n_noticed = 0
    for at in [*range(0, len(whole), 7), *(random.randrange(len(whole)) for _ in range(300))]:
        data = bytearray(whole)
        data[at] ^= random.randrange(1, 256)
        (tmp_path / "m").write_bytes(data)
        try:
            # a blank is as good as another, and so is a 1e0 as a 1.0
            assert as_parts(opelda.load(tmp_path / "m"))[1] == expected
        except ModelFileError:
            n_noticed += 1
    assert n_noticed > 0.95 * (len(whole) / 7 + 300)
    arrays, header = FILES["rich"]
    for value in (None, 0, -1, "x", header["checksum"] + 1):
        assert refused(tmp_path, arrays, header | {"checksum": value}, seal=False)
    assert refused(tmp_path, *mutated("rich", ["checksum"], MISSING), seal=False)


@pytest.mark.parametrize("where", HEADER, ids="-".join)
def test_every_header_field_is_required_and_validated(tmp_path, where):
    name, *path = where
    since = ("tokenizer", "min_df", "n_docs", "window", "watch")  # absent from some files
    missing = [] if path[-1] in since else [MISSING]
    for value in (*missing, {}, [], {"a": {"b": [1]}}, [[2]]):
        assert refused(tmp_path, *mutated(name, path, value)), value
    for value in (None, True, -1, 1e300, -0.5, 10**12, 2**64 - 1, "x", "array"):
        # some fields accept some of these values: random_state=None, n_passes=10**12, ...
        refused(tmp_path, *mutated(name, path, value))


@pytest.mark.parametrize("where", ARRAYS, ids="-".join)
def test_every_array_is_required_and_validated(tmp_path, where):
    name, key = where
    array = FILES[name][0][key]
    # older files have no coherence, and it may be -1
    assert refused(tmp_path, *mutated_array(name, key, MISSING)) == (key != "coherence")
    for dtype in {"f4", "f8", "i4", "i8", "u1", "?"} - {array.dtype.str[1:]}:
        assert refused(tmp_path, *mutated_array(name, key, array.astype(dtype))), dtype
    for changed in (array[..., None, None], array[0], array[:-1], np.concatenate([array, array])):
        # a prior may be for the first words only: others have been added since
        if key != "parameters.topic_word_prior" or changed.ndim != 1:
            assert refused(tmp_path, *mutated_array(name, key, np.array(changed))), changed.shape
    for value in (-1, np.nan, np.inf, -np.inf, 1e38):
        if array.dtype.kind == "f" or (value == -1 and array.dtype == np.int64):
            spoiled = array.copy()
            spoiled[-1] = value
            good = key == "coherence" and value == -1
            assert refused(tmp_path, *mutated_array(name, key, spoiled)) != good, value


def test_inconsistent_parts_are_rejected(tmp_path):
    arrays, header = copy.deepcopy(FILES["rich"])
    parts, header["vocabulary"] = Vocabulary(WORDS[:5]).to_arrays()
    arrays.update({f"vocabulary.{key}": part for key, part in parts.items()})
    assert refused(tmp_path, arrays, header)
    arrays, header = copy.deepcopy(FILES["rich"])
    arrays.update({f"feature_names.{key}": parts[key] for key in ("bytes", "offsets")})
    assert refused(tmp_path, arrays, header)
    arrays, header = copy.deepcopy(FILES["rich"])
    for key in ("rows", "sums"):
        arrays[key] = FILES["plain"][0][key]
    assert refused(tmp_path, arrays, header | {"n_features_in": 11})
    assert refused(tmp_path, arrays | {"rows": arrays["rows"][:, :2].copy()}, header)


def mutated_array(name, key, array):
    arrays, header = copy.deepcopy(FILES[name])
    arrays[key] = array
    if array is MISSING:
        del arrays[key]
    return arrays, header


@cases(
    ("parameter", "value", "must"),
    [
        ("n_components", 10**12, True),
        ("n_components", 4, True),
        ("n_iter", 10**9, True),
        ("n_iter", 10**7, False),
        ("batch_size", -1, True),
        ("n_jobs", 10**9, False),
        ("random_state", 2**40, True),
        ("random_state", "x", True),
        ("verbose", -1, False),
        ("topic_word_prior", -1.0, True),
        ("topic_word_prior", "x", True),
        ("doc_topic_prior", "array", True),
        ("learning_decay", "0.5", True),
        ("callbacks", None, True),
        ("engine", "cpu", True),
        ("transform_method", "x", True),
        ("transform_method", {"method": "em", "parameters": {}}, True),
        ("unheard of", 1, True),
    ],
)
def test_absurd_parameters_are_rejected_or_harmless(tmp_path, parameter, value, must):
    path = write(tmp_path, *mutated("plain", ("parameters", parameter), value))
    tracemalloc.start()
    try:
        opelda.load(path)
        was_refused = False
    except ModelFileError:
        was_refused = True
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    assert was_refused == must


ODD = st.sampled_from([None, True, 0, -1, 1, 3, 2**31, 10**12, 2**64 - 1, 1e-9, 1e300, -0.5, 0.5])
TEXT = st.sampled_from(["", "x", "array", "ope", "vb", "3", "online"])
JSON = st.recursive(
    ODD | TEXT | st.integers(-5, 50) | st.floats(0, 2),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(
            st.sampled_from(["method", "parameters", "n_iter", "x"]), part, max_size=3
        )
    ),
    max_leaves=6,
)


def check_random_damage(data, tmp_path_factory):
    name = data.draw(st.sampled_from(sorted(FILES)))
    arrays, header = copy.deepcopy(FILES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        place = [arrays, header, header, header["parameters"]][data.draw(st.integers(0, 3))]
        while place:
            key = data.draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or data.draw(st.booleans()):
                break
            place = place[key]
        else:
            continue
        if data.draw(st.integers(0, 9)) == 0:
            del place[key]
        elif place is not arrays:
            place[key] = data.draw(JSON)
        else:
            place[key] = damaged(data, place[key])
        if not isinstance(header.get("parameters"), dict):
            header["parameters"] = {}
    refused(tmp_path_factory.getbasetemp(), arrays, header)


@np.errstate(all="ignore")
def damaged(data, array):
    """Return an array with another type, another shape or other values."""
    what = data.draw(st.integers(0, 4))
    if what == 0:
        dtype = data.draw(st.sampled_from(["f4", "f8", "i4", "i8", "u1", "?"]))
        return array.astype(dtype)
    if what == 1:
        return array[: data.draw(st.integers(0, len(array)))] if array.ndim else array
    if what == 2:
        return np.array(array.T)
    spoiled = array.copy().reshape(-1)
    if len(spoiled):
        odd = data.draw(st.sampled_from([0, 1, -1, 1e-30, 1e30, np.inf, -np.inf, np.nan, 2**40]))
        spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = np.array(odd).astype(array.dtype)
    return spoiled.reshape(array.shape)


@cases("length", [59, 60, 61, 1000])
def test_long_values_are_shortened_to_sixty_characters(length):
    shown = shortened("x" * length)
    assert len(shown) == min(length, 60)
    assert shown.endswith("...") is (length > 60)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_damage(data, tmp_path_factory):
    check_random_damage(data, tmp_path_factory)


@pytest.mark.heavy
@settings(max_examples=100_000, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_damage_at_length(data, tmp_path_factory):
    check_random_damage(data, tmp_path_factory)
