"""Documents and trained topics for the benchmarks, kept in benchmarks/.cache between runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from opelda.corpus import read
from opelda.inference import OPE, Topics, infer

CACHE = Path(__file__).parent / ".cache"


def load_counts(data: Path | None) -> tuple[sparse.csr_array, sparse.csr_array, str]:
    """Return training and held-out counts: arXiv abstracts under `data`, else generated ones."""
    if data is not None:
        folder = data / "arxiv"
        train = sparse.csr_array(sparse.load_npz(folder / "counts-train-100k.npz"))
        held_out = sparse.csr_array(sparse.load_npz(folder / "counts-heldout-1k.npz"))
        return train, held_out, "arXiv abstracts"
    counts = generate(31_000, n_words=32_000, n_topics=100, n_tokens=75, seed=0)
    return counts[:30_000], counts[30_000:], "generated abstracts"


@dataclass(frozen=True)
class Collection:
    """Documents to learn from and to test on, and topics learned from them."""

    label: str
    train: sparse.csr_array
    held_out: sparse.csr_array
    topics: np.ndarray


def collections(data: Path | None, n_topics: int) -> Iterator[Collection]:
    """Give long documents and short ones: arXiv abstracts and Reddit titles, else generated."""
    for train, held_out, label in (load_counts(data), load_short(data)):
        topics = trained_topics(train, n_topics, label)
        yield Collection(label, train, sparse.csr_array(held_out, dtype=np.float32), topics)


def load_short(data: Path | None) -> tuple[sparse.csr_array, sparse.csr_array, str]:
    """Return training and held-out counts of short documents, of three tokens at least."""
    if data is None:
        counts, label = (
            generate(31_000, 10_000, n_topics=100, n_tokens=7, seed=1),
            "short generated documents",
        )
    else:
        path = data / "reddit_titles" / "titles-1.2M.tsv.xz"
        counts = sparse.csr_array(
            read(path, text_column="2", limit=300_000, min_df=20, n_jobs=-1).X
        )
        label = "Reddit titles"
    counts = counts[counts.sum(axis=1) >= 3]
    counts = counts[np.random.default_rng(0).permutation(counts.shape[0])]
    return counts[2000:], counts[:2000], label


def load_all(data: Path) -> sparse.csr_array:
    """Return the counts of all 250,000 abstracts, with the words of the 100,000; cached."""
    path = CACHE / "arxiv-all.npz"
    if not path.exists():
        import polars
        from sklearn.feature_extraction.text import CountVectorizer

        folder = data / "arxiv"
        table = polars.read_parquet(folder / "abstracts-250k.parquet")
        texts = (f"{t} {a}" for t, a in table.select("title", "abstract").iter_rows())
        words = (folder / "vocab.txt").read_text().split()
        counter = CountVectorizer(token_pattern="[a-z]{3,}", vocabulary=words, dtype=np.uint16)
        CACHE.mkdir(exist_ok=True)
        sparse.save_npz(path, counter.transform(texts))
    return sparse.csr_array(sparse.load_npz(path))


def generate(
    n_docs: int, n_words: int, n_topics: int, n_tokens: float, seed: int
) -> sparse.csr_array:
    """Draw documents from LDA's own model with Zipf-like topics and a few topics a document."""
    rng = np.random.default_rng(seed)
    zipf = 1.0 / np.arange(1, n_words + 1) ** 1.05
    topics = rng.gamma(0.05 + 20 * zipf / zipf.sum(), size=(n_topics, n_words))
    topics += 1e-3 * zipf
    cumulative = np.cumsum(topics / topics.sum(axis=1, keepdims=True), axis=1)
    rows, cols = [], []
    for i in range(n_docs):
        theta = rng.dirichlet(np.full(n_topics, 3.0 / n_topics))
        z = rng.choice(n_topics, size=max(1, rng.poisson(n_tokens)), p=theta)
        u = rng.random(len(z))
        cols.append(
            np.array([np.searchsorted(cumulative[k], v) for k, v in zip(z, u, strict=True)])
        )
        rows.append(np.full(len(z), i))
    flat = (np.concatenate(rows), np.minimum(np.concatenate(cols), n_words - 1))
    counts = sparse.coo_array((np.ones(len(flat[0]), np.float32), flat), shape=(n_docs, n_words))
    return sparse.csr_array(counts)


def trained_topics(train: sparse.csr_array, n_topics: int, label: str) -> np.ndarray:
    """Learn topics by a plain Online-OPE loop: OPE's mixtures, then one sparse product a batch."""
    path = CACHE / f"{label.split()[0].lower()}-{train.shape[0]}-k{n_topics}.npy"
    if path.exists():
        return np.load(path)
    rng = np.random.default_rng(0)
    n_docs, n_words = train.shape
    size, kappa, eta = 2_000, 0.6, 0.01
    lam = rng.gamma(100.0, 0.01, (n_words, n_topics)).astype(np.float32)
    for update in range(2 * n_docs // size):
        batch = train[update * size % n_docs :][:size].astype(np.float32)
        beta = lam / lam.sum(axis=0, dtype=np.float64).astype(np.float32)
        theta = infer(
            batch, Topics(beta.T), method=OPE(n_iter=30), random_state=update, n_jobs=-1
        ).theta
        entries = batch.tocoo()
        x = np.einsum("ik,ik->i", theta[entries.row], beta[entries.col])
        ratio = sparse.csr_array((entries.data / x, (entries.row, entries.col)), batch.shape)
        statistics = beta * (ratio.T @ theta)
        rho = (update + 2.0) ** -kappa
        lam = (1 - rho) * lam + rho * (eta + n_docs / batch.shape[0] * statistics)
    topics = np.ascontiguousarray(lam.T)
    topics /= topics.sum(axis=1, keepdims=True, dtype=np.float64)
    CACHE.mkdir(exist_ok=True)
    np.save(path, topics)
    return topics


def split(counts: sparse.csr_array, seed: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split each document's tokens at random, 70:30."""
    rng = np.random.default_rng(seed)
    held_out = counts.copy()
    held_out.data = rng.binomial(counts.data.astype(np.int64), 0.3)
    return sparse.csr_array(counts - held_out), held_out


def predictive(theta: np.ndarray, topics: np.ndarray, held_out: sparse.csr_array) -> float:
    """Mean over documents of the mean log probability of a held-out token."""
    entries = held_out.tocoo()
    x = np.einsum("ik,ki->i", theta[entries.row], topics[:, entries.col])
    total = np.bincount(entries.row, entries.data * np.log(x), held_out.shape[0])
    tokens = held_out.sum(axis=1)
    return float((total[tokens > 0] / tokens[tokens > 0]).mean())
