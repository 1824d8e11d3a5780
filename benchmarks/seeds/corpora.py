"""Documents with labels, and for some labels the words that a user would choose.

The words were written down from the labels' names, before anything was learned: six for each, none
looked up in the documents. A theme is one or more labels.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import numpy as np
from scipy import sparse

from opelda.corpus import Vocabulary, read

Themes = dict[str, tuple[tuple[str, ...], str]]  # labels, and words

NEWSGROUPS: Themes = {
    "space": (("sci.space",), "space nasa orbit launch shuttle moon"),
    "medicine": (("sci.med",), "doctor disease medical patients health medicine"),
    "cryptography": (("sci.crypt",), "encryption key clipper nsa privacy security"),
    "guns": (("talk.politics.guns",), "gun guns weapons firearms police crime"),
    "hockey": (("rec.sport.hockey",), "hockey nhl team goal puck playoffs"),
    "baseball": (("rec.sport.baseball",), "baseball pitcher hit league team inning"),
    "cars": (("rec.autos",), "car engine dealer ford honda driving"),
    "motorcycles": (("rec.motorcycles",), "bike motorcycle ride riding helmet bmw"),
    "electronics": (("sci.electronics",), "circuit voltage chip power amplifier signal"),
    "christianity": (("soc.religion.christian",), "god jesus church bible christ faith"),
    "middle east": (("talk.politics.mideast",), "israel arab turkish armenian jews palestinian"),
    "for sale": (("misc.forsale",), "sale offer shipping price sell condition"),
}
BBC: Themes = {
    "business": (("business",), "company market profit share economy bank"),
    "entertainment": (("entertainment",), "film music actor award band album"),
    "politics": (("politics",), "government election minister party labour vote"),
    "sport": (("sport",), "match player team cup win champion"),
    "technology": (("tech",), "computer software internet phone technology user"),
}
REUTERS: Themes = {
    "earnings": (("earn",), "profit earnings dividend net loss quarter"),
    "acquisitions": (("acq",), "acquisition merger takeover acquire stake shares"),
    "oil": (("crude",), "oil crude barrels opec petroleum energy"),
    "trade": (("trade",), "trade exports imports tariffs deficit surplus"),
    "currencies": (("money-fx",), "currency dollar exchange yen mark intervention"),
    "interest rates": (("interest",), "interest rate rates bank prime discount"),
    "grain": (("grain",), "grain wheat corn maize harvest crop"),
    "ships": (("ship",), "ship vessel port shipping cargo tanker"),
    "coffee": (("coffee",), "coffee bags quota producers brazil colombia"),
    "sugar": (("sugar",), "sugar beet cane raw white refined"),
    "gold": (("gold",), "gold mine ounces mining bullion silver"),
}
ARXIV: Themes = {
    "robots": (("cs.RO",), "robot robots robotic manipulator motion planning"),
    "security": (("cs.CR",), "attack security encryption cryptographic privacy malware"),
    "networks": (("cs.NI",), "wireless routing network protocol packet traffic"),
    "software": (("cs.SE",), "software developers code testing bugs programming"),
    "learning": (("cs.LG", "stat.ML"), "learning classifier training neural kernel supervised"),
    "plasma": (("physics.plasm-ph",), "plasma tokamak magnetic fusion ion instability"),
    "cold atoms": (("cond-mat.quant-gas",), "condensate bose atoms trap lattice fermi"),
    "logic": (("cs.LO", "math.LO"), "logic proof axiom theorem formula semantics"),
    "groups": (("math.GR",), "group groups finite subgroup abelian simple"),
    "knots": (("math.GT",), "knot link manifold hyperbolic surface braid"),
}
REDDIT: Themes = {
    "guns": (
        ("guns", "gunpolitics", "gundeals", "Firearms", "Glocks", "Gunsforsale", "GunPorn", "ar15",
         "CCW", "dgu"),
        "gun guns rifle pistol ammo firearm",
    ),
    "hockey": (
        ("hockey", "BostonBruins", "DetroitRedWings", "Flyers", "SanJoseSharks", "canucks", "caps",
         "hawks", "EA_NHL"),
        "hockey nhl goalie playoffs cup rangers",
    ),
    "soccer": (
        ("football", "Barca", "Gunners", "LiverpoolFC", "chelseafc", "coys", "MLS", "soccer",
         "reddevils"),
        "football soccer arsenal chelsea liverpool striker",
    ),
    "bicycles": (
        ("bicycling", "cycling", "bikewrench", "bikecommuting", "bicycletouring", "MTB", "Velo",
         "FixedGearBicycle", "Bikeporn", "bmx"),
        "bike bicycle cycling ride riding frame",
    ),
    "programming": (
        ("Python", "PHP", "haskell", "cpp", "csharp", "golang", "Clojure", "coding", "programming",
         "learnprogramming", "javascript", "java", "ruby", "compsci", "django"),
        "programming code language library developer python",
    ),
    "cooking": (
        ("Cooking", "AskCulinary", "Baking", "food", "recipes", "FoodPorn", "Breadit", "budgetfood",
         "slowcooking", "VegRecipes", "BBQ", "EatCheapAndHealthy"),
        "recipe cooking food baked chicken sauce",
    ),
    "cats": (("cats", "catpictures", "CatGifs", "grumpycats"), "cat cats kitten kitty meow purr"),
    "atheism": (
        ("atheism", "TrueAtheism", "atheismplus", "DebateAnAtheist", "Antitheism", "AdviceAtheists",
         "atheismrebooted", "GodlessWomen", "Christianity", "DebateReligion", "DebateAChristian"),
        "atheist atheism religion god christian bible",
    ),
    "beer": (
        ("beer", "Homebrewing", "beerporn", "beertrade"), "beer brew ale ipa stout brewery",
    ),
    "linux": (
        ("linux", "Ubuntu", "archlinux", "debian", "linuxquestions", "linuxadmin", "commandline",
         "LinuxActionShow", "gnu"),
        "linux ubuntu kernel debian distro terminal",
    ),
}  # fmt: skip
TWEETS: Themes = {
    "health care": ((), "health care insurance medicaid obamacare patients coverage premiums"),
    "russia": ((), "russia putin investigation mueller collusion sanctions election"),
    "veterans": ((), "veterans va military service troops army"),
    "climate": ((), "climate energy epa water environment oil"),
    "education": ((), "students school education college teachers loans"),
}
WIKINEWS: Themes = {
    "elections": ((), "election vote party candidate parliament minister"),
    "accidents": ((), "crash plane accident passengers flight airport"),
    "war": ((), "iraq soldiers killed attack bomb military"),
    "space": ((), "nasa space shuttle orbit launch mars"),
    "football": ((), "football match goal league cup team"),
    "courts": ((), "court judge trial charges prison murder"),
    "earthquakes": ((), "earthquake tsunami magnitude quake damage aftershocks"),
}


@dataclass(frozen=True)
class Labelled:
    """Documents to learn from and to test on, counted, with the labels of the test documents."""

    vocabulary: Vocabulary
    train: sparse.csr_array
    test: sparse.csr_array
    labels: list[frozenset[str]]  # of the test documents
    themes: Themes

    @property
    def seeds(self) -> dict[str, list[str]]:
        """The words of each theme."""
        return {name: words.split() for name, (_, words) in self.themes.items()}

    def is_theme(self, name: str) -> np.ndarray:
        """Which test documents have a label of the theme."""
        return np.array([not found.isdisjoint(self.themes[name][0]) for found in self.labels])


def load(name: str, data: Path, limit: int | None = None) -> Labelled:
    """Return a corpus by its name: a fifth of the documents, at most 5,000, is tested on.

    Of a larger corpus `limit` documents, evenly spread and in their order.
    """
    themes, source = CORPORA[name]
    found = list(source(data))
    if limit is not None and limit < len(found):
        found = [found[row] for row in np.linspace(0, len(found) - 1, limit).astype(int)]
    texts, labels = zip(*found, strict=True)
    corpus = read(list(texts), min_df=5, max_df=0.3, n_jobs=1)
    rng = np.random.default_rng(0)
    tokens = np.asarray(corpus.X.sum(axis=1)).ravel()
    test = np.zeros(len(texts), bool)
    long_enough = np.flatnonzero(tokens >= 5)
    test[rng.permutation(long_enough)[: min(5000, len(texts) // 5)]] = True
    counts = sparse.csr_array(corpus.X)
    found = [frozenset(labels[row]) for row in np.flatnonzero(test)]
    return Labelled(corpus.vocabulary, counts[~test & (tokens > 0)], counts[test], found, themes)


Documents = Iterator[tuple[str, tuple[str, ...]]]


def _files(path: Path, encoding: str) -> Iterator[tuple[str, str]]:
    with tarfile.open(path) as files:
        for member in files:
            if member.isfile():
                yield member.name, files.extractfile(member).read().decode(encoding)


def _newsgroups(data: Path) -> Documents:
    for name, text in _files(data / "20news_bydate" / "20news-bydate.tar.xz", "latin-1"):
        yield text.partition("\n\n")[2], (name.split("/")[-2],)  # without the header


def _rare(data: Path) -> Documents:
    """A tenth of the posts to the groups that themes are about, and all others."""
    names = {label for labels, _ in NEWSGROUPS.values() for label in labels}
    number = 0
    for text, labels in _newsgroups(data):
        number += labels[0] in names
        if labels[0] not in names or number % 10 == 0:
            yield text, labels


def _bbc(data: Path) -> Documents:
    archive = data / "octis_small" / "octis-BBC-DBLP-M10.tar.xz"
    for name, text in _files(archive, "utf-8"):
        if name.endswith("BBC_News/corpus.tsv"):
            for line in text.splitlines():
                words, _, label = line.split("\t")
                yield words, (label,)


def _reuters(data: Path) -> Documents:
    story = re.compile(r"<REUTERS TOPICS=\"YES\".*?</REUTERS>", re.DOTALL)
    for _, text in _files(data / "reuters21578" / "reuters21578-sgm.tar.xz", "latin-1"):
        for found in story.findall(text):
            topics = re.search("<TOPICS>(.*?)</TOPICS>", found)
            labels = tuple(re.findall("<D>(.*?)</D>", topics[1])) if topics else ()
            body = re.search(r"<TEXT.*?>(.*)</TEXT>", found, re.DOTALL)
            if labels and body:
                yield unescape(re.sub("<[^>]*>", " ", body[1])), labels


def _arxiv(data: Path) -> Documents:
    import polars

    table = polars.read_parquet(data / "arxiv" / "abstracts-250k.parquet")
    for category, title, abstract in table.select("category", "title", "abstract").iter_rows():
        yield f"{title} {abstract}", (category,)


def _reddit(data: Path) -> Documents:
    path = data / "reddit_titles" / "titles-1.2M.tsv.xz"
    with io.TextIOWrapper(lzma.open(path), "utf-8") as lines:
        for line in lines:
            label, _, title = line.rstrip("\n").partition("\t")
            yield title, (label,)


def _tweets(data: Path) -> Documents:
    path = data / "congress_tweets_2017_07" / "congresstweets-2017-07.tar.xz"
    clean = re.compile(r"https?://\S+|&\w+;|@\w+|^RT ")
    for _, text in _files(path, "utf-8"):
        yield from ((clean.sub(" ", tweet["text"]), ()) for tweet in json.loads(text))


def _wikinews(data: Path) -> Documents:
    for _, text in _files(data / "wikinews" / "wikinews-en.tar.xz", "utf-8"):
        for line in text.splitlines():
            article = json.loads(line)["text"]
            if article.count(" ") >= 20:
                yield article, ()


CORPORA: dict[str, tuple[Themes, Callable[[Path], Documents]]] = {
    "newsgroups": (NEWSGROUPS, _newsgroups),
    "rare": (NEWSGROUPS, _rare),
    "tweets": (TWEETS, _tweets),
    "wikinews": (WIKINEWS, _wikinews),
    "bbc": (BBC, _bbc),
    "reuters": (REUTERS, _reuters),
    "arxiv": (ARXIV, _arxiv),
    "reddit": (REDDIT, _reddit),
}
# Topics, and documents at most.
SIZES: dict[str, tuple[int, int | None]] = {
    "newsgroups": (40, None),
    "rare": (40, None),
    "tweets": (30, None),
    "wikinews": (40, 10_000),
    "bbc": (20, None),
    "reuters": (40, None),
    "arxiv": (60, 20_000),
    "reddit": (100, 100_000),
}
CHOSEN_ON = ("newsgroups", "rare", "tweets", "wikinews")
REPORTED_ON = ("bbc", "reuters", "arxiv", "reddit")
