"""Raw tweets with and without their mark-up: words of topics, and reading time.

    python -m benchmarks.web_texts --data shared/data --limit 8000 -k 20

Of the heaviest topics, the share that has a piece of a URL or an entity among its first ten words;
seconds of reading alone.
"""

import argparse
import json
import tarfile
from pathlib import Path
from time import perf_counter

from opelda import TopicModel
from opelda.corpus import Tokenizer, read
from opelda.report import topic_weights

_DEBRIS = """
amp bit co com facebook gov gt html http https ift img instagram jpg ly lt m3u8 media mp4 nbsp net
nyti org pbs php pu quot rt status tl tw twimg twitter vid video wapo wp www youtu
"""
DEBRIS = frozenset(_DEBRIS.split())
HEAVIEST, N_WORDS = 13, 10


def tweets(data: Path) -> list[str]:
    """Return all tweets of the US Congress in July 2017, in the order of their days."""
    path = data / "congress_tweets_2017_07" / "congresstweets-2017-07.tar.xz"
    with tarfile.open(path) as archive:
        days = sorted((m for m in archive if m.isfile()), key=lambda member: member.name)
        found = [json.load(archive.extractfile(day)) for day in days]
    return [tweet["text"] for day in found for tweet in day]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("-k", type=int, default=30)
    given = parser.parse_args()
    texts = tweets(given.data)
    if given.limit is not None:
        texts = texts[:: max(len(texts) // given.limit, 1)]
    for keep in (True, False):
        tokenizer = Tokenizer(stop_words="en", keep_markup=keep)
        begun = perf_counter()
        corpus = read(texts, tokenizer=tokenizer)
        seconds = perf_counter() - begun
        model = TopicModel(given.k, random_state=0).fit(corpus)
        order = (-topic_weights(model)).argsort()[:HEAVIEST]
        words = model.top_words(N_WORDS)
        with_debris = sum(not DEBRIS.isdisjoint(words[k]) for k in order)
        print(
            f"keep_markup={keep}: {len(texts):,} tweets read in {seconds:.2f} s, "
            f"{corpus.X.shape[1]:,} words; {with_debris} of the {HEAVIEST} heaviest topics hold "
            "debris"
        )
        for k in order[:3]:
            print("   ", " ".join(words[k]))


if __name__ == "__main__":
    main()
