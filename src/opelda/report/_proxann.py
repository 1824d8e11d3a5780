"""Topics and documents as the input of ProxAnn."""

import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from opelda._validation import whole
from opelda.corpus import stream
from opelda.corpus.formats._writing import write_in_one_step
from opelda.errors import InputError
from opelda.metrics._mixture_measures import check_model, mixtures
from opelda.metrics._top_words import rank_words
from opelda.metrics._topics import MeasuredTopics, chosen_topics
from opelda.report._document_blocks import BLOCK, numbered
from opelda.report._retrieval import TypicalDocuments

N_WORDS = 100  # of a topic


def export_proxann(
    model: Any,
    corpus: Any,
    path: str | PathLike[str],
    *,
    n_documents: int = 7,
    topics: Iterable[int] | None = None,
    **reading: Any,
) -> Path:
    """Write topics and documents as JSON for ProxAnn (Hoyle et al., 2025), and return the path.

    Exemplars are the documents of `top_documents`. Evaluation documents are others: their shares
    of the topic are closest to equal steps from the largest share to 0. The distractor has the
    smallest share. The layout is read by ``ProxAnn.run_metric`` of github.com/ahoho/proxann, as of
    2025.

    Parameters
    ----------
    model : fitted model with a vocabulary
    corpus : documents for `opelda.corpus.stream`
        Texts, a table or a path; the texts are held in memory.
    path : path
    n_documents : int
        Exemplars, and evaluation documents, of each topic.
    topics : iterable of int, optional
        The numbers of the topics; None is all.
    **reading
        As for `opelda.corpus.stream`, such as ``text_column``.

    Examples
    --------
    >>> import json, tempfile
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> written = export_proxann(model, texts, f"{tempfile.mkdtemp()}/proxann.json")
    >>> sorted(json.loads(written.read_text())["opelda"]["0"])
    ['distractor_doc', 'eval_docs', 'exemplar_docs', 'topic_words']
    """
    check_model(model)
    found = TypicalDocuments(whole("n_documents", n_documents))
    measured, words = MeasuredTopics.of(model), getattr(model, "vocabulary_", None)
    best, names = rank_words(measured, N_WORDS, by="probability"), measured.words()
    wanted, shares = chosen_topics(topics, len(best)), [np.empty((0, len(best)))]
    texts: list[str] = []
    opened = stream(corpus, vocabulary=words, batch_size=BLOCK, **reading)
    for block in numbered(opened.batches(learn=False)):
        if words is None or block.texts is None:
            raise InputError("has no texts; pass texts, and a model fitted to texts.", "corpus")
        theta = mixtures(model, block.X)
        found.add(block, theta)
        shares.append(np.where(block.tokens[:, np.newaxis] > 0, theta, -1.0))  # -1: no known word
        texts.extend(block.texts)
    theta = np.concatenate(shares)
    known = np.flatnonzero(theta[:, 0] >= 0)
    if len(known) <= 2 * n_documents:
        raise InputError(
            f"has {len(known)} documents with known words; pass more than {2 * n_documents}.",
            "corpus",
        )
    exported, typical = {}, found.found()
    for topic in wanted:
        exemplars, chosen = [-entry.minus_number for entry in typical[topic]], []
        left = np.setdiff1d(known, exemplars)
        for target in np.linspace(theta[left, topic].max(), 0.0, n_documents):
            chosen.append(int(left[np.abs(theta[left, topic] - target).argmin()]))
            left = left[left != chosen[-1]]
        chosen.sort(key=lambda row: -theta[row, topic])
        distractor = int(left[theta[left, topic].argmin()])
        exemplar_docs, eval_docs, (distractor_doc,) = (
            [{"doc_id": row, "text": texts[row], "prob": float(theta[row, topic])} for row in rows]
            for rows in (exemplars, chosen, [distractor])
        )
        for row, document in zip(chosen, eval_docs, strict=True):
            document["assigned_to_k"] = bool(theta[row].argmax() == topic)
        exported[str(topic)] = {
            "topic_words": [str(names[j]) for j in best[topic]],
            "exemplar_docs": exemplar_docs,
            "eval_docs": eval_docs,
            "distractor_doc": distractor_doc,
        }
    with write_in_one_step(path) as file:
        file.write(json.dumps({"opelda": exported}, indent=2).encode())
    return Path(path)
