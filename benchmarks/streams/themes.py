"""Streams with known change: Reddit titles of some subreddits are in them for a while only."""

from __future__ import annotations

import csv
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from ..corpora import CACHE
from ..peers.corpora import Corpus
from . import corpora

THEMES = {
    "programming": (
        "haskell cpp coding java javascript Python learnpython learnprogramming lisp golang perl "
        "PHP dotnet git django jquery learnjavascript ProgrammerHumor Clojure html5 compsci "
        "cscareerquestions androiddev iOSProgramming gamedev Unity3D SQL Database commandline "
        "PowerShell"
    ),
    "guns": (
        "guns gundeals gunpolitics GunPorn Firearms Glocks ar15 GunsAreCool Gunsforsale Hunting "
        "airsoft dgu homedefense CCW"
    ),
    "soccer": (
        "coys chelseafc Gunners Barca LiverpoolFC football FIFA Fifa13 EA_FIFA MLS soccer "
        "footballmanagergames footballdownload reddevils MCFC"
    ),
    "cooking": (
        "AskCulinary VegRecipes BBQ KitchenConfidential 52weeksofcooking JapaneseFood Pizza food "
        "food2 Bacon meat ketorecipes fitmeals Baking EatCheapAndHealthy Cooking recipes "
        "slowcooking vegan glutenfree cocktails Homebrewing mead beer Scotch"
    ),
}
LEAST_TOKENS = 4  # of a theme's title
HELD_OUT = 1000  # titles of the theme, and as many others
TYPICAL = 10.0  # times as frequent in a theme's titles, in at least one title in 200
ARXIV = "arxiv"


@dataclass(frozen=True)
class Change:
    """A theme that has a share of the documents in some stretches, and is absent elsewhere."""

    n_docs: int
    theme: str | None = None
    share: float = 0.0
    stretches: tuple[tuple[int, int], ...] = ()
    grows: bool = False  # from 0 to that share, in each stretch

    def chances(self) -> np.ndarray:
        """Return how likely each document is one of the theme."""
        chances = np.zeros(self.n_docs)
        for begin, end in self.stretches:
            n_docs = end - begin
            chances[begin:end] = np.linspace(0, self.share, n_docs) if self.grows else self.share
        return chances

    def points(self, fine: int = 10_000, coarse: int = 50_000, around: int = 20_000) -> list[int]:
        """Return after how many documents to measure: more often around changes, and at them."""
        found = set(range(coarse, self.n_docs, coarse))
        for begin, end in self.stretches:
            found.update(range(max(begin - around, fine), end + around + 1, fine))
        return sorted(point for point in found if point < self.n_docs)


# The window of `TopicModel` is full after 400,000 titles.
CHANGES = {
    "sudden": Change(600_000, "programming", 0.1, ((450_000, 550_000),)),
    "gradual": Change(600_000, "programming", 0.12, ((430_000, 600_000),), grows=True),
    "recurring": Change(
        1_100_000, "programming", 0.06, ((420_000, 500_000), (1_000_000, 1_080_000))
    ),
    "stationary": Change(1_100_000),
    "sudden-cooking": Change(600_000, "cooking", 0.08, ((450_000, 550_000),)),
    "sudden-guns": Change(600_000, "guns", 0.05, ((450_000, 550_000),)),
    "sudden-soccer": Change(600_000, "soccer", 0.04, ((450_000, 550_000),)),
}


@dataclass(frozen=True)
class Theme:
    """Held-out titles, the theme's own and others; and the theme's words."""

    own: sparse.csr_array
    others: sparse.csr_array
    words: np.ndarray  # of all words, whether a word is typical of the theme


def stream(name: str, data: Path, seed: int) -> tuple[Corpus, Theme | None, list[str]]:
    """Return a stream in the order of a seed, its theme, and the words where they are known."""
    if name == ARXIV:
        return corpora.stream(ARXIV, data), None, []
    counts, of_theme, words = titles(data)
    change = CHANGES[name]
    is_theme = of_theme == list(THEMES).index(change.theme) if change.theme else of_theme < -1
    tokens = np.asarray(counts.sum(axis=1)).ravel()
    order, own, others = ordered(change, is_theme, tokens, seed)
    corpus = Corpus(name, counts[order], counts[others])
    if change.theme is None:
        return corpus, None, words
    return corpus, Theme(counts[own], counts[others], typical(counts, is_theme)), words


def ordered(
    change: Change, is_theme: np.ndarray, tokens: np.ndarray, seed: int, n_held: int = HELD_OUT
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a stream's documents in order, and two times `n_held` that are not in it.

    The first documents belong to the theme, later ones do not; no document occurs twice.
    """
    rng = np.random.default_rng(seed)
    others = rng.permutation(np.flatnonzero(~is_theme & (tokens > 0)))
    own = rng.permutation(np.flatnonzero(is_theme & (tokens >= LEAST_TOKENS)))
    held, own = own[:n_held], own[n_held:]
    chosen = rng.random(change.n_docs) < change.chances()
    n_own = int(chosen.sum())
    n_others = change.n_docs - n_own
    if n_own > len(own) or n_others + n_held > len(others):
        raise SystemExit(
            f"The stream needs {n_own:,} titles of its theme and {n_others + n_held:,} others, but "
            f"there are {len(own):,} and {len(others):,}."
        )
    order = np.empty(change.n_docs, np.int64)
    order[chosen], order[~chosen] = own[:n_own], others[:n_others]
    return order, held, others[n_others : n_others + n_held]


def typical(counts: sparse.csr_array, is_theme: np.ndarray) -> np.ndarray:
    """Return a mask of the words that are far more frequent in a theme's documents."""
    has = sparse.csr_array((np.ones(counts.nnz), counts.indices, counts.indptr), counts.shape)
    own, other = (
        np.asarray(has[part].sum(axis=0)).ravel() / max(int(part.sum()), 1)
        for part in (is_theme, ~is_theme)
    )
    return (own >= 0.005) & (own >= TYPICAL * other)


def titles(data: Path) -> tuple[sparse.csr_array, np.ndarray, list[str]]:
    """Count the words of at least 20 titles, cached; a title without a theme has -1."""
    path = CACHE / "themes.npz"
    if not path.exists():
        from opelda.corpus import read

        source = data / "reddit_titles" / "titles-1.2M.tsv.xz"
        with lzma.open(source, "rt", encoding="utf-8", newline="\n") as lines:
            rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        corpus = read([row[1] for row in rows], min_df=20)
        number = {name: i for i, names in enumerate(THEMES.values()) for name in names.split()}
        X = sparse.csr_array(corpus.X)
        CACHE.mkdir(exist_ok=True)
        np.savez_compressed(
            path,
            data=X.data,
            indices=X.indices,
            indptr=X.indptr,
            of_theme=np.array([number.get(row[0], -1) for row in rows], np.int8),
            words=np.array(corpus.vocabulary.words),
        )
    with np.load(path) as saved:
        words, of_theme = saved["words"].tolist(), saved["of_theme"]
        parts = saved["data"], saved["indices"], saved["indptr"]
    return sparse.csr_array(parts, shape=(len(of_theme), len(words))), of_theme, words
