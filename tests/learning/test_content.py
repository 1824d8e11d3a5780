"""Topics with words of groups: `fit(content=)`, `words_by_group`, and documents of groups."""

import numpy as np
import pytest

import opelda
from opelda import TopicModel
from opelda.errors import InputError
from opelda.metrics import match_topics
from opelda.report import words_by_group
from tests.cases import cases

K, V, GROUPS = 4, 120, ("a", "b")


def generated(seed, n_docs=1500, deviation=1.5):
    """Return counts, groups, topics (K, V) and the deviations of 10 words per topic in group b."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(V, 0.1), K)
    own = np.zeros((K, V))
    for k in range(K):
        often = np.argsort(-topics[k])[:20]
        own[k, rng.choice(often, 10, replace=False)] = deviation * rng.choice([-1.0, 1.0], 10)
    tables = [topics * np.exp(sign * own) for sign in (-0.5, 0.5)]
    tables = [table / table.sum(axis=1, keepdims=True) for table in tables]
    group = rng.integers(0, 2, n_docs)
    theta = rng.dirichlet(np.full(K, 0.3), n_docs)
    X = np.array([rng.multinomial(60, t @ tables[g]) for t, g in zip(theta, group, strict=True)])
    return X, np.array(GROUPS)[group], tables, theta


@pytest.mark.parametrize("seed", [0, 1])
def test_topics_of_groups_are_recovered(seed):
    X, group, tables, _ = generated(seed)
    model = TopicModel(K, random_state=seed).fit(X, content="paper", data={"paper": group})
    common = model.components_
    content = model._state.content
    for name, truth in zip(GROUPS, tables, strict=True):
        found = content.topics(content.groups.index(name), common).components
        order = match_topics(truth, found)[0]

        def far(table, order=order, truth=truth):
            return 0.5 * np.abs(table[order] - truth).sum(axis=1).mean()

        assert far(found) < 0.6 * far(common)
        assert far(found) < 0.1


def test_documents_of_a_group_are_predicted_better_by_its_words():
    X, group, _, theta = generated(2)
    held = slice(1000, None)
    data = {"paper": group[:1000]}
    model = TopicModel(K, random_state=0).fit(X[:1000], content="paper", data=data)
    plain = TopicModel(K, random_state=0).fit(X[:1000])
    given = {"paper": group[held]}
    assert np.array_equal(model.components_, plain.components_)
    assert np.array_equal(model.transform(X[held]), plain.transform(X[held]))
    assert model.score(X[held], data=given) > model.score(X[held]) + 0.01
    wrong = {"paper": np.where(group[held] == "a", "b", "a")}
    assert model.score(X[held], data=wrong) < model.score(X[held])
    order = match_topics(generated(2)[2][0], model.components_)[0]
    error = [
        np.abs(found[:, order] - theta[held]).sum(axis=1).mean()
        for found in (model.transform(X[held], data=given), model.transform(X[held]))
    ]
    assert error[0] < error[1]
    # documents of unknown groups have the common topics; others do not depend on them
    mixed = np.where(np.arange(len(X[held])) % 2, group[held], "other")
    found = model.transform(X[held], data={"paper": mixed})
    assert np.array_equal(found[::2], model.transform(X[held])[::2])
    assert np.array_equal(found[1::2], model.transform(X[held], data=given)[1::2])


def test_random_groups_hardly_deviate():
    X, _, _, _ = generated(3, deviation=0.0)
    group = np.random.default_rng(0).choice(["a", "b"], len(X))
    model = TopicModel(K, random_state=0).fit(X[:1000], content="g", data={"g": group[:1000]})
    assert len(model._state.content.cells) < 0.15 * 2 * K * V
    given = {"g": group[1000:]}
    assert model.score(X[1000:], data=given) > model.score(X[1000:]) - 0.01


def test_words_by_group_name_the_deviating_words(tmp_path):
    X, group, tables, _ = generated(4)
    model = TopicModel(K, random_state=0).fit(X, content="paper", data={"paper": group})
    rows = words_by_group(model, 3, only=[1, 0])
    assert [(row.topic, row.group) for row in rows] == [
        (topic, name) for topic in (1, 0) for name in model._state.content.groups
    ]
    order = match_topics(model.components_, tables[0])[0]
    ratio = dict(zip(GROUPS, (tables[0] / tables[1], tables[1] / tables[0]), strict=True))
    for row in rows:
        assert row.words
        for word, times in zip(row.words, row.ratios, strict=True):
            assert times > 1.1
            assert ratio[row.group][order[row.topic], int(word[1:])] > 1
    opelda.save(model, tmp_path / "m.opelda")
    again = opelda.load(tmp_path / "m.opelda")
    assert words_by_group(again, 3, only=[1, 0]) == rows
    data = {"paper": group[:50]}
    assert np.array_equal(again.transform(X[:50], data=data), model.transform(X[:50], data=data))


@cases(
    ("how", "message"),
    [
        ({"content": "tone"}, "Missing column 'tone'"),
        ({"content": 3}, "must be the name of a column"),
        ({"content": "paper", "data": {"paper": ["a"] * 5}}, "fewer than two levels"),
        ({"content": "paper", "data": {"paper": ["a", "b"] * 20}}, "has 40 rows for 60 documents"),
        ({"content": "paper", "n_groups": 3}, "cannot be combined with n_groups"),
    ],
)
def test_mistakes_are_one_sentence(how, message):
    X, group, _, _ = generated(5, n_docs=60)
    model = TopicModel(K, random_state=0, n_groups=how.pop("n_groups", None))
    with pytest.raises(InputError, match=message):
        model.fit(X, **({"data": {"paper": group}} | how))
    plain = TopicModel(K, random_state=0).fit(X)
    with pytest.raises(InputError, match="fit it with content"):
        words_by_group(plain)
