"""A page from a model in the simplest way, until `opelda.report` writes it."""

import base64
import gzip
import hashlib
import json
from pathlib import Path

import numpy as np

import opelda
from opelda.metrics import match_topics
from opelda.report import label_topics, rank_words, topic_weights

PAGE = Path(opelda.__file__).parent / "report"
LISTED = 1e-7  # probabilities below this are not listed for each word


def write_report(model, texts, path, *, names=None, title="Sample", **more):
    """Write the page of a model and of the texts it is looked at with."""
    meta, topics, documents = payload(model, texts, names, title=title, **more)
    write_page(path, meta, container(**topics), container(**documents))
    return meta, topics, documents


def payload(model, texts, names, *, title, dates=None, groups=None, other=None, tokenizer=None):
    """Return the three parts of the page."""
    beta = np.array(model.components_, np.float64)
    beta /= beta.sum(axis=1, keepdims=True)
    n_topics, n_words = beta.shape
    weights, vocabulary = topic_weights(model), list(model.vocabulary_)
    found = model.infer(texts)
    theta = np.asarray(found.theta, np.float64)
    time = None if dates is None else over("date", [date[:4] for date in dates], theta)
    group = None if groups is None else over("section", list(groups), theta)
    frequency = weights @ beta
    ranked = [np.unique([ids[k] for ids in best_ids(beta, weights)]) for k in range(n_topics)]
    known = np.unique(np.concatenate(ranked))
    similarity = np.sqrt(beta) @ np.sqrt(beta).T
    place = positions(similarity)
    labels = label_topics(model)
    loss = found.loss
    alpha = np.broadcast_to(np.asarray(model.doc_topic_prior or 1.0 / n_topics), n_topics)
    meta = {
        "format": 1,
        "title": title,
        "created": "2026-11-16T22:10:00Z",
        "version": opelda.__version__,
        "model": {
            "name": "model.opelda",
            "learner": type(model).__name__,
            "n_topics": n_topics,
            "n_words": n_words,
            "n_docs_seen": int(model.n_docs_seen_),
            "settings": [["preset", "best"], ["seed", "0"]],
        },
        "corpus": {
            "name": "sample.jsonl",
            "n_docs": len(texts),
            "n_tokens": float(found.n_tokens.sum()),
            "n_unknown_tokens": 0.0,
            "n_empty": int((found.n_tokens == 0).sum()),
            "n_skipped": 0,
        },
        "score": {
            "lpp": float(model.score(texts[:500], n_splits=1)),
            "error": 0.01,
            "perplexity": float(model.perplexity(texts[:500], n_splits=1)),
            "n_docs": 500,
            "splits": 1,
        },
        "coherence": {"mean": 0.19, "of": "the documents that it learned from"},
        "diversity": 0.83,
        "guarantee": {
            "n_docs": len(texts),
            "within": [[limit, float((loss <= limit).mean())] for limit in (0.01, 0.1, 1)],
            "mean": float(loss.mean()),
            "max": float(loss.max()),
        },
        "curve": {
            "of": "documents it learned from",
            "points": [[500 * i, -7 - 2 / (i + 1)] for i in range(1, 30)],
        },
        "topics": [
            {
                "label": labels[k],
                "given": False,
                "weight": float(weights[k]),
                "coherence": round(float(np.sin(k * 7) * 0.15 + 0.2), 4),
                "stability": round(float(abs(np.cos(k * 5)) * 0.4 + 0.6), 4),
                "x": float(place[k, 0]),
                "y": float(place[k, 1]),
                "related": [
                    [int(j), round(float(similarity[k, j]), 4)]
                    for j in np.argsort(-similarity[k])
                    if j != k
                ][:8],
            }
            for k in range(n_topics)
        ],
        "words": [vocabulary[j] for j in known],
        "frequency": encoded(frequency[known], "<f4"),
        "ranked": {
            "offsets": encoded(np.cumsum([0, *map(len, ranked)]), "<u4"),
            "words": encoded(np.searchsorted(known, np.concatenate(ranked)), "<u4"),
            "probability": encoded(
                np.concatenate([beta[k, ids] for k, ids in enumerate(ranked)]), "<f4"
            ),
        },
        "time": time,
        "groups": group,
        "stability": "How much of the topic is found again when learned from half the documents.",
        "tokenizer": tokenizer
        or {
            "kind": "default",
            "pattern": None,
            "lower": True,
            "ngrams": [1, 1],
            "stop_words": [],
            "why_not": None,
        },
        "inference": {
            "method": "em",
            "n_iter": 6,
            "n_kept": 16,
            "alpha": encoded(alpha, "<f4"),
            "says": None,
        },
        "compare": None if other is None else compared(model, other, beta),
        "sampled": [f"{min(len(texts), 2000):,} of {len(texts):,} texts are in the page."],
        "live": None,
    }
    documents = document_parts(texts, names, theta, found, time, group)
    return meta, topic_parts(beta, vocabulary), documents


def best_ids(beta, weights):
    """Yield the best words for every lambda."""
    n = min(30, beta.shape[1])
    for lambda_ in np.linspace(0, 1, 21):
        yield rank_words(beta, n, by="relevance", weights=weights, lambda_=lambda_)


def over(column, labels, theta):
    """Return the mean shares of topics by label."""
    kinds = sorted(set(labels))
    index = np.array([kinds.index(label) for label in labels])
    shares = [theta[index == i].mean(axis=0).round(5).tolist() for i in range(len(kinds))]
    made = {"column": column, "n_docs": np.bincount(index).tolist(), "shares": shares}
    keys = {"date": {"unit": "year", "bins": kinds}}
    return made | keys.get(column, {"names": kinds, "n_others": 0}) | {"index": index}


def positions(similarity):
    """Place topics by classical scaling, then move them apart a little."""
    distance = np.sqrt(np.maximum(1 - similarity, 0))
    n = len(distance)
    if n < 3:
        return np.eye(2)[:n]
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
    place = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-12))
    ranks = place.argsort(axis=0).argsort(axis=0) / max(n - 1, 1) * 2 - 1
    scaled = place / np.abs(place).max()
    return 0.6 * ranks + 0.4 * scaled


def compared(model, other, beta):
    """Return the part about another model; both have the same words here."""
    theirs = np.array(other.components_, np.float64)
    order, close = match_topics(model, other)
    similarity = np.sqrt(beta) @ np.sqrt(theirs).T
    labels, weights = label_topics(other), topic_weights(other)
    return {
        "name": "other.opelda",
        "n_topics": len(theirs),
        "topics": [
            {"label": labels[k], "weight": float(weights[k]), "coherence": 0.2, "words": words}
            for k, words in enumerate(other.top_words(12))
        ],
        "matches": [
            [a, int(b), float(c)]
            for a, (b, c) in enumerate(zip(order, close, strict=True))
            if b >= 0
        ],
        "similarity": {
            "rows": len(beta),
            "columns": len(theirs),
            "values": encoded(np.clip(similarity * 255, 0, 255), "u1"),
        },
    }


def topic_parts(beta, vocabulary):
    """Return the topics by word, quantised."""
    listed = beta.T >= LISTED
    logs = np.log(beta.T[listed])
    low = float(logs.min())
    step = float((logs.max() - low) / 65535) or 1.0
    rest = np.where(listed, 0, beta.T).sum(axis=1) / np.maximum((~listed).sum(axis=1), 1)
    return {
        "header": {"n_words": len(vocabulary), "n_topics": len(beta), "low": low, "step": step},
        "arrays": {
            "vocabulary": np.frombuffer("\n".join(vocabulary).encode(), "u1"),
            "offsets": np.concatenate([[0], np.cumsum(listed.sum(axis=1))]).astype("<u4"),
            "topic": np.nonzero(listed)[1].astype("<u2"),
            "value": np.rint((logs - low) / step).astype("<u2"),
            "rest": rest.astype("<f4"),
        },
    }


def document_parts(texts, names, theta, found, time, group):
    """Return the documents, their heaviest topics and their texts."""
    n, n_topics = theta.shape
    n_kept = min(5, n_topics)
    best = np.argsort(-theta, axis=1)[:, :n_kept]
    typical = [np.argsort(-theta[:, k] * (found.n_tokens > 20))[:6] for k in range(n_topics)]
    kept = np.unique(np.concatenate([np.arange(min(n, 2000)), *typical]))
    names = names or [text[:60] for text in texts]
    arrays = {
        "names": joined([name.replace("\n", " ") for name in names], "\n"),
        "number": np.arange(n, dtype="<u4"),
        "offsets": (np.arange(n + 1) * n_kept).astype("<u4"),
        "topic": best.ravel().astype("<u2"),
        "weight": np.rint(np.take_along_axis(theta, best, 1).ravel() * 65535).astype("<u2"),
        "tokens": found.n_tokens.astype("<f4"),
        "loss": found.loss.astype("<f4"),
        "typical_offsets": np.cumsum([0, *map(len, typical)]).astype("<u4"),
        "typical": np.concatenate(typical).astype("<u4"),
        "text_of": kept.astype("<u4"),
        "texts": joined([texts[i] for i in kept], "\0"),
    }
    for name, part in (("time", time), ("group", group)):
        if part is not None:
            arrays[name] = part.pop("index").astype("<i2")
    return {"header": {"n_docs": n}, "arrays": arrays}


def joined(texts, separator):
    """Return texts as bytes."""
    return np.frombuffer(separator.join(texts).encode(), "u1")


def encoded(array, dtype):
    """Return numbers in base64."""
    return base64.b64encode(np.ascontiguousarray(array, dtype).tobytes()).decode()


def container(header, arrays):
    """Return arrays behind a line that says which they are, compressed."""
    listed = [[name, array.dtype.name, len(array)] for name, array in arrays.items()]
    head = json.dumps(header | {"arrays": listed})
    head += " " * (-(len(head) + 1) % 8) + "\n"
    data = b"".join(array.tobytes() + b"\0" * (-array.nbytes % 8) for array in arrays.values())
    return gzip.compress(head.encode() + data, 6, mtime=0)


def write_page(path, meta, topics=None, documents=None):
    """Put everything into one file."""
    style, script = ((PAGE / name).read_text() for name in ("page.css", "page.js"))
    connect = "; connect-src 'self'" if meta.get("live") else ""
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        f"img-src data: blob:; base-uri 'none'; form-action 'none'{connect}"
    )
    data = [f'<script type="application/json" id="meta">{safe_json(meta)}</script>']
    for name, part in (("topics", topics), ("documents", documents)):
        if part is not None:
            text = base64.b64encode(part).decode()
            data.append(f'<script type="text/plain" id="{name}">{text}</script>')
    page = (PAGE / "page.html").read_text()
    parts = {"policy": policy, "style": style, "script": script, "data": "\n".join(data)}
    for name, part in parts.items():
        before, after = page.split("{{" + name + "}}")
        page = before + part + after
    Path(path).write_text(page, encoding="utf-8")


def safe_json(meta):
    """Return JSON that no HTML ends in."""
    return json.dumps(meta, ensure_ascii=False).replace("<", "\\u003c")


def digest(text):
    """Return the hash by which a policy knows a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
