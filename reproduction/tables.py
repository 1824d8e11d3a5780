"""The tables of docs/reproduction.md: our figures beside the paper's."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median, stdev
from typing import Any

from reproduction import inference_time, paper, short_text
from reproduction.curves import curve, frequencies_alone, last
from reproduction.learners import NAMES, NO_TOPICS, SEVEN
from reproduction.methods.found import exponents, grows_with, quality, storage
from reproduction.rows import Rows, grouped
from reproduction.stability_figure import STARTS, convergence, spreads

Results = dict[tuple[str, str], Rows]
# the paper's collections and what stands for them here
PLACES = {"New York Times": "nyt", "PubMed": "arxiv", "Tweet": "reddit"}
# collections that times were taken on
TIMED = {
    "nyt-shape": "New York Times' shape",
    "pubmed-shape": "PubMed's shape",
    "arxiv": "arXiv",
    "reddit": "Reddit",
}
LEARNED = ("nyt-shape", "arxiv", "reddit")
SYMBOLS = {"batch_size": "S", "n_iter": "T", "learning_decay": "kappa", "learning_offset": "tau"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, names to the left and numbers to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def predictiveness(theirs: str, ours: str | None = None) -> Callable[[Results], list[str]]:
    """LPP early, after a pass and at the end, the paper's and ours."""

    def make(results: Results) -> list[str]:
        rows = results[ours or PLACES[theirs], "learning-documents"]
        size = max(row["documents"] for row in rows if row["pass"] == 1)  # of a pass
        seen = {row["documents"] for row in rows if row["learner"] != NO_TOPICS}
        marks = [min(seen, key=lambda n: abs(n - size / 3)), size, max(seen)]
        head = ["learner"]
        head += [f"paper, {m:g}M" for m in paper.DOCUMENTS[theirs]]
        head += [f"here, {m / 1e6:.2g}M" for m in marks]
        lines = []
        for name in NAMES:
            given = [f"{v:.2f}" for v in paper.LPP[theirs][name]] if name in SEVEN else [""] * 3
            found = {row["documents"]: row["lpp"] for row in curve(rows, name)}
            lines.append([name, *given, *(f"{found[m]:.3f}" for m in marks)])
        alone = frequencies_alone(rows)
        lines.append(["word frequencies alone", "", "", "", *[f"{alone:.3f}"] * 3])
        return table(head, lines)

    return make


def coherence(results: Results) -> list[str]:
    """NPMI at the end, and topics that make no sense."""
    head = ["learner"]
    for theirs, ours in PLACES.items():
        head += [f"paper, {theirs}", f"here, {ours}", "topics below 0"]
    ends = {
        ours: {row["learner"]: row for row in last(results[ours, "learning-documents"])}
        for ours in PLACES.values()
    }
    lines = []
    for name in NAMES:
        line = [name]
        for place, ours in enumerate(PLACES.values()):
            row = ends[ours][name]
            line.append(f"{paper.NPMI[name][place]:.3f}" if name in SEVEN else "")
            line += [f"{row['npmi']:.3f}", str(row["incoherent"])]
        lines.append(line)
    return table(head, lines)


def hours(results: Results) -> list[str]:
    """Time for a million documents, and against Online-OPE's."""
    head = ["learner", "paper, New York Times", "ratio"]
    head += [text for corpus in LEARNED for text in (TIMED[corpus], "ratio")]
    seconds = {
        corpus: {
            row["learner"]: row["seconds"] / row["documents"] * 1e6
            for row in last(results[corpus, "learning-documents"])
        }
        for corpus in LEARNED
    }
    lines = []
    for name in SEVEN:
        ratio = paper.HOURS[name] / paper.HOURS["Online-OPE"]
        line = [name, f"{paper.HOURS[name]:g} h", f"{ratio:.1f}"]
        for own in seconds.values():
            line += [f"{own[name]:.1f} s", f"{own[name] / own['Online-OPE']:.1f}"]
        lines.append(line)
    return table(head, lines)


def sensitivity(results: Results) -> list[str]:
    """LPP and NPMI for each value of each parameter, means and sds over seeds."""
    rows = results["arxiv", "sensitivity"]
    cells = grouped(rows, "parameter", "value")
    lines = []
    for (parameter, value), cell in sorted(cells.items(), key=_in_order):
        line = [f"{SYMBOLS[parameter]} = {value:g}"]
        for learner in ("ML-OPE", "Online-OPE"):
            own = grouped(cell, "learner")[learner]
            lpp = [row["lpp"] for row in own]
            spread = f" ± {stdev(lpp):.3f}" if len(lpp) > 1 else ""
            line += [f"{fmean(lpp):.3f}{spread}", f"{fmean(row['npmi'] for row in own):.3f}"]
        lines.append(line)
    head = ["", "ML-OPE, LPP", "NPMI", "Online-OPE, LPP", "NPMI"]
    return table(head, lines)


def _in_order(entry: tuple[tuple[str, float], Any]) -> tuple[int, float]:
    (parameter, value), _ = entry
    return list(SYMBOLS).index(parameter), value


def inference(results: Results) -> list[str]:
    """Time per document, and against OPE's."""
    head = ["method", "paper, New York Times", "ratio"]
    head += [text for title in TIMED.values() for text in (title, "ratio")]
    found = {corpus: inference_time.medians(results[corpus, "inference-time"]) for corpus in TIMED}
    lines = []
    for name, theirs in paper.SECONDS.items():
        line = [name, f"{theirs * 1e3:g} ms", f"{theirs / paper.SECONDS['OPE']:.0f}"]
        for own in found.values():
            line += [f"{own[name] * 1e6:.0f} µs", f"{own[name] / own['OPE']:.1f}"]
        lines.append(line)
    return table(head, lines)


def stability(corpus: str) -> Callable[[Results], list[str]]:
    """f, its terms, the gap and the spread by T."""

    def make(results: Results) -> list[str]:
        rows = results[corpus, "stability"]
        lines = []
        for row in convergence(rows):
            line = [f"{row['T']}"]
            line += [f"{row[n]:.1f}" for n in ("f", "log_likelihood", "log_prior", "gap")]
            for init in STARTS:
                sds = spreads(rows, init=init)[row["T"]]
                small = sum(sd <= paper.STABLE_SD for sd in sds) / len(sds)
                line += [f"{median(sds):.1f}", f"{small:.0%}"]
            lines.append(line)
        head = ["T", "f", "log-likelihood", "log-prior", "gap"]
        for init in STARTS:
            head += [f"median sd of f, {init} start", "at most 20"]
        return table(head, lines)

    return make


def methods(results: Results) -> list[str]:
    """Table 1 as stated, and as measured."""
    rows = results["arxiv", "methods-table"]
    slopes = {part: exponents(rows, part) for part in ("K", "n", "N")}
    memory = {row["method"]: row for row in storage(rows)}
    reached = quality(rows)
    names = list(dict.fromkeys(row["method"] for row in rows))
    lines = []
    for name in names:
        own = next(row for row in rows if row["method"] == name)
        measured = " ".join(f"{p}^{slopes[p][name]:.2f}" for p in slopes if name in slopes[p])
        room = memory.get(name)
        needs = ""
        if room is not None:
            needs = f"{room['peak_bytes'] / 1e6:.2f} MB ({grows_with(rows, room) or '-'})"
        best = reached.get(name)
        found = ["", "", ""]
        if best is not None:
            found = [
                f"{best['seconds_per_document'] * 1e6:,.0f} µs",
                f"{best['lpp']:.3f}",
                f"{best['likelihood_gap']:.1f}",
            ]
        stated = [own["stated_time"] or "", own["stated_storage"] or ""]
        lines.append([name, stated[0], measured, stated[1], needs, *found])
    head = ["method", "stated time", "measured", "stated storage", "measured (grows with)"]
    return table([*head, "time per document", "LPP", "likelihood gap"], lines)


def short(corpus: str) -> Callable[[Results], list[str]]:
    """Short texts: learning with each method, and inference with given topics."""

    def make(results: Results) -> list[str]:
        rows = results[corpus, "short-text"]
        learned = {m: short_text.scores(rows, "learning", m) for m in ("lpp", "npmi", "incoherent")}
        columns = ("lpp", "effective_topics", "seconds_per_document")
        given = {m: short_text.scores(rows, "inference", m) for m in columns}
        lines = []
        for key in learned["lpp"]:
            name, p = key
            line = [name if p is None else f"{name}, p = {p:g}"]
            for values, form in (
                (learned["lpp"], "{:.3f}"),
                (learned["npmi"], "{:.3f}"),
                (learned["incoherent"], "{:.0f}"),
                (given["lpp"], "{:.3f}"),
                (given["effective_topics"], "{:.1f}"),
                (given["seconds_per_document"], "{:.1f} µs"),
            ):
                scale = 1e6 if "µ" in form else 1
                line.append(form.format(scale * values[key]) if key in values else "")
            lines.append(line)
        head = ["method", "LPP learned with it", "NPMI", "topics below 0"]
        return table([*head, "LPP of given topics", "effective topics", "time"], lines)

    return make


TABLES: dict[str, Callable[[Results], list[str]]] = {
    "predictiveness New York Times": predictiveness("New York Times"),
    "predictiveness PubMed": predictiveness("PubMed"),
    "predictiveness Tweet": predictiveness("Tweet"),
    "predictiveness, news": predictiveness("New York Times", "news"),
    "coherence": coherence,
    "hours": hours,
    "sensitivity": sensitivity,
    "inference": inference,
    "stability arxiv": stability("arxiv"),
    "stability nyt": stability("nyt"),
    "methods": methods,
    "short reddit": short("reddit"),
    "short tweets": short("tweets"),
}
