"""Figures: distinct and consistent styles of methods."""

from itertools import combinations

from matplotlib.colors import to_rgb

from reproduction.plots import LOOKS, draw_line, legend, panels, style, tidy
from tests.cases import cases


def related(one, other):
    """Whether one name is the Online learner of the other's method."""
    return f"Online-{one}" == other or f"Online-{other}" == one


def method_of(name):
    """Return a name without its variant."""
    return name.replace(",", " ").split()[0].removeprefix("Online-")


def test_methods_have_distinct_plot_styles():
    alike = [pair for pair in combinations(LOOKS, 2) if LOOKS[pair[0]] == LOOKS[pair[1]]]
    assert all(related(*pair) for pair in alike)
    # in black and white, too
    drawn = [(look.marker, look.dash) for look in LOOKS.values()]
    assert len(set(drawn)) == len(drawn) - len(alike)


def test_method_and_its_online_learner_have_one_plot_style():
    for name in LOOKS:
        if name.startswith("Online-"):
            assert LOOKS[name] == LOOKS[name.removeprefix("Online-")]


def test_each_colour_has_one_meaning():
    for one, other in combinations(LOOKS, 2):
        if LOOKS[one].colour == LOOKS[other].colour:
            assert method_of(one) == method_of(other)
        else:
            gap = zip(to_rgb(LOOKS[one].colour), to_rgb(LOOKS[other].colour), strict=True)
            assert sum((a - b) ** 2 for a, b in gap) > 0.01, (one, other)


def test_one_legend_for_all_panels():
    with style():
        figure, axes = panels(2, 2, sharex=True)
        for panel, names in zip(
            axes.flat, (["OPE", "VB"], ["VB"], ["CGS", "OPE"], []), strict=True
        ):
            for name in names:
                draw_line(panel, name, [1, 2], [3, 4])
        draw_line(axes[1, 1], "FW", [1], [2], label="steps")
        legend(figure, axes, n_columns=3)
    assert axes.shape == (2, 2)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["OPE", "VB", "CGS", "steps"]


@cases("ends", [(0.012, 0.08), (250, 900), (1, 20), (1, 1e6)])
def test_short_logarithmic_axes_have_tick_labels(ends):
    figure, axes = panels(1)
    axes[0, 0].plot(ends, (1, 2))
    axes[0, 0].set_xscale("log")
    tidy(axes[0, 0])
    low, high = axes[0, 0].get_xlim()
    seen = [t for t in axes[0, 0].get_xticks() if low <= t <= high]
    assert len(seen) >= 2
    figure.draw_without_rendering()
    assert not any("e" in label.get_text() for label in axes[0, 0].get_xticklabels())
