"""Figures: their content and layout, and hostile texts."""

import datetime as dt
import sys
from itertools import pairwise
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import opelda
from opelda.corpus import read
from opelda.errors import InputError
from opelda.report import map_positions, rank_words, topic_table, topic_weights
from opelda.report.plots import plot_groups, plot_learning, plot_map, plot_over_time, plot_topics
from opelda.report.plots._frame import written as cut
from tests.cases import cases

THEMES = (["star", "galaxy", "orbit"], ["bread", "flour", "oven"], ["court", "judge", "jury"])


@pytest.fixture(autouse=True)
def headless():
    """Use the agg backend, and close all figures."""
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def texts():
    chance = np.random.default_rng(0)
    return [" ".join(chance.choice(THEMES[i % 3], 20)) for i in range(120)]


@pytest.fixture(scope="module")
def model(texts):
    return opelda.TopicModel(3, random_state=0).fit(texts)


def themes_of(model):
    return [next(i for i, t in enumerate(THEMES) if w[0] in t) for w in model.top_words(1)]


def saved(axes, tmp_path, kinds):
    for kind in kinds:
        axes.figure.savefig(tmp_path / f"figure.{kind}")
    return (tmp_path / "figure.svg").read_text()


def test_bars_show_word_probabilities(model):
    axes = plot_topics(model, 4)
    heaviest = np.argsort(-topic_weights(model), kind="stable")
    for axis, topic in zip(axes, heaviest, strict=True):
        row = topic_table(model, 4, only=[topic])[0]
        assert tuple(bar.get_width() for bar in axis.patches) == row.probabilities
        assert tuple(label.get_text() for label in axis.get_yticklabels()) == row.words
        assert axis.get_title(loc="left").startswith(f"{topic} ")
        assert row.label.split(",")[0] in axis.get_title(loc="left")


def test_requested_topics_and_rankings(model):
    axes = plot_topics(model, 3, only=[2, 0], by="frex")
    assert [axis.get_title(loc="left")[0] for axis in axes] == ["2", "0"]
    words = [model.vocabulary_.words[i] for i in rank_words(model, 3, by="frex")[2]]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == words
    assert len(plot_topics(model, n_topics=2)) == 2


def test_map_shows_every_topic_with_its_number(texts):
    model = opelda.TopicModel(3, random_state=0).fit(texts + texts[::3] * 5)
    axis = plot_map(model)
    circles = axis.collections[0]
    offsets, places = circles.get_offsets(), map_positions(model)
    assert np.corrcoef(offsets[:, 0], places[:, 0])[0, 1] > 0.999  # without displaced circles
    assert np.corrcoef(offsets[:, 1], places[:, 1])[0, 1] > 0.999
    sizes, weights = circles.get_sizes(), topic_weights(model)
    assert np.allclose(sizes / sizes.max(), weights / weights.max(), rtol=1e-4)
    written = [text.get_text() for text in axis.texts]
    assert {"0", "1", "2"} <= set(written)
    labels = {cut(row.label, width) for row in topic_table(model) for width in (28, 16)}
    assert set(written) - {"0", "1", "2"} <= labels


class Weighted:
    """A model with given weights and labels."""

    def __init__(self, n, seed):
        chance = np.random.default_rng(seed)
        self.components_ = chance.dirichlet(np.full(200, 0.05), n)
        self.topic_labels_ = [f"topic-{i}, and what it is of" for i in range(n)]
        self.topic_weights_ = chance.permutation(np.geomspace(1, 0.02, n))


@pytest.mark.parametrize(
    ("n", "own"), [*((n, own) for n in (1, 2, 5, 20, 60) for own in (False, True)), (120, True)]
)
def test_nothing_on_the_map_overlaps(monkeypatch, n, own):
    topics = Weighted(n, n)
    weights = topics.topic_weights_
    monkeypatch.setattr("opelda.report.plots._topic_figures.shares_or_even", lambda *_: weights)
    axis = plot_map(topics, ax=Figure((4, 4)).subplots() if own else None)
    axis.figure.draw_without_rendering()
    to_pixels = axis.figure.dpi / 72
    middles = axis.transData.transform(axis.collections[0].get_offsets())
    radii = np.sqrt(axis.collections[0].get_sizes()) / 2 * to_pixels
    apart = np.hypot(*(middles[:, np.newaxis] - middles).T) - radii - radii[:, np.newaxis]
    np.fill_diagonal(apart, 0)
    assert apart.min() > -1
    numbers, labels = axis.texts[:n], axis.texts[n:]
    boxes = [text.get_window_extent() for text in labels]
    frame = axis.get_window_extent().padded(1)
    named = [int(text.get_text().split("-")[1].split(",")[0].strip("…")) for text in labels]
    assert weights.argmax() in named or (own and n > 20)
    for i, (k, box) in enumerate(zip(named, boxes, strict=True)):
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.overlaps(number.get_window_extent()) for number in numbers)
        nearest = np.clip(middles, [box.x0, box.y0], [box.x1, box.y1])
        far = np.hypot(*(middles - nearest).T) - radii
        assert far.min() > -1  # covers no circle
        assert far[k] < 5 * to_pixels  # next to its circle
    if n <= 20 and not own:
        assert len(labels) > 0.8 * n


def test_number_of_map_labels_is_limited():
    topics = np.random.default_rng(0).dirichlet(np.full(200, 0.05), 60)
    assert len(plot_map(topics).texts) > 80
    assert len(plot_map(topics, n_labels=5).texts) <= 65
    assert len(plot_map(topics, n_labels=0).texts) == 60


def test_over_time_shows_yearly_means(model, texts):
    years = [2000 + i // 30 for i in range(120)]
    axis = plot_over_time(model, texts, years, n_topics=3)
    theta = model.transform(texts)
    for line in axis.lines:
        topic = int(line.get_label().split()[0])
        expected = [theta[30 * i : 30 * i + 30, topic].mean() for i in range(4)]
        assert np.allclose(line.get_ydata(), expected, atol=1e-4)
        assert [moment.year for moment in line.get_xdata()] == [2000, 2001, 2002, 2003]
    assert {text.get_text() for text in axis.texts} == {line.get_label() for line in axis.lines}


def test_lines_have_gaps_for_missing_months(model, texts):
    """Isolated points have a marker, points on lines do not."""
    days = [*range(1, 25), *range(120, 144), 300]
    dates = [f"{np.datetime64('1987-01-01') + day}" for day in days for _ in range(10)]
    many = (texts * 5)[: len(dates)]
    line = plot_over_time(model, many, dates, unit="day", topics=[0]).lines[0]
    shares, times = line.get_ydata(), line.get_xdata()
    gaps = np.flatnonzero(np.isnan(shares))
    assert gaps.tolist() == [24, 49]
    assert [times[i] for i in gaps] == [times[i + 1] for i in gaps]
    assert np.isfinite(np.delete(shares, gaps)).all()
    assert list(line.get_markevery()) == [50]


def test_over_time_shows_the_topics_that_changed_most(model, texts):
    stars = [text for text in texts if text.split()[0] in THEMES[0]]
    some, times = texts + stars, [2001] * 120 + [2002] * len(stars)
    axis = plot_over_time(model, some, times, n_topics=1)
    assert int(axis.lines[0].get_label().split()[0]) == themes_of(model).index(0)
    axis = plot_over_time(model, some, times, topics=[1])
    assert axis.lines[0].get_label().startswith("1 ")


@pytest.mark.parametrize("last", ["alike", "none of two topics"])
def test_line_labels_do_not_overlap(model, texts, last):
    some = texts if last == "alike" else [text for text in texts if text.split()[0] in THEMES[0]]
    times = [2000] * 120 + [2001] * len(some)
    axis = plot_over_time(model, texts + some, times, n_topics=3)
    axis.figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in axis.texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))
    frame = axis.get_window_extent()
    assert frame.y0 - boxes[0].height < boxes[0].y0
    assert boxes[-1].y1 < frame.y1 + boxes[0].height


def test_groups_show_group_means(model, texts):
    groups = [("sky", "food", "law")[i % 3] for i in range(119)] + [None]
    axes = plot_groups(model, texts, groups, topics=[0, 1, 2])
    names = [label.get_text() for label in axes[0].get_yticklabels()]
    for topic, axis in enumerate(axes):
        shares = [bar.get_width() for bar in axis.patches]
        best = ("sky", "food", "law")[themes_of(model)[topic]]
        assert names[int(np.argmax(shares))].startswith(best)
        assert max(shares) > 0.9
    assert names == ["food (40)", "sky (40)", "law (39)"]
    assert len(plot_groups(model, texts, groups, n_groups=2)[0].patches) == 2
    assert "treat topics as known" in " ".join(axes[0].figure.get_supxlabel().split())


def test_bars_of_all_panels_have_one_scale(model, texts):
    groups = ["sky" if i % 3 == 0 else "other" for i in range(120)]
    topics = [[0.9, 0.1, 0.0], [0.3, 0.3, 0.4], [0.001, 0.001, 0.998]]
    own = Figure().subplots(1, 3)
    for axes in (
        plot_groups(model, texts, groups, topics=[0, 1, 2]),
        plot_groups(model, texts, groups, topics=[0, 1, 2], ax=own),
        plot_topics(topics, 3),
        plot_topics(topics, 3, by="relevance"),
    ):
        axes[0].figure.draw_without_rendering()
        longest = max(bar.get_width() for axis in axes for bar in axis.patches)
        for axis in axes:
            assert axis.get_xlim() == axes[0].get_xlim()
            assert longest < axis.get_xlim()[1] < 1.5 * longest
            ticks = [tick.get_text() for tick in axis.get_xticklabels()]
            assert len(ticks) > 1
            assert ticks[0] == "0%"


def test_learning_curve():
    curve = [(100, -7.5), (200, -7.1), (100_000, -7.0)]
    model = SimpleNamespace(learning_curve_=curve, learning_curve_of_="validation documents")
    axis = plot_learning(model)
    assert [*zip(*axis.lines[0].get_data(), strict=True)] == curve
    assert "validation documents" in axis.get_ylabel()
    assert axis.get_xscale() == "log"
    with pytest.raises(InputError, match="no learning curve"):
        plot_learning(SimpleNamespace(learning_curve_=[]))


def test_axes_given_are_drawn_on_and_returned(model, texts):
    figure = Figure()
    one, *three = figure.subplots(4)
    assert plot_map(model, ax=one) is one
    assert list(plot_topics(model, ax=three)) == three
    assert plot_topics(model, only=[1], ax=one)[0] is one
    assert plot_over_time(model, texts, [2000 + i % 2 for i in range(120)], ax=one) is one
    assert list(plot_groups(model, texts, ["a"] * 120, topics=[0, 1], ax=three)) == three[:2]
    with pytest.raises(InputError, match="ax holds 1, but there are 3 topics"):
        plot_topics(model, ax=one)


HOSTILE = '$x^{$ \\frac <script>&" \x1b[31m\u202e\n %s {0} _' + "long " * 400


def test_hostile_texts_are_drawn_literally(texts, tmp_path):
    words = [f"{HOSTILE[:60]}{i}" for i in range(9)]
    documents = [{words[3 * (i % 3) + j]: 5 for j in range(3)} for i in range(60)]
    model = opelda.OnlineOPE(3, random_state=0).fit(documents)
    corpus = read(documents, vocabulary=model.vocabulary_)
    for axes, kinds in (
        (plot_topics(model)[0], ("svg",)),
        (plot_map(model), ("svg",)),
        (plot_over_time(model, corpus, [2000 + i % 2 for i in range(60)]), ("svg",)),
        (plot_groups(model, corpus, [HOSTILE, "$", "_^"] * 20)[0], ("png", "svg", "pdf")),
    ):
        svg = saved(axes, tmp_path, kinds)
        assert "<script" not in svg
        assert "\x1b" not in svg
        assert "\u202e" not in svg
        width, height = axes.figure.get_size_inches()
        assert width < 15
        assert height < 15


def test_figures_do_not_change_matplotlib_settings(model):
    with mpl.rc_context({"font.size": 7.5, "savefig.dpi": 77}):
        before = dict(mpl.rcParams)
        plot_map(model)
        assert dict(mpl.rcParams) == before


@cases(
    ("call", "message"),
    [
        (lambda m, t: plot_over_time(m, t), "no column of times"),
        (lambda m, t: plot_groups(m, t), "no column of groups"),
        (lambda m, t: plot_over_time(m, t, [2001] * 120), "the same year"),
        (lambda m, t: plot_over_time(m, t, [2001] * 119 + [2002]), "Fewer than two years"),
        (lambda m, t: plot_over_time(m, t, [2001, 2002] * 9), "18 labels"),
        (lambda m, t: plot_over_time(m, t, [2001] * 120, unit="eon"), "unit must be"),
        (lambda m, t: plot_over_time(m.components_, t, [2001] * 120), "must be a fitted model"),
        (lambda m, t: plot_topics(m, only=[]), "at least one topic"),
        (lambda m, t: plot_topics(m, only=[7]), "only must be"),
    ],
)
def test_invalid_arguments_are_rejected(model, texts, call, message):
    with pytest.raises(InputError, match=message):
        call(model, texts)


def test_missing_matplotlib_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"^Figures need matplotlib.*opelda\[plot\]'\.$"):
        plot_map(model)


def test_time_column_of_the_metadata_is_detected(model, texts):
    corpus = read(
        [
            {"text": text, "date": str(dt.date(2000 + i % 2, 1, 1)), "section": "ab"[i % 2]}
            for i, text in enumerate(texts)
        ],
        text_column="text",
        vocabulary=model.vocabulary_,
        metadata="auto",
    )
    assert len(plot_over_time(model, corpus).lines[0].get_xdata()) == 2
    assert len(plot_groups(model, corpus)[0].patches) == 2
