"""Topics of streams that depend on columns whose levels appear while the stream runs."""

from collections import Counter
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import opelda
from opelda import OnlineOPE, TopicModel
from opelda.corpus import Corpus, stream
from opelda.corpus._design import Columns
from opelda.errors import InputError, ModelFileError
from opelda.learning import _prevalence
from opelda.learning._prevalence import Prevalence
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from opelda.learning.streaming import _window
from opelda.learning.streaming import _window_sweeps as _stream_sweeps
from tests.cases import cases

K, V = 3, 60
ALPHAS = {"left": [2.0, 0.5, 0.5], "right": [0.5, 2.0, 0.5], "late": [0.5, 0.5, 2.0]}


def truth(seed, n_docs=1500, length=30, power=1):
    """Documents of two groups, and of a third one among the last third."""
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(K), np.ones(V // K)) * rng.dirichlet(np.ones(V), K) + 1e-4
    topics /= topics.sum(axis=1, keepdims=True)
    n_late = n_docs // 3
    group = rng.choice(["left", "right"], n_docs - n_late).tolist()
    group += rng.choice([*ALPHAS], n_late).tolist()
    theta = np.array([rng.dirichlet(np.array(ALPHAS[each]) ** power) for each in group])
    X = sparse.csr_array(np.array([rng.multinomial(length, row @ topics) for row in theta], float))
    return X, {"group": group}, topics


def listed(X, groups):
    """Documents as a stream's table, of words named by their columns."""
    texts = [
        " ".join(f"w{j}" for j in np.repeat(row.indices, row.data.astype(int)))
        for row in (X[[i]] for i in range(X.shape[0]))
    ]
    return pl.DataFrame({"text": texts, **groups})


def same(one, other):
    """Whether two models would be the same file."""
    return as_parts(one)[1] == as_parts(other)[1]  # with a checksum of the arrays


@pytest.fixture
def small_window(monkeypatch):
    """A window that documents leave soon, and few rows."""
    monkeypatch.setattr(_window, "MOST_DOCS", 40)
    monkeypatch.setattr(_window, "MOST_TOKENS", 900)
    monkeypatch.setattr(_prevalence, "MOST_ROWS", 6)


COMMON = {"n_components": K, "batch_size": 8, "random_state": 0, "n_sweeps": 6}


def small(seed=0, n_docs=160):
    """Documents with more groups than rows, some without; a word tells the group."""
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 2 + 8 * np.arange(n_docs) // n_docs)
    X = rng.poisson(0.3, (n_docs, 30))
    X[np.arange(n_docs), number] += 20
    party = [None if each == 3 else f"party {each}" for each in number.tolist()]
    return sparse.csr_array(X.astype(float)), party, number


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_mixture_of_every_group_is_learned_also_of_a_late_one(seed):
    X, data, topics = truth(seed)
    model = TopicModel(K, random_state=seed, batch_size=100, n_sweeps=20)
    model.partial_fit(X, prevalence="group", data=data)
    order = (model.components_ @ topics.T).argmax(axis=0)
    assert sorted(order) == list(range(K))
    known = model._state.prevalence
    member = known.members(Columns({"group": [*ALPHAS]}))
    found = known.shares[member][:, order]
    expected = np.array([*ALPHAS.values()]) / 3.0
    assert np.abs(found - expected).max() < 0.15
    assert np.abs(found - expected).mean() < 0.06


def test_columns_help_to_predict_short_documents():
    X, data, _ = truth(0, length=6, power=3)
    model = TopicModel(K, random_state=0, batch_size=100, n_sweeps=10)
    model.partial_fit(X[:1200], prevalence=["group"], data={"group": data["group"][:1200]})
    found = model.score(X[1200:], data={"group": data["group"][1200:]}, method="vb")
    assert found > model.score(X[1200:], method="vb") + 0.01


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.usefixtures("small_window")
def test_a_stopped_stream_resumes_with_identical_bytes(tmp_path, every):
    X, party, _ = small()
    table = listed(X, {"party": party, "chamber": ["house", "senate"] * 80})

    class StoppedError(Exception):
        pass

    def learned(folder, stop, **options):
        def give_up(report):
            if report.n_updates == stop:
                raise StoppedError

        model = TopicModel(**COMMON, callbacks=[give_up], **options)
        source = stream(table, batch_size=8, max_features=25, metadata=["party", "chamber"])
        formula = "party + chamber" if stop in (2, None) else None  # the model's own
        with suppress(StoppedError):
            model.fit_stream(source, checkpoint=folder, every=every, prevalence=formula)
        return model

    model = learned(tmp_path / "whole", None)
    assert model._state.window.outside.cells.nnz
    assert len(model._state.prevalence.rows) == 6
    learned(tmp_path / "stopped", 2)
    for stop in (4, 5, 13):
        learned(tmp_path / "stopped", stop, n_jobs=2)
    learned(tmp_path / "stopped", 99)
    files = [(tmp_path / name / "checkpoint.opelda").read_bytes() for name in ("whole", "stopped")]
    assert files[0] == files[1]


@pytest.mark.usefixtures("small_window")
def test_results_do_not_depend_on_threads_and_parts():
    X, party, _ = small()
    one = TopicModel(**COMMON, n_jobs=1).partial_fit(X, prevalence="party", data={"party": party})
    corpus = Corpus(X, metadata=pl.DataFrame({"party": party}))
    two = TopicModel(**COMMON, n_jobs=2).partial_fit(
        X[:80], prevalence="party", data={"party": party[:80]}
    )
    rest = Corpus(X[80:], metadata=corpus.metadata[80:])
    assert same(one, two.partial_fit(rest))
    whole = TopicModel(**COMMON).fit_stream(corpus, prevalence="party")
    assert np.array_equal(whole._state.prevalence.shares, one._state.prevalence.shares)


@pytest.mark.usefixtures("small_window")
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_documents_keep_their_rows_in_the_window(engine):
    """A word tells the group of each document; the window loses documents and words."""
    X, party, number = small(n_docs=160 if engine == "cpu" else 48)
    model = TopicModel(**COMMON, engine=engine)
    model.partial_fit(X, prevalence="party", data={"party": party})
    kept, known = model._state.window.kept, model._state.prevalence
    assert kept.rows.n_docs < X.shape[0]
    heaviest = sparse.csr_array((kept.rows.counts, kept.rows.words, kept.rows.indptr)).argmax(
        axis=1
    )
    assert np.array_equal(heaviest, number[-kept.rows.n_docs :])
    rows = np.maximum(known.members(Columns({"party": party})), 0)
    assert np.array_equal(kept.prior_rows, rows[-kept.rows.n_docs :])
    assert len(np.unique(kept.prior_rows)) > 1
    model._state.window.forget(np.array([29]))
    assert np.array_equal(model._state.window.kept.prior_rows, rows[-kept.rows.n_docs :])


LEVELS = st.sampled_from(["", "a", "b", "c", "d" * 201, "(other)"])


@given(st.lists(st.lists(st.tuples(LEVELS, LEVELS), max_size=20), max_size=5))
def test_a_row_is_a_combination_of_levels(batches):
    known = Prevalence.begun("one + two", np.full(K, 0.1))
    expected = {}
    for batch in batches:
        for each, _ in sorted(Counter(batch).items(), key=lambda pair: -pair[1]):
            if "" not in each and "d" * 201 not in each:
                expected.setdefault(each, len(expected) + 1)
        before = known
        known, rows = known.extended(batch)
        assert rows.tolist() == [expected.get(each, 0) for each in batch]
        assert len(known.shares) == len(known.ratios) == len(known.rows) == len(expected) + 1
        assert np.array_equal(known.ratios[: len(before.ratios)], before.ratios)
        assert (known.shares == 1 / K).all()
        columns = dict(zip(("one", "two"), zip(*batch, strict=True), strict=True)) if batch else {}
        if batch and len(known.rows) > 1:
            members = known.members(Columns(columns))
            assert np.array_equal(members, rows.astype(int) - (rows == 0))


def test_rows_are_limited():
    levels = [(f"level {i}",) for i in range(150)]
    known, rows = Prevalence.begun("x", np.ones(K)).extended(levels)
    assert len(known.rows) == _prevalence.MOST_ROWS
    assert Counter(rows.tolist()) == Counter({0: 51} | dict.fromkeys(range(1, 100), 1))
    again, same = known.extended(levels[::-1])
    assert again.design == known.design
    assert np.array_equal(same, rows[::-1])


def fitted(seed=0, n_docs=200):
    X, data, _ = truth(seed, n_docs)
    model = TopicModel(K, random_state=seed, batch_size=50, n_sweeps=10)
    return model.partial_fit(X, prevalence="group", data=data), X, data


def test_files_edits_and_further_documents_keep_prevalence(tmp_path):
    model, X, data = fitted()
    some = {"group": [*data["group"][:3], None, "unknown"]}
    opelda.save(model, tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    assert same(loaded, model)
    theta = model.transform(X[:5], data=some)
    assert np.array_equal(loaded.transform(X[:5], data=some), theta)
    assert np.array_equal(theta[3:], model.transform(X[3:5]))
    assert not np.array_equal(theta[:3], model.transform(X[:3]))
    alpha, before = model._state.window.alpha, model._state.prevalence
    merged = deepcopy(model)
    merged.merge_topics([0, 1])
    after, new_alpha = merged._state.prevalence, merged._state.window.alpha
    priors = alpha * before.ratios
    np.testing.assert_allclose(after.shares[:, 0], before.shares[:, :2].sum(axis=1))
    np.testing.assert_allclose(new_alpha * after.ratios, [[a + b, c] for a, b, c in priors])
    merged.partial_fit(X[:50], data={"group": data["group"][:50]})
    assert merged._state.prevalence.shares.shape == (4, K - 1)


@pytest.mark.parametrize("topic", range(K))
def test_the_first_draw_of_new_documents_uses_their_rows(topic):
    model, X, _ = fitted()
    known = model._state.prevalence
    row = known.members(Columns({"group": ["left"]}))[0]
    ratios = known.ratios.copy()
    ratios[row] = np.where(np.arange(K) == topic, 1e9, 1e-9)
    model._state.prevalence = replace(known, ratios=ratios)
    before = model._state.window.n_sweeps
    model.partial_fit(X[:10], data={"group": ["left"] * 5 + ["right"] * 5})
    window = model._state.window
    assert window.n_sweeps == before + 1  # of the new documents alone
    kept = window.kept
    first, middle, last = kept.ends[[-11, -6, -1]]
    assert (kept.topics[first:middle] == topic).mean() > 0.99
    assert (kept.topics[middle:last] == topic).mean() < 0.99


def test_learning_continues_from_the_ratios_around_the_common_prior():
    state = fitted()[0]._state
    ratios = state.prevalence.ratios
    priors = state.prevalence.priors(state.window.kept.prior_rows)
    np.testing.assert_allclose(np.exp(priors.x @ priors.w), ratios)
    np.testing.assert_allclose(np.log(ratios[1:]).mean(axis=0), 0.0, atol=1e-9)
    assert (ratios[0] == 1.0).all()
    assert np.ptp(ratios[1:], axis=0).min() > 0.1


def test_replaced_topics_start_with_the_common_prior():
    state = fitted()[0]._state
    before = state.prevalence
    after = state.changed("replaced", [1])["prevalence"]
    assert (after.ratios[:, 1] == 1.0).all()
    assert np.array_equal(after.ratios[:, [0, 2]], before.ratios[:, [0, 2]])
    assert state.changed("reused", np.array([0]), 0)["prevalence"] == before


@pytest.mark.parametrize("order", [[1, 2, 0], [2, 0, 1]])
def test_rows_follow_the_numbers_of_relearned_topics(monkeypatch, order):
    model, _, _ = fitted()
    plan, found = model._plan(model._state), []
    for numbers in ([0, 1, 2], order):
        monkeypatch.setattr(_stream_sweeps, "_numbers", lambda *_, to=numbers: (np.array(to), []))
        copied = deepcopy(model._state)
        window = _stream_sweeps._start(plan, copied, copied.window)
        found.append((window.alpha, copied.prevalence.shares, copied.prevalence.ratios))
    for plain, moved in zip(*found, strict=True):
        np.testing.assert_allclose(plain[..., order], moved)


def test_a_model_of_fit_keeps_its_rows_in_a_stream():
    X, data, _ = truth(0, 300)
    model = TopicModel(K, random_state=0, n_sweeps=10).fit(X, prevalence="group", data=data)
    before = model._state.prevalence
    model.partial_fit(X[:100])
    assert np.array_equal(model._state.prevalence.shares, before.shares)
    with pytest.raises(InputError, match="no effect without the prevalence of a stream"):
        model.partial_fit(X, data=data)
    with pytest.raises(InputError, match=r"differs from .* model's stream \(none\)"):
        model.partial_fit(X, prevalence="group", data=data)


PARTY = {"party": ["R", "D"] * 15}


@cases(
    ("model", "given", "said"),
    [
        (TopicModel(K), {"prevalence": "place", "data": PARTY}, "Missing column 'place'"),
        (TopicModel(K), {"prevalence": "s(party)", "data": PARTY}, r"columns of levels joined by"),
        (TopicModel(K), {"prevalence": "a*b", "data": PARTY}, "columns of levels joined by"),
        (TopicModel(K), {"prevalence": [], "data": PARTY}, "columns of levels joined by"),
        (TopicModel(K), {"prevalence": "x", "data": {"x": [2.5] * 30}}, "'x' of numbers or times"),
        (TopicModel(K), {"prevalence": "party"}, "Missing column 'party'"),
        (TopicModel(K), {"prevalence": "x", "data": {"x": ["a"]}}, "data has 1 rows for 30"),
        (
            TopicModel(K),
            {"prevalence": "x+y", "data": {"x": ["a"], "y": "bc"}},
            "different lengths",
        ),
        (TopicModel(K), {"data": PARTY}, "data has no effect without"),
        (TopicModel(K, preset="fast"), {"prevalence": "x"}, "prevalence needs sweeps"),
        (OnlineOPE(K), {"prevalence": "x"}, "prevalence needs sweeps"),
        (TopicModel(K, seeds={"a": [0]}), {"prevalence": "x"}, "cannot be combined with seeds"),
    ],
)
def test_mistakes_have_one_sentence(model, given, said):
    with pytest.raises(InputError, match=said):
        model.partial_fit(truth(0, 30)[0], **given)
    assert not hasattr(model, "_state")


def test_a_resumed_stream_needs_the_same_columns(tmp_path):
    X, data, _ = truth(0, 60)
    source = listed(X, data | {"other": ["a", "b"] * 30})
    for formula, metadata in ((["group"], ["group"]), (None, ["group", "other"])):
        opened = stream(source, batch_size=20, metadata=metadata)
        model = TopicModel(K, n_sweeps=2, random_state=0)
        model.fit_stream(opened, checkpoint=tmp_path, prevalence=formula)
        assert model._state.prevalence.design.columns == ["group"]
    opened = stream(source, batch_size=20, metadata=["other"])
    with pytest.raises(InputError, match=r"differs from the columns .* \(group\); remove it"):
        TopicModel(K, n_sweeps=2).fit_stream(opened, checkpoint=tmp_path, prevalence="other")
    longer = stream(pl.concat([source, source[:30]]), batch_size=20)
    with pytest.raises(InputError, match="Missing column 'group'"):
        TopicModel(K, n_sweeps=2, random_state=0).fit_stream(longer, checkpoint=tmp_path)
    with pytest.raises(InputError, match="Missing column 'group'"):
        TopicModel(K).fit_stream(stream(source), prevalence="group")


def test_documents_without_values_come_first(tmp_path):
    X, data, _ = truth(0, 90)
    model = TopicModel(K, n_sweeps=3, batch_size=30, random_state=0)
    none = [None] * 30
    model.partial_fit(X[:30], prevalence="group", data={"group": none})
    assert len(model._state.prevalence.rows) == 1
    opelda.save(model, tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    assert np.array_equal(loaded.transform(X[:30], data={"group": none}), model.transform(X[:30]))
    rest = {"group": data["group"][30:]}
    assert same(loaded.partial_fit(X[30:], data=rest), model.partial_fit(X[30:], data=rest))
    assert len(model._state.prevalence.rows) == 4


DAMAGES = [
    ("window.prior_rows", lambda a: a[:-1]),
    ("window.prior_rows", lambda a: a + np.uint16(7)),
    ("window.prior_rows", lambda a: a.astype(np.int64)),
    ("window.prior_rows", None),
    ("prevalence.ratios", lambda a: a[:-1]),
    ("prevalence.ratios", lambda a: -a),
    ("prevalence.ratios", None),
    ("prevalence.shares", lambda a: 0 * a),
    ("prevalence.rows", lambda a: a[1:]),
]


@pytest.fixture(scope="module")
def parts():
    return as_parts(fitted(n_docs=60)[0])


@cases(("name", "damage"), DAMAGES)
def test_damaged_rows_are_rejected(tmp_path, parts, name, damage):
    arrays, header = deepcopy(parts)
    path, array = tmp_path / "model.opelda", arrays.pop(name)
    if damage is not None:
        arrays[name] = np.ascontiguousarray(damage(array))
    header["checksum"] = checksum(arrays, header)
    opelda._store.write(path, arrays, header, kind=KIND, version=FORMAT)
    with pytest.raises(ModelFileError, match=r"its (documents|prevalence)"):
        opelda.load(path)
