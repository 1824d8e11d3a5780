"""Learners: update and document counts, mixtures, scores, words, pipelines."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import opelda
from opelda import (
    MLOPE,
    OnlineCGS,
    OnlineCVB0,
    OnlineOPE,
    OnlineVB,
    StreamingOPE,
    StreamingVB,
    TopicModel,
)
from opelda.corpus import generate
from opelda.engines import ReferenceEngine
from opelda.errors import InputError
from opelda.inference import EM, OPE, TLI, VB, TLIWarning, infer
from opelda.learning import History, Online
from opelda.metrics import log_predictive_probability
from tests.cases import cases

K, V, D = 3, 40, 90
X = generate(D, n_words=V, n_topics=K, n_tokens=30, separated=True).X
LEARNERS = [MLOPE, OnlineOPE, StreamingOPE, OnlineVB, StreamingVB, OnlineCVB0, OnlineCGS]


def common(cls):
    """The same for all: no sweeps after the passes."""
    return COMMON | ({"preset": "paper"} if cls is TopicModel else {})


def of_rule(cls, **settings):
    """Set rule parameters on the learner or on its rule, wherever they exist."""
    if cls is TopicModel:
        return {"learning": Online(**settings)}
    named = {"decay": "learning_decay", "offset": "learning_offset", "population": "population"}
    return {named[name]: value for name, value in settings.items()}


def has_population(cls):
    return cls is TopicModel or "population" in cls().get_params()


every_learner = pytest.mark.parametrize("cls", [*LEARNERS, TopicModel])
COMMON = {"n_components": K, "batch_size": 20, "random_state": 5}


def same_topics(a, b):
    return np.array_equal(a.components_, b.components_)


@every_learner
def test_step_number_continues_over_passes_calls_and_files(tmp_path, cls):
    history = History()
    schedule = of_rule(cls, decay=0.7, offset=3.0)
    model = cls(**common(cls), **schedule, n_passes=2, callbacks=history).fit(X)
    assert (model.n_batch_iter_, model.n_docs_, model.n_docs_seen_) == (10, D, 2 * D)
    model.partial_fit(X[:30]).partial_fit(X[30:35])
    opelda.save(model, tmp_path / "model.opelda")
    model = opelda.load(tmp_path / "model.opelda").set_params(callbacks=history)
    model.partial_fit(X[35:60])
    counts = (model.n_batch_iter_, model.n_docs_, model.n_docs_seen_)
    assert counts == (15, D + 60, 2 * D + 60)
    table = history.to_dict()
    assert table["n_updates"] == list(range(1, 16))
    steps = [1.0 if "Streaming" in cls.__name__ else (t + 3.0) ** -0.7 for t in range(1, 16)]
    np.testing.assert_allclose(table["step_size"], steps)
    model.fit(X)  # forgets
    assert (model.n_batch_iter_, model.n_docs_seen_) == (10, 2 * D)
    assert history.to_dict()["step_size"][15] == table["step_size"][0]


@every_learner
def test_saved_model_continues_like_the_original(tmp_path, cls):
    straight = cls(**COMMON).partial_fit(X)
    stopped = cls(**COMMON).partial_fit(X[:40])
    opelda.save(stopped, tmp_path / "model.opelda")
    resumed = opelda.load(tmp_path / "model.opelda").partial_fit(X[40:])
    assert same_topics(straight, resumed)
    assert np.array_equal(straight.transform(X), resumed.transform(X))


@every_learner
def test_partial_fits_equal_one_fit(cls):
    whole = cls(**COMMON).partial_fit(X)
    pieces = cls(**COMMON).partial_fit(X[:20]).partial_fit(X[20:60]).partial_fit(X[60:])
    assert same_topics(whole, pieces)
    assert whole.n_batch_iter_ == pieces.n_batch_iter_ == 5


@every_learner
def test_fit_is_partial_fit_of_the_shuffled_documents(cls):
    order = ReferenceEngine().documents(X).order(5, 1)
    one_batch = common(cls) | {"batch_size": D + 1}
    assert same_topics(cls(**one_batch).fit(X), cls(**one_batch).partial_fit(X[order]))
    if has_population(cls):  # D is the collection from the beginning
        assert not same_topics(cls(**common(cls)).fit(X), cls(**common(cls)).partial_fit(X[order]))
        stated = common(cls) | of_rule(cls, population=D)
        assert same_topics(cls(**common(cls)).fit(X), cls(**stated).partial_fit(X[order]))
        other = common(cls) | of_rule(cls, population=10 * D)
        assert not same_topics(cls(**common(cls)).fit(X), cls(**other).fit(X))
    else:
        assert same_topics(cls(**common(cls)).fit(X), cls(**common(cls)).partial_fit(X[order]))


@every_learner
def test_passes_are_reshuffled(cls):
    order = [ReferenceEngine().documents(X).order(5, n_pass) for n_pass in (1, 2)]
    stated = common(cls) | (of_rule(cls, population=D) if has_population(cls) else {})
    by_hand = cls(**stated).partial_fit(X[order[0]]).partial_fit(X[order[1]])
    assert same_topics(cls(**common(cls), n_passes=2).fit(X), by_hand)


@every_learner
def test_empty_documents_are_counted_and_teach_nothing(cls):
    model = cls(**COMMON).partial_fit(np.zeros((3, V)))
    assert (model.n_batch_iter_, model.n_docs_seen_) == (0, 3)
    first = cls(**COMMON).partial_fit(np.zeros((3, V))).components_
    np.testing.assert_allclose(first.sum(axis=1), 1, rtol=1e-6)
    model.partial_fit(X)
    assert (model.n_batch_iter_, model.n_docs_seen_) == (5, D + 3)
    assert np.isfinite(model.components_).all()


@every_learner
def test_empty_and_one_word_documents(cls):
    model = cls(**COMMON).fit(X)
    short = np.zeros((3, V))
    short[1, 7] = 1
    short[2, 7] = 1e4
    found = model.infer(short)
    assert np.isfinite(found.theta).all()
    np.testing.assert_allclose(found.theta.sum(axis=1), 1, atol=2e-6)
    np.testing.assert_allclose(found.theta[0], 1 / K, rtol=1e-6)
    assert found.gap[0] == 0
    assert (found.gap[1:] > -1e-3).all()
    cls(**COMMON).fit(short)
    model.partial_fit(short)
    assert np.isfinite(model.components_).all()


@every_learner
def test_explicit_zeros_are_ignored(cls):
    parts = X.tocoo()
    row, column = np.append(parts.row, np.arange(D)), np.append(parts.col, np.full(D, 7))
    for nothing in (0.0, 1e-46):
        data = np.append(parts.data.astype(np.float64), np.full(D, nothing))
        stored = sparse.csr_array((data, (row, column)), X.shape)
        assert stored.nnz > X.nnz
        model, plain = cls(**COMMON).fit(stored), cls(**COMMON).fit(X)
        assert same_topics(model, plain)
        assert np.array_equal(model.transform(stored), plain.transform(X))
        assert model.score(stored) == plain.score(X)


@every_learner
def test_transform_equals_infer(cls):
    model = cls(**COMMON).fit(X)
    method = (
        EM()
        if cls in (MLOPE, OnlineOPE, StreamingOPE, TopicModel)
        else model._settings()["inference"]
    )
    found = model.infer(X)
    alone = infer(X, model.components_, method=method, random_state=5)
    for name in ("theta", "gap", "likelihood_gap", "log_likelihood", "log_prior", "n_iter"):
        assert np.array_equal(getattr(found, name), getattr(alone, name)), name
    assert np.array_equal(found.n_tokens, X.sum(axis=1))
    if found.picked is not None:
        assert np.array_equal(found.picked.toarray(), alone.picked.toarray())
    assert np.array_equal(model.transform(X), found.theta)
    assert np.array_equal(cls(**COMMON).fit_transform(X), found.theta)
    for kind, wide in ((np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float32)):
        mixtures = model.transform(X.astype(kind))
        assert mixtures.dtype == wide
        assert np.array_equal(mixtures, found.theta)
        assert np.array_equal(model.transform(X.toarray().astype(kind)), found.theta)


@cases("method", [OPE(n_iter=7), VB(), EM(n_kept=2)])
def test_given_method_is_used(method):
    model = TopicModel(inference=method, preset="paper", transform_method="same", **COMMON).fit(X)
    alone = infer(X, model.components_, method=method, random_state=5)
    assert np.array_equal(model.transform(X), alone.theta)


@cases("cls", [OnlineOPE, OnlineCGS, TopicModel])
def test_mixtures_do_not_depend_on_number_of_documents(cls):
    model = cls(**COMMON).fit(X)  # of many the topics of every word are laid out
    whole = model.transform(X)
    assert X[:1].nnz < V <= X.nnz
    for i in range(0, D, 7):
        assert np.array_equal(model.transform(X[i : i + 1])[0], whole[i])
        assert model.infer(X[i : i + 1]).gap[0] == model.infer(X).gap[i]


@every_learner
def test_empty_document_gets_the_prior_mean(cls):
    prior = np.array([0.2, 0.5, 0.3])
    model = cls(**COMMON, doc_topic_prior=prior).fit(X)
    some = X.toarray()
    some[4] = 0
    np.testing.assert_allclose(model.transform(some)[4], prior, rtol=1e-6)
    np.testing.assert_allclose(model.transform(some[3:5])[1], prior, rtol=1e-6)


@every_learner
def test_scores(cls):
    model = cls(**COMMON).fit(X)
    alpha = np.full(K, 1 / K)
    for method in ("vb", model._transform_method()):
        expected = log_predictive_probability(
            model.components_, X, doc_topic_prior=alpha, method=method, random_state=5
        )
        assert model.score(X, method=method) == pytest.approx(float(expected), rel=1e-12)
    assert model.score(X) == float(expected)
    assert model.perplexity(X) == pytest.approx(np.exp(-model.score(X)), rel=1e-12)
    assert model.score(X, method="ope", n_splits=1) != model.score(X)
    assert model.perplexity(X, method="ope", n_splits=1) == pytest.approx(
        np.exp(-model.score(X, method="ope", n_splits=1)), rel=1e-12
    )
    with warnings.catch_warnings():  # TLI reads the topics of every word
        warnings.simplefilter("ignore", TLIWarning)  # some splits leave it too little
        tli = model.score(X, method="tli", n_splits=1)
        same = log_predictive_probability(
            model.components_, X, method=TLI(), n_splits=1, random_state=5
        )
    assert tli == pytest.approx(float(same), rel=1e-12)


@every_learner
def test_words_come_from_the_vocabulary(cls):
    model = cls(**COMMON).fit(X)
    words = np.array([f"word{j}" for j in range(V)])
    found = model.top_words(5, feature_names=words, by="probability")
    topics = model.components_
    for names, topic in zip(found, topics, strict=True):
        chosen = [int(name[4:]) for name in names]
        assert np.array_equal(topic[chosen], np.sort(topic)[::-1][:5])
    numbered = [[f"x{word[4:]}" for word in topic] for topic in found]
    assert numbered == model.top_words(5, by="probability")
    with pytest.raises(InputError, match="by must be"):
        model.top_words(by="coherence")
    assert all(sorted(topic) == sorted(words) for topic in model.top_words(10 * V, words))
    assert len(model.top_words()[0]) == 10
    with pytest.raises(InputError, match="feature_names has 3 words but the topics have 40"):
        model.top_words(feature_names=["a", "b", "c"])
    with pytest.raises(InputError, match="n_words must be a whole number"):
        model.top_words(0)


@every_learner
def test_frames_keep_column_names(cls):
    names = [f"word{j}" for j in range(V)]
    frame = pd.DataFrame(X.toarray(), columns=names)
    model = cls(**COMMON).fit(frame)
    assert list(model.feature_names_in_) == names
    assert set(model.top_words(3)[0]) <= set(names)
    columns = model.get_feature_names_out().tolist()
    assert len(set(columns)) == K
    for column, label in zip(columns, model.topic_labels_, strict=True):
        assert column.startswith(label)
    theta = model.transform(frame)
    for kind, library in (("pandas", pd), ("polars", pl)):
        shown = model.set_output(transform=kind).transform(frame)
        assert isinstance(shown, library.DataFrame)
        assert list(shown.columns) == columns
        assert np.array_equal(shown.to_numpy(), theta)


@every_learner
def test_unfitted_model_raises_not_fitted_error(cls):
    for call in ("transform", "score", "perplexity", "infer"):
        with pytest.raises(NotFittedError):
            getattr(cls(), call)(X)
    for name in ("components_", "n_batch_iter_", "n_docs_seen_", "n_unknown_tokens_"):
        with pytest.raises(NotFittedError):
            getattr(cls(), name)
    with pytest.raises(NotFittedError):
        cls().top_words()


PLAYS = ["the actors act on stage and the play is a drama", "a drama on stage, a play in acts"]
GAMES = ["the team won the match by a goal", "a goal, a match, and the team lost the game"]


def test_pipelines_and_searches():
    texts = [text for pair in zip(PLAYS, GAMES, strict=True) for text in pair] * 9
    pipeline = Pipeline([("count", CountVectorizer()), ("topics", OnlineOPE(2, random_state=0))])
    search = GridSearchCV(pipeline, {"topics__n_components": [1, 2], "topics__n_passes": [20]})
    search.fit(texts)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["topics__n_components"] == 2
    best = search.best_estimator_
    theta = best.transform(texts)
    assert theta.shape == (len(texts), 2)
    topic = theta.argmax(axis=1)
    assert (topic[0::2] == topic[0]).all()  # plays, in any topic
    assert (topic[1::2] == 1 - topic[0]).all()
    words = best[-1].top_words(3, best[0].get_feature_names_out())
    assert {"stage", "drama", "play"} & set(words[topic[0]])
    assert best.score(texts) == best[-1].score(best[0].transform(texts))
