"""Raw text to a saved model of 100 topics: seconds for opelda, scikit-learn, gensim and tomotopy.

    python benchmarks/end_to_end.py --data DIR [--documents 100000] [--systems opelda gensim ...]

DIR holds arXiv's abstracts-250k.parquet, counts-heldout-1k.npz and vocab.txt. The texts (title and
abstract) lie in a file, a line each; every system reads the file, splits it into words (lower
case, three letters or more, without English stop words, in at least 20 documents and at most 30%),
learns 100 topics with all cores and saves. Each runs in its own process, in sequence, in the same
run. The model is then scored on 1,000 held-out abstracts (log predictive probability of
held-out tokens, mixtures by VB, 70:30, five splits), which is not timed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from ingest import peak, texts
from scipy import sparse

PATTERN, LOW, HIGH, TOPICS = r"[a-z]{3,}", 20, 0.3, 100


def with_opelda(file: Path, target: Path, passes: int) -> tuple[np.ndarray, list[str]]:
    import opelda
    from opelda.corpus import Tokenizer, read

    tokenizer = Tokenizer(pattern=PATTERN, stop_words="en", keep_markup=True)
    corpus = read(file, tokenizer=tokenizer, min_df=LOW, max_df=HIGH)
    model = opelda.OnlineOPE(
        TOPICS,
        batch_size=1000,
        learning_decay=0.6,
        learning_offset=10.0,
        n_iter=20,
        n_passes=passes,
        n_jobs=-1,
        random_state=0,
    )
    model.fit(corpus)
    opelda.save(model, target)
    return model, list(corpus.words)


def with_scikit_learn(file: Path, target: Path, passes: int) -> tuple[Any, list[str]]:
    import joblib
    from joblib.externals.loky import get_reusable_executor
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        token_pattern=PATTERN, stop_words="english", min_df=LOW, max_df=HIGH
    )
    with file.open() as lines:
        X = vectorizer.fit_transform(lines)
    model = LatentDirichletAllocation(
        TOPICS, learning_method="online", max_iter=passes, batch_size=1000, n_jobs=-1
    )
    model.fit(X)
    joblib.dump((vectorizer, model), target)
    get_reusable_executor().shutdown()  # its processes would be waited for
    return model, list(vectorizer.get_feature_names_out())


def with_gensim(file: Path, target: Path, passes: int) -> tuple[Any, list[str]]:
    import re

    from gensim.corpora import Dictionary
    from gensim.models import LdaMulticore
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    find = re.compile(PATTERN).findall
    with file.open() as lines:
        words = [[w for w in find(x.lower()) if w not in ENGLISH_STOP_WORDS] for x in lines]
    dictionary = Dictionary(words)
    dictionary.filter_extremes(no_below=LOW, no_above=HIGH, keep_n=None)
    bags = [dictionary.doc2bow(document) for document in words]
    model = LdaMulticore(
        bags, TOPICS, id2word=dictionary, workers=2, passes=passes, chunksize=2000, random_state=0
    )
    model.save(str(target))
    return model, [dictionary[i] for i in range(len(dictionary))]


def with_tomotopy(file: Path, target: Path, passes: int) -> tuple[Any, list[str]]:
    import re

    import tomotopy
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    find = re.compile(PATTERN).findall
    model = tomotopy.LDAModel(k=TOPICS, min_df=LOW, seed=0)
    documents, df = [], {}
    with file.open() as lines:
        for line in lines:
            document = [w for w in find(line.lower()) if w not in ENGLISH_STOP_WORDS]
            documents.append(document)
            for word in set(document):
                df[word] = df.get(word, 0) + 1
    common = {word for word, n in df.items() if n > HIGH * len(documents)}
    for document in documents:
        model.add_doc([w for w in document if w not in common])
    model.train(passes, workers=2)
    model.save(str(target))
    return model, list(model.used_vocabs)


def topics_of(name: str, model: Any) -> np.ndarray:
    if name == "opelda":
        return model.components_
    if name == "scikit-learn":
        return model.components_ / model.components_.sum(axis=1, keepdims=True)
    if name == "gensim":
        return model.get_topics()
    return np.array([model.get_topic_word_dist(k) for k in range(model.k)])


SYSTEMS = {
    "opelda": (with_opelda, (1, 6)),
    "scikit-learn": (with_scikit_learn, (1,)),
    "gensim": (with_gensim, (1,)),
    "tomotopy": (with_tomotopy, (50,)),
}


def run(name: str, file: Path, data: Path, passes: int) -> dict[str, Any]:
    target = file.parent / f"model-{name}"
    started = time.perf_counter()
    model, words = SYSTEMS[name][0](file, target, passes)
    seconds = time.perf_counter() - started
    memory = peak()
    from opelda.corpus import Vocabulary
    from opelda.metrics import log_predictive_probability

    held_out = sparse.csr_array(sparse.load_npz(data / "counts-heldout-1k.npz")).astype(np.float32)
    columns = Vocabulary(words).columns((data / "vocab.txt").read_text().split())
    known = columns >= 0
    moved = sparse.lil_array((held_out.shape[0], len(words)), dtype=np.float32)
    moved[:, columns[known]] = held_out[:, known]
    topics = np.maximum(topics_of(name, model), 1e-12)
    topics /= topics.sum(axis=1, keepdims=True)
    score = log_predictive_probability(topics, sparse.csr_array(moved), random_state=0)
    return {
        "system": name,
        "passes": passes,
        "seconds": round(seconds, 2),
        "peak_mb": round(memory),
        "words": len(words),
        "lpp": round(float(score), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "abstracts.txt")
        documents = texts(options.data / "abstracts-250k.parquet", options.documents)
        file.write_text("".join(" ".join(text.split()) + "\n" for text in documents))
        print(f"{len(documents):,} documents, {file.stat().st_size / 1e6:.0f} MB")
        for name in options.systems:
            for passes in SYSTEMS[name][1]:
                with ProcessPoolExecutor(1, mp_context=context) as pool:
                    result = pool.submit(run, name, file, options.data, passes).result()
                    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
