"""Topic models beside each other on corpora of every kind.

    python -m benchmarks.quality --data DIR [--half tuning|reporting|both] [--corpora arxiv ap ...]
        [--systems best fast before tomotopy topica sklearn gensim] [--before OLD/bin/python]
        [--seeds 0 1 2] [--set '{"n_sweeps": 160}' ...] [--out build/quality.jsonl]
    python -m benchmarks.quality --table build/quality.jsonl

corpora.py states which corpora are for tuning. Choose settings on that half; look at the reporting
half once, at the end. `--set` adds a variant of `best`; "before" is the preset "best" of another
build. Every fit has its own process and two threads; only learning is timed, in sequence.

LPP is the log probability of 30% of the tokens of 1,000 held-out documents, given the others (VB,
three splits); "own" with the model's learned alpha, else with 1/K. NPMI is of ten words per topic,
in training and in held-out documents; diversity the share of distinct words among 25 per topic.
The table ends with the measures in which `best` is worse than a rival by more than the standard
error of the seeds; a rival of one seed has the standard error of `best`. With variants, the command
leaves out each kind of tuning text, chooses a variant on the others, and prints its LPP there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from opelda.metrics import coherence, log_predictive_probability, topic_diversity

from ..corpora import CACHE
from .corpora import CORPORA, LEAST_TOKENS

SYSTEMS = {
    "best": ("opelda", {}),
    "fast": ("opelda", {"preset": "fast"}),
    "before": ("opelda", {}),
    "before fast": ("opelda", {"preset": "fast"}),
    "tomotopy": ("tomotopy", {}),
    "topica": ("topica", {}),
    "sklearn": ("sklearn", {}),
    "gensim": ("gensim", {}),
}
MEASURES = ("lpp", "lpp own", "npmi", "npmi held-out", "diversity", "seconds")
RIVALS = ("fast", "before", "tomotopy, 500")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--half", choices=("tuning", "reporting", "both"), default="tuning")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA)
    parser.add_argument("--systems", nargs="*", choices=SYSTEMS, default=["best", "fast"])
    parser.add_argument("--before", help="a Python with another build")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--set", nargs="*", default=[], help="settings of variants, as JSON")
    parser.add_argument("--out", type=Path, default=Path("build/quality.jsonl"))
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.table:
        table(options.table)
        return
    runs = {name: SYSTEMS[name] for name in options.systems}
    runs |= {settings: ("opelda", json.loads(settings)) for settings in options.set}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name, corpus in CORPORA.items():
        half = "tuning" if corpus.is_for_tuning else "reporting"
        if name not in options.corpora if options.corpora else options.half not in (half, "both"):
            continue
        train, test = corpus.counts(name.partition("-")[0], options.data)
        for seed in options.seeds:
            for label, (system, settings) in runs.items():
                python = options.before if label.startswith("before") else sys.executable
                command = [python, Path(__file__).with_name("fit.py"), system, json.dumps(settings)]
                command += [CACHE / f"quality-{name.partition('-')[0]}-train.npz"]
                for found in fitted([*map(str, command), str(corpus.n_topics), str(seed)]):
                    line = {"corpus": name, "system": label + found.pop("label"), "seed": seed}
                    line |= measured(train, test, **found)
                    print(json.dumps(line), flush=True)
                    with options.out.open("a") as file:
                        file.write(json.dumps(line) + "\n")
    table(options.out)


def fitted(command: list[str]) -> Iterator[dict[str, Any]]:
    """Run fit.py; yield the topics, alpha and seconds of each number of iterations."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "found.npz")
        subprocess.run([*command, str(out)], check=True, stdout=subprocess.DEVNULL)
        found = dict(np.load(out))
    for name, topics in found.items():
        if name.startswith("topics"):
            label = name.removeprefix("topics")
            alpha, seconds = found.get(f"alpha{label}"), float(found[f"seconds{label}"])
            yield {"label": label, "topics": topics, "alpha": alpha, "seconds": seconds}


def measured(
    train: sparse.csr_array,
    test: sparse.csr_array,
    topics: np.ndarray,
    alpha: np.ndarray | None,
    seconds: float,
) -> dict[str, float]:
    scored = test[test.sum(axis=1) >= LEAST_TOKENS][:1000].astype(np.float32)
    how: dict[str, Any] = {"method": "vb", "n_splits": 3, "random_state": 0}
    lpp = float(log_predictive_probability(topics, scored, **how))
    own = lpp
    if alpha is not None:
        own = float(log_predictive_probability(topics, scored, doc_topic_prior=alpha, **how))
    npmi = [float(coherence(topics, part.astype(np.float32)).mean()) for part in (train, test)]
    diversity = float(topic_diversity(topics, n_words=25))
    values = (lpp, own, *npmi, diversity, seconds)
    return {name: round(value, 4) for name, value in zip(MEASURES, values, strict=True)}


def table(path: Path) -> None:
    """Print the means of the seeds, and where `best` is worse than a rival."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        found[line["corpus"]][line["system"]].append([line[name] for name in MEASURES])
    print(f"| corpus | K | half | system | {' | '.join(MEASURES)} |")
    print("|---" * (len(MEASURES) + 4) + "|")
    worse = []
    for name in (name for name in CORPORA if name in found):
        corpus = CORPORA[name]
        half = "tuning" if corpus.is_for_tuning else "reporting"
        for system, rows in found[name].items():
            mean = np.mean(rows, axis=0)
            values = " | ".join(f"{value:.3f}" for value in mean)
            print(f"| {name} | {corpus.n_topics} | {half} | {system} | {values} |")
        for rival in RIVALS:
            if rival in found[name] and "best" in found[name]:
                worse += losses(name, rival, found[name])
    print("\n`best` is worse on:\n" + "\n".join(worse) if worse else "\n`best` is nowhere worse.")
    leave_one_kind_out(found)


def leave_one_kind_out(found: dict[str, dict[str, list[list[float]]]]) -> None:
    """Choose a variant of `best` without a kind of text; print its LPP on this kind."""
    tuned = {name: runs for name, runs in found.items() if CORPORA[name].is_for_tuning}
    common = set.intersection(*map(set, tuned.values())) if tuned else set()
    variants = sorted(common & {"best", *(v for v in common if v.startswith("{"))})
    if len(variants) < 2:
        return
    print("\n| kind left out | chosen on the others | its LPP on this kind | `best` |")
    print("|---|---|---|---|")
    for kind in sorted({CORPORA[name].kind for name in tuned}):
        lpp: dict[str, list[list[float]]] = {variant: [[], []] for variant in variants}
        for name, runs in tuned.items():
            for variant in variants:
                value = float(np.mean(runs[variant], axis=0)[0])
                lpp[variant][CORPORA[name].kind == kind].append(value)
        chosen = max(variants, key=lambda variant: np.mean(lpp[variant][0]))
        values = (f"{np.mean(lpp[variant][1]):.3f}" for variant in (chosen, "best"))
        print(f"| {kind} | {chosen} | {' | '.join(values)} |")


def losses(name: str, rival: str, found: dict[str, list[list[float]]]) -> Iterator[str]:
    """Yield a line for each measure in which `best` is worse by more than its standard error."""
    ours, theirs = (np.array(found[system]) for system in ("best", rival))
    lead = ours.mean(axis=0) - theirs.mean(axis=0)
    error = np.zeros(len(lead))
    if len(ours) > 1:
        spread = [part if len(part) > 1 else ours for part in (ours, theirs)]
        parts = zip(spread, (ours, theirs), strict=True)
        error = np.sqrt(sum(part.var(axis=0, ddof=1) / len(own) for part, own in parts))
    for measure in ("lpp", "npmi held-out", "diversity"):
        column = MEASURES.index(measure)
        if lead[column] < -error[column]:
            figures = f"{lead[column]:+.3f} (s.e. {error[column]:.3f})"
            yield f"{name}: {measure} {figures} from {rival}"


if __name__ == "__main__":
    main()
