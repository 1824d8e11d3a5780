"""`n_runs`: the most central run is kept, with the stability of its topics."""

import numpy as np
import pytest

import opelda
from opelda import OnlineOPE, TopicModel, _store
from opelda.corpus import generate
from opelda.errors import InputError, ModelFileError
from opelda.learning._learner import run_seeds
from opelda.learning._listeners import describe
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from opelda.metrics import match_topics
from opelda.metrics._matching import stability_over_runs
from tests.cases import cases

X = generate(120, n_words=60, n_topics=3, n_tokens=20, random_state=0).X
SEEDS = run_seeds(7, 3)


def made(n_runs=3, **options):
    given = {"n_components": 4, "n_passes": 1, "n_sweeps": 2, "random_state": 7, "n_jobs": 1}
    return TopicModel(**given | options, n_runs=n_runs)


def expected_stability(runs):
    """Return the mean Jaccard similarity of each topic of each run to those it matches."""
    found = np.zeros((len(runs), len(runs[0])))
    for a, topics in enumerate(runs):
        others = [other for b, other in enumerate(runs) if b != a]
        for other in others:
            found[a] += match_topics(topics, other, similarity="jaccard", n_words=20)[1]
    return found / (len(runs) - 1)


@pytest.mark.parametrize("options", [{}, {"preset": "fast"}], ids=str)
def test_most_central_run_is_kept(options):
    model = made(**options).fit(X)
    single = [made(1, **options | {"random_state": seed}).fit(X) for seed in SEEDS]
    assert all(each.topic_stability_ is None for each in single)
    stability = expected_stability([np.asarray(each.components_) for each in single])
    best = stability.mean(axis=1).argmax()
    np.testing.assert_array_equal(model.components_, single[best].components_)
    np.testing.assert_array_equal(model.coherence_, single[best].coherence_)
    assert model.n_docs_seen_ == single[best].n_docs_seen_
    # of equally good matches either may be taken: the mean is the same
    assert model.topic_stability_.mean() == pytest.approx(stability[best].mean())
    assert model.topic_stability_.shape == (4,)


def test_stability_is_the_mean_similarity_of_matched_topics():
    rng = np.random.default_rng(0)
    runs = [rng.dirichlet(np.full(80, 0.05), 6) for _ in range(4)]
    runs[1] = runs[0][::-1]
    words = [np.argsort(-run, axis=1, kind="stable")[:, :20] for run in runs]
    np.testing.assert_allclose(
        stability_over_runs(words).mean(axis=1), expected_stability(runs).mean(axis=1)
    )
    np.testing.assert_allclose(stability_over_runs(words[:2]), 1.0)
    np.testing.assert_array_equal(stability_over_runs(words[:1]), 0.0)


def test_run_seeds_start_from_the_given_seed_and_differ():
    assert SEEDS[0] == 7
    assert run_seeds(7, 2) == SEEDS[:2]
    assert len({*run_seeds(7, 50), *run_seeds(8, 50)}) == 100


def test_stability_is_saved_and_reset_with_its_topics(tmp_path):
    model = made(n_jobs=2).fit(X)
    opelda.save(model, tmp_path / "m")
    opelda.save(made(n_jobs=1).fit(X), tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (
        tmp_path / "n"
    ).read_bytes()  # for any number of threads
    loaded = opelda.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.topic_stability_, model.topic_stability_)
    assert loaded.n_runs == 3
    assert loaded.partial_fit(X[:20]).topic_stability_ is None
    assert model.set_params(n_runs=1).fit(X).topic_stability_ is None


@cases("bad", [np.full(4, -0.1), np.full(4, np.nan), np.ones(3), np.ones((4, 1))])
def test_bad_stability_in_a_file_is_rejected(tmp_path, bad):
    arrays, header = as_parts(made(2).fit(X))
    arrays["stability"] = bad
    header["checksum"] = checksum(arrays, header)
    _store.write(tmp_path / "m", arrays, header, kind=KIND, version=FORMAT)
    with pytest.raises(ModelFileError, match="is not a model this version can use"):
        opelda.load(tmp_path / "m")


def test_slow_stream_is_learned_in_one_run():
    for learn in (lambda model: model.partial_fit(X), lambda model: model.fit_stream([X])):
        model = made()
        with pytest.raises(
            InputError, match="n_runs is 3, but partial_fit and fit_stream support one run only"
        ):
            learn(model)
        assert not hasattr(model, "_state")
        learn(made().fit(X))  # continues the selected run
    assert "n_runs" not in OnlineOPE().get_params()


@cases("n_runs", [0, 2.5, "x", True])
def test_bad_n_runs_is_rejected(n_runs):
    with pytest.raises(InputError, match="n_runs must be"):
        made(n_runs).fit(X)


def test_reports_state_the_run():
    reports = []
    made(callbacks=reports.append).fit(X)
    runs = [report.n_run for report in reports]
    assert sorted(set(runs)) == [1, 2, 3]
    assert runs == sorted(runs)
    assert {report.n_runs for report in reports} == {3}
    assert describe(reports[-1]).startswith("run 3/3, ")
    made(1, callbacks=reports.append).fit(X)
    assert "run" not in describe(reports[-1])


@cases(("stopped", "n_done"), [(1, 0), (2, 1), (3, 2)])
def test_interrupt_keeps_finished_runs(stopped, n_done):
    def interrupt(report):
        if report.n_run == stopped and report.n_updates == 2:
            raise KeyboardInterrupt

    model = made(callbacks=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    if n_done == 0:  # what one fit leaves: two updates
        assert model.n_batch_iter_ == 2
        return
    finished = made(n_done).fit(X)
    np.testing.assert_array_equal(model.components_, finished.components_)
    np.testing.assert_array_equal(model.topic_stability_, finished.topic_stability_)


def test_one_shot_iterators_are_accepted():
    texts = ["green tea cup", "black tea pot", "red wine glass", "white wine bottle"] * 5
    model = made(2).fit(iter(texts), validation=iter(texts[:4]), validate_every=1)
    assert model.n_runs == 2
    assert model.vocabulary_ is not None
    assert model.learning_curve_of_ == "validation documents"
