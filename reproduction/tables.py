"""The tables of docs/reproduction.md: our figures beside the paper's."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median

from reproduction import inference_time, paper, short_text
from reproduction.curves import frequencies_alone, last
from reproduction.learners import NAMES, SEVEN
from reproduction.methods.found import exponents, quality, storage
from reproduction.rows import Rows, grouped, where
from reproduction.stability_figure import STARTS, convergence, spreads

Results = dict[tuple[str, str], Rows]
# the paper's collections and what stands for them here
PLACES = {"New York Times": ("news", "nyt"), "PubMed": ("arxiv",), "Tweet": ("reddit",)}
FREQUENCIES = "word frequencies alone"
# collections that times were taken on
TIMED = ("nyt-shape", "pubmed-shape", "arxiv", "reddit")
LEARNED = ("nyt-shape", "arxiv", "reddit")
LEARNERS = ("ML-OPE", "Online-OPE")
LENGTHS = (10, 20, 50, 100)  # values of T that the page shows
SYMBOLS = {"batch_size": "S", "n_iter": "T", "learning_decay": "kappa", "learning_offset": "tau"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, names to the left and numbers to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def learned(results: Results) -> list[str]:
    """LPP and NPMI at the end, the paper's and ours."""
    head = ["learner"]
    columns: list[dict[str, str]] = []
    for place, (theirs, ours) in enumerate(PLACES.items()):
        head.append(f"paper, {theirs}")
        columns.append(
            {
                name: f"{paper.LPP[theirs][name][-1]:.2f}, {paper.NPMI[name][place]:.3f}"
                for name in SEVEN
            }
        )
        for corpus in ours:
            rows = results[corpus, "learning-documents"]
            head.append(f"`{corpus}`")
            ends = {row["learner"]: f"{row['lpp']:.3f}, {row['npmi']:.3f}" for row in last(rows)}
            columns.append(ends | {FREQUENCIES: f"{frequencies_alone(rows):.3f}"})
    names = (*NAMES, FREQUENCIES)
    return table(head, ([name, *(column.get(name, "") for column in columns)] for name in names))


def hours(results: Results) -> list[str]:
    """Time for a million documents, and against Online-OPE's."""
    own = {
        corpus: {
            row["learner"]: row["seconds"] / row["documents"] * 1e6
            for row in last(results[corpus, "learning-documents"])
        }
        for corpus in LEARNED
    }
    head = ["learner", "paper, New York Times", *(f"`{corpus}`" for corpus in LEARNED)]
    columns = [_timed(paper.HOURS, "Online-OPE", "g", "h")]
    columns += [_timed(seconds, "Online-OPE", ".1f", "s") for seconds in own.values()]
    return table(head, ([name, *(column[name] for column in columns)] for name in SEVEN))


def _timed(times: dict[str, float], first: str, form: str, unit: str) -> dict[str, str]:
    """Write times with their ratio to the first method's."""
    return {
        name: f"{time:{form}} {unit} ({time / times[first]:.1f})" for name, time in times.items()
    }


def sensitivity(results: Results) -> list[str]:
    """LPP for each value of each parameter, means over seeds."""
    rows = results["arxiv", "sensitivity"]
    lines = []
    for parameter, symbol in SYMBOLS.items():
        line = [symbol]
        for learner in LEARNERS:
            values = grouped(where(rows, parameter=parameter, learner=learner), "value")
            found = {value: fmean(row["lpp"] for row in values[value]) for value in sorted(values)}
            line.append(", ".join(f"{value:g}: {lpp:.3f}" for value, lpp in found.items()))
        lines.append(line)
    return table(["", *LEARNERS], lines)


def inference(results: Results) -> list[str]:
    """Time per document, and against OPE's."""
    columns = [_timed({name: time * 1e3 for name, time in paper.SECONDS.items()}, "OPE", "g", "ms")]
    for corpus in TIMED:
        found = inference_time.medians(results[corpus, "inference-time"])
        micro = {name: seconds * 1e6 for name, seconds in found.items()}
        columns.append(_timed(micro, "OPE", ".0f", "µs"))
    head = ["method", "paper, New York Times", *(f"`{corpus}`" for corpus in TIMED)]
    return table(head, ([name, *(column[name] for column in columns)] for name in paper.SECONDS))


def stability(results: Results) -> list[str]:
    """f, its log-likelihood, the gap and the spread, by T."""
    lines = []
    for corpus in ("nyt", "arxiv"):
        rows = results[corpus, "stability"]
        for row in convergence(rows):
            if row["T"] not in LENGTHS:
                continue
            line = [f"`{corpus}`, {row['T']}"]
            line += [f"{row[name]:.1f}" for name in ("f", "log_likelihood", "gap")]
            for init in STARTS:
                sds = spreads(rows, init=init)[row["T"]]
                small = sum(sd <= paper.STABLE_SD for sd in sds) / len(sds)
                line.append(f"{median(sds):.1f} ({small:.0%})")
            lines.append(line)
    spread = [f"sd of f, {init} start" for init in STARTS]
    return table(["T", "f", "log-likelihood", "gap", *spread], lines)


def methods(results: Results) -> list[str]:
    """Table 1 as measured."""
    rows = results["arxiv", "methods-table"]
    slopes = {part: exponents(rows, part) for part in ("K", "n", "N")}
    memory = {row["method"]: f"{row['peak_bytes'] / 1e6:.2f} MB" for row in storage(rows)}
    reached = quality(rows)
    lines = []
    for name in dict.fromkeys(row["method"] for row in rows):
        measured = " ".join(f"{p}^{slopes[p][name]:.2f}" for p in slopes if name in slopes[p])
        found = ["", "", ""]
        if (best := reached.get(name)) is not None:
            found = [
                f"{best['seconds_per_document'] * 1e6:,.0f} µs",
                f"{best['lpp']:.3f}",
                f"{best['likelihood_gap']:.1f}",
            ]
        lines.append([name, measured, memory.get(name, ""), *found])
    head = ["method", "time of an iteration", "memory"]
    return table([*head, "time of a document", "LPP", "likelihood gap"], lines)


def short(results: Results) -> list[str]:
    """Short texts: learning with each method, and inference with given topics."""
    head = ["method"]
    columns = []
    for corpus in ("tweets", "reddit"):
        rows = results[corpus, "short-text"]
        for part, measure, form, title in (
            ("learning", "lpp", "{:.3f}", "LPP of learned topics"),
            ("inference", "lpp", "{:.3f}", "LPP with given topics"),
            ("inference", "effective_topics", "{:.1f}", "effective topics"),
        ):
            head.append(f"`{corpus}`: {title}")
            found = short_text.scores(rows, part, measure)
            columns.append({key: form.format(value) for key, value in found.items()})
    lines = [
        [
            name if p is None else f"{name}, p = {p:g}",
            *(column.get((name, p), "") for column in columns),
        ]
        for name, p in columns[0]
    ]
    return table(head, lines)


TABLES: dict[str, Callable[[Results], list[str]]] = {
    "learned": learned,
    "hours": hours,
    "sensitivity": sensitivity,
    "inference": inference,
    "stability": stability,
    "methods": methods,
    "short": short,
}
