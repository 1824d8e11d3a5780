"""Documents with mixtures, losses and words, which the script of a page must reproduce."""

import json
import sys
import unicodedata

import numpy as np

from opelda.corpus import Tokenizer
from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE
from opelda.corpus.text._markup import SPELLED
from opelda.inference import EM, Exact, infer

SCRIPTS = ((0x20, 0x7F), (0xA0, 0x250), (0x300, 0x500), (0x590, 0x780), (0x900, 0xA80))
SCRIPTS += ((0xE00, 0xE80), (0x1E00, 0x2040), (0x2070, 0x2190), (0x3000, 0x3100))
SCRIPTS += ((0x1F600, 0x1F650),)
WORDS = ("İstanbul", "ΣΊΣΥΦΟΣ", "don't", "co-op", "naïve", "a1", "12", "_x_", "हिन्दी", "שָׁלוֹם")
MARKUP = (
    "RT @ab: x", "<b class='x'>ab</b>", "caf&eacute;", "&amp;lt;br&amp;gt;", "&#8217;", "&#xD800;",
    "a@b", "http://x.org/a(b", "caf\\u00e9", "<!-- ab", "a <b and c> d", "ab@c.de", "&x;", "<p>",
    "AT&amp;T", "😀www.ab.de", "href='ab'", "éhref='ab'", "&Alpha;&sigma;&Sigma;", "&amp", "&ampab",
    "[[File:x|thumb|ab",
)  # fmt: skip
UNSPACED = "漢字かなカナーﾊﾟがไทย่าะລາວມີភាសាခမြန်မာ日本々𠀀"
KINDS = {"default": None, "count_vectorizer": COUNT_VECTORIZER, "whitespace": WHITESPACE}


SIZES = ((1, 4, 0.5), (2, 6, 0.5), (40, 60, 0.1), (8, 40, 1.0), (5, 30, 2.5))  # K, V, alpha


def cases(seed, sizes=(*SIZES, (60, 200, 0.02))):
    """Return mixtures and texts of every kind, as JSON values."""
    rng = np.random.default_rng(seed)
    return {
        "mixtures": [made(rng, *size, name) for size in sizes for name in ("em", "exact")],
        "texts": [
            cut(rng, kind, ngrams, keep)
            for kind in KINDS
            for ngrams, keep in ((1, False), (1, True), ((1, 2), False), ((2, 2), True))
        ],
        "markup": SPELLED,
    }


def made(rng, n_topics, n_words, alpha, name):
    """Return topics, documents and their mixtures, inferred by Python in double precision."""
    topics = rng.dirichlet(np.full(n_words, 0.1), n_topics)
    topics[:, 0] = 0  # a word that no topic has
    topics[topics < 1e-4] = 0
    topics[:, 1] += 1e-3  # and one that all have
    topics = (topics / topics.sum(axis=1, keepdims=True)).round(6)
    prior = alpha * rng.uniform(0.8, 1.2, n_topics) if alpha < 1 else np.full(n_topics, alpha)
    shares = rng.dirichlet(np.full(n_topics, 0.3), 4)
    lengths = np.array([[3], [40], [400], [30]])
    X = rng.poisson(lengths * (shares @ topics))
    X[3] = 0
    X[:2, 0] = 2
    how = {"doc_topic_prior": prior, "engine": "reference"}
    best = infer(X, topics, method=Exact(max_loss=1e-4), **how)
    found = infer(X, topics, method=EM(), **how) if name == "em" else best
    # Python accepts a bound of 0.01; the script always searches for the optimal mixture
    behind = np.maximum(best.log_likelihood - found.log_likelihood, 0)
    loss = found.loss if alpha > 1 else behind
    return {
        "settings": {"method": name, "n_iter": 6, "n_kept": 16, "alpha": prior.tolist()},
        "topics": topics.tolist(),
        "counts": X.tolist(),
        "theta": found.theta.round(7).tolist(),
        "loss": loss.round(7).tolist(),
    }


def cut(rng, kind, ngrams, keep_markup):
    """Return texts with their word counts in Python."""
    known = [
        chr(point)
        for first, last in SCRIPTS
        for point in range(first, last)
        if unicodedata.category(chr(point)) not in ("Cn", "Cs")
    ]
    texts = ["".join(rng.choice(known, 200)), " ".join(rng.choice(WORDS, 20)), ""]
    texts.append(" ".join("".join(rng.choice(known, 5)) for _ in range(40)))
    texts.append("".join(rng.choice([*UNSPACED, *"ab1_ "], 80)))
    texts += [between.join(rng.choice(MARKUP, 20)) for between in ("", " ")]
    left_out = ["12", "co"]
    phrases = ["ab ab", "ab caf\u00e9", "don a1"] if ngrams == 1 else []
    tokenizer = Tokenizer(
        phrases=phrases,
        pattern=KINDS[kind],
        stop_words=left_out,
        ngrams=ngrams,
        keep_markup=keep_markup,
        unspaced=None if keep_markup else "pairs",
    )
    found = [tokenizer.count([text]) for text in texts]
    return {
        "settings": {
            "kind": kind,
            "pattern": KINDS[kind],
            "lower": True,
            "ngrams": list(tokenizer.ngrams),
            "stop_words": left_out,
            "phrases": phrases,
            "pairs": not keep_markup,
            "markup": not keep_markup,
        },
        "texts": texts,
        "counts": [
            dict(zip(each.words, each.counts.toarray()[0].tolist(), strict=True)) for each in found
        ],
    }


if __name__ == "__main__":
    json.dump(cases(0, SIZES), sys.stdout, separators=(",", ":"))
    print()
