"""Table 1, measured: time per iteration, storage and quality of twelve inference methods."""

from collections.abc import Sequence

from reproduction.data import Data
from reproduction.experiment import Experiment, Run, Verdict, grade, unless_few
from reproduction.methods.figure import draw_table
from reproduction.methods.found import PARTS, exponents, grows_with, quality, storage, times
from reproduction.methods.measuring import FLAT, NAMES, PLAIN, STATED, UNSCREENED
from reproduction.methods.memory import peaks
from reproduction.methods.quality import quality_reached
from reproduction.methods.timing import Size, iteration_times
from reproduction.rows import TIE, Rows
from reproduction.settings import Settings

OTHERS = ("VB", "CVB", "CVB0", "CGS")  # whom the paper sets beside OPE


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return a run for each of K, n and N, one for memory, and one for quality per seed."""
    quick = settings.quick
    timing = {"documents": [32, 1], "repeats": 1} if quick else {"documents": [64, 2], "repeats": 7}
    timed = [
        Run(
            f"time per iteration against {part}",
            iteration_times,
            {"part": part, "sizes": [list(size) for size in sizes], **timing},
        )
        for part, sizes in _sizes(quick).items()
    ]
    memory = Run("memory", peaks, {"methods": [*NAMES, PLAIN], "sizes": _long_documents(quick)})
    asked = {"documents": 8 if quick else 100, "repeats": 1 if quick else 3}
    return [
        *timed,
        memory,
        *(Run("quality", quality_reached, {"seed": seed, **asked}) for seed in settings.seeds()),
    ]


def _sizes(quick: bool) -> dict[str, list[Size]]:
    if quick:
        return {
            "K": [Size(k, 20, 1, 200) for k in (10, 20, 40)],
            "n": [Size(10, n, 1, 200) for n in (20, 80)],
            "N": [Size(10, 20, times, 200) for times in (1, 4)],
        }
    return {
        "K": [Size(k, 200, 1, 1000) for k in (25, 50, 100, 200, 400, 800)],
        "n": [Size(50, n, 1, 2000) for n in (50, 100, 200, 400, 800)],
        "N": [Size(50, 200, times, 1000) for times in (1, 2, 4, 8, 16)],
    }


def _long_documents(quick: bool) -> list[list[int]]:
    """Return K, n and N: one document, and the same with more of each; more words, more tokens."""
    if quick:
        return [[20, 40_000, 80_000]]
    k, n, tokens = 100, 50_000, 100_000
    return [[k, n, tokens], [2 * k, n, tokens], [k, 2 * n, 2 * tokens], [k, n, 4 * tokens]]


def judge(rows: Rows) -> list[Verdict]:
    """Compare the measurements with the lines of Table 1 and with the paper's conclusions."""
    return [
        *(_ope_grows(rows), _others_grow(rows), _cheapest(rows), _storage(rows)),
        *unless_few(rows, [_quality(rows)]),  # the remaining methods need no learned topics
    ]


def _grows(rows: Rows, name: str) -> dict[str, float]:
    found = {part: exponents(rows, part).get(name) for part in PARTS}
    return {part: slope for part, slope in found.items() if slope is not None}


def _powers(slopes: dict[str, float]) -> str:
    return " ".join(f"{part}^{slope:.2f}" for part, slope in slopes.items())


def _beyond(name: str, slopes: dict[str, float]) -> list[int]:
    """Return each exponent, to the nearest whole number, less that of Table 1."""
    stated = STATED[name][0].split()
    if "N" in stated:  # twice the words came with twice the tokens
        stated.append("n")
    return [round(slope) - (part in stated) for part, slope in slopes.items()]


def _ope_grows(rows: Rows) -> Verdict:
    claim = "the time of an OPE iteration grows like K n"
    plain, screened = _grows(rows, UNSCREENED), _grows(rows, "OPE")
    if len(plain) < len(PARTS) or len(screened) < len(PARTS):
        return Verdict(claim, "not tested", "it takes several sizes of K, n and N")
    exactly = not any(_beyond(UNSCREENED, plain))
    no_faster = max(_beyond("OPE", screened)) <= 0
    why = f"with every topic looked at {_powers(plain)}; with those skipped that cannot come next"
    return Verdict(claim, grade(exactly, no_faster), f"{why} {_powers(screened)}")


def _others_grow(rows: Rows) -> Verdict:
    claim = "the time of VB grows like K n, that of CVB, CVB0 and CGS like K N"
    found = {name: _grows(rows, name) for name in OTHERS}
    found = {name: slopes for name, slopes in found.items() if len(slopes) == len(PARTS)}
    if not found:
        return Verdict(claim, "not tested", "it takes several sizes of K, n and N")
    right = [name for name, slopes in found.items() if not any(_beyond(name, slopes))]
    figures = "; ".join(f"{name} {_powers(slopes)}" for name, slopes in found.items())
    why = f"{figures}; kernels do a word's tokens at once and leave out topics that have no share"
    return Verdict(claim, grade(len(right) == len(OTHERS), bool(right)), why)


def _cheapest(rows: Rows) -> Verdict:
    claim = "an OPE iteration is much cheaper than one of VB, CVB, CVB0 and CGS"
    found = {name: dict(points) for name, points in times(rows, "K").items()}
    sizes = sorted(_shared_sizes(found, (UNSCREENED, *OTHERS)))
    if not sizes:
        why = f'it takes "{UNSCREENED}" and the four others at one K'
        return Verdict(claim, "not tested", why)
    least = min(found[name][size] / found[UNSCREENED][size] for name in OTHERS for size in sizes)
    why = (
        f"times OPE's, K = {sizes[0]:,} to {sizes[-1]:,}; with every topic looked at, as in the "
        f"paper: {_ratios(found, UNSCREENED)}"
    )
    if _shared_sizes(found, ("OPE", *OTHERS)):
        why += f"; with those skipped that cannot come next: {_ratios(found, 'OPE')}"
    return Verdict(claim, grade(least >= 2, least >= 1), why)


def _shared_sizes(found: dict[str, dict[float, float]], names: Sequence[str]) -> set[float]:
    return set.intersection(*(set(found.get(name, {})) for name in names))


def _ratios(found: dict[str, dict[float, float]], ope: str) -> str:
    sizes = _shared_sizes(found, (ope, *OTHERS))
    ratios = {name: [found[name][size] / found[ope][size] for size in sizes] for name in OTHERS}
    return ", ".join(f"{name} {min(own):.3g} to {max(own):.3g}" for name, own in ratios.items())


def _storage(rows: Rows) -> Verdict:
    claim = "OPE needs the least storage, less than VB, CVB, CVB0 and CGS"
    measured = {row["method"]: row for row in storage(rows)}
    found = {name: row["peak_bytes"] for name, row in measured.items()}
    others = {name: found[name] for name in OTHERS if name in found}
    if "OPE" not in found or not others:
        return Verdict(claim, "not tested", "it takes the memory of OPE and of another")
    least = min(others.values())
    grows = {name: grows_with(rows, measured[name]) for name in ("OPE", *others)}
    figures = ", ".join(
        f"{name} {found[name] / 1e6:.2f}{' ~ ' * bool(own)}{own}" for name, own in grows.items()
    )
    why = f"MB: {figures}"
    if PLAIN in found:
        why += f"; OPE without the kernel's copy of its topics {found[PLAIN] / 1e6:.2f}"
    return Verdict(claim, grade(found["OPE"] <= least, found.get(PLAIN, least + 1) <= least), why)


def _quality(rows: Rows) -> Verdict:
    claim = "OPE's inference is at least as good as the others'"
    found = {name: row["lpp"] for name, row in quality(rows).items()}
    flat = found.pop(FLAT, None)
    others = [found[name] for name in OTHERS if name in found]
    if "OPE" not in found or not others:
        return Verdict(claim, "not tested", "it takes the LPP of OPE and of another")
    behind = [other - found["OPE"] for other in others]
    outcome = grade(max(behind) <= TIE, min(behind) <= TIE)
    why = "LPP " + ", ".join(f"{name} {lpp:.3f}" for name, lpp in found.items())
    return Verdict(claim, outcome, why if flat is None else f"{why}; OPE with alpha 1 {flat:.3f}")


EXPERIMENT = Experiment(
    name="methods-table",
    title="time per iteration, storage and quality of twelve inference methods",
    place="Table 1",
    runs=runs,
    draw=draw_table,
    judge=judge,
)
