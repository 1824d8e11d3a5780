"""Markup is removed before tokenization; other text is kept."""

import random
import re
from dataclasses import replace

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from opelda.corpus import Tokenizer, Vocabulary, read, stream
from opelda.corpus.text import _markup as markup
from opelda.corpus.text._markup import FEW
from tests.cases import cases

TOKENIZER = Tokenizer(stop_words=None)
KEEPING = replace(TOKENIZER, keep_markup=True)
# markup and the words that remain
MARKUP = {
    "http://t.co/AbC?x=1&y=2": "",
    "HTTPS://de.wikipedia.org/wiki/Köln_(Rhein)": "",
    "https:\\/\\/pbs.twimg.com\\/media\\/x.jpg": "",
    "https…": "",
    "ftp://ftp.example.org/pub": "",
    "www.example.com/colspan": "",
    "pic.twitter.com/xyz": "",
    "bit.ly/2v7tHHD": "",
    "some.body+news@mail.example.com": "",
    "mailto:me@example.org": "",
    "@SenatorBurr": "",
    ".@Name_1's": "",
    "@user@mastodon.social": "",
    "RT @name:": "",
    "QT @name": "",
    "<br/>": "",
    "</TD>": "",
    '<td colspan="2" class=wide>': "",
    "<input disabled>": "",
    "<a\nhref='x?a=b'>anchor</a>": "anchor",
    "<dc:title>": "",
    "<!DOCTYPE html>": "",
    '<?xml version="1.0"?>': "",
    "<!-- a > comment -->": "",
    "<script type='x'>if (one < two) three();</script>": "",
    "<STYLE>p {color: red}</STYLE>": "",
    "<![CDATA[inside]]>": "inside",
    "&nbsp;": "",
    "&amp;amp;nbsp;": "",
    "&#160;": "",
    "&lt;br /&gt;": "",
    "&amp": "",
    "caf&eacute;": "café",
    "caf&#xE9;": "café",
    "&Eacute;T&Eacute;": "été",
    "r\\u00e9sum\\u00e9": "résumé",
    "\\u003cbr\\u003e": "",
    "AT&amp;T": "at",
    "\\r\\nafter": "after",
    '{| class="wikitable" style="text-align: center;"': "",
    "| colspan=2 | cell |}": "cell",
    "[[File:Cat on mat.jpg|thumb|250px|A fine cat]]": "fine cat",
    "[[Category:Physicists]]": "physicists",
    "{{cite web|url=http://x.org|title=Old|accessdate=today}}": "",
}
# kept unchanged
TEXT = (
    "a < b and c > d", "1<2", "if x <y and z> w", "AT&T", "R&D;", "C++", "C#", "Q & A", "#hashtag",
    "price@store", "naïve@café", "4 @ 5pm", "@ home", "and/or", "e.g./i.e.", "U.S./Mexico", "km/h",
    "node.js/either", "good.He/she", "&ampere", "awww. so", "ART @ the museum", "5 = five",
    "class = 5", "\\nabla \\theta \\ref{x}", "C:\\users", "[[link|shown]]", "{{infobox}}",
    "don't", "日本語", "ไทย", "&unknown;", "subclass", "start RT if", "x=<5", "->", "<3", "<>",
    "amazon.com", "a.b/c",
)  # fmt: skip


def words(text, tokenizer=TOKENIZER):
    counted = tokenizer.count([text])
    return dict(zip(counted.words, counted.counts.toarray()[0].tolist(), strict=True))


@cases("piece", MARKUP)
def test_markup_gives_no_words(piece):
    assert words(f"one {piece} two") == words(f"one {MARKUP[piece]} two", KEEPING)
    assert words(piece) == words(MARKUP[piece], KEEPING)


@cases("text", TEXT)
def test_text_that_resembles_markup_is_kept(text):
    assert words(text) == words(text, KEEPING)
    assert words(f"one {text} two") == words(f"one {text} two", KEEPING)


PIECES = st.lists(st.sampled_from([*MARKUP, *TEXT]), max_size=12)


@given(PIECES)
def test_markup_is_removed_as_listed(pieces):
    by_hand = " ".join(MARKUP.get(piece, piece) for piece in pieces)
    assert words(" ".join(pieces)) == words(by_hand, KEEPING)


ANY = st.lists(
    st.sampled_from([*MARKUP, *TEXT, " ", "\n"]) | st.text("<>&;@/=aAé日#x2 \"'\\.[{|-!")
)


@given(ANY.map("".join))
@example("&" * 50 + "<a" * 50)
def test_every_code_path_removes_the_same_markup(text):
    column = pl.Series([text] * (FEW + 1))
    (cleaned,) = set(markup.without_markup(column).to_list())
    assert cleaned == markup.few_without_markup([text])[0]
    long = text + " word" * markup.LONG
    assert markup.few_without_markup([long])[0] == cleaned + " word" * markup.LONG
    if not re.search(markup.SIGNS, text):
        assert cleaned == text == markup._cleaned(pl.Series([text]))[0]


@given(st.text(st.characters(exclude_characters="<&@=\\/[{\u2026", exclude_categories=["Cs"])))
def test_text_without_markup_characters_is_unchanged(text):
    text = text.replace("www.", "").replace("WWW.", "").replace("Www.", "")
    assert markup.without_markup(pl.Series([text] * (FEW + 1)))[0] == text


@given(PIECES.map(" ".join))
def test_removing_markup_is_idempotent(text):
    (cleaned,) = markup.few_without_markup([text])
    assert words(cleaned) == words(cleaned, KEEPING) == words(text)


def test_rows_keep_their_order():
    draw = random.Random(0)
    texts = [f"doc{n} " + draw.choice([*MARKUP, "plain"]) for n in range(300)]
    counted = TOKENIZER.count(texts, n_jobs=3)
    for row, text in enumerate(texts):
        own = {counted.words[column] for column in counted.counts[[row]].indices}
        assert own == set(words(text))
        assert f"doc{row}" in own


TWEETS = ["RT @bob: see <b>cats</b> &amp; dogs https://t.co/dogs", "dogs, cats @bob"] * 3


@cases("keep", [False, True])
def test_read_stream_and_vocabulary_remove_markup(keep, tmp_path):
    tokenizer = replace(TOKENIZER, keep_markup=keep)
    expected = {"cats", "dogs", "see"} | ({"amp", "bob", "rt", "https", "co"} if keep else set())
    corpus = read(TWEETS, tokenizer=tokenizer, min_df=1, max_df=1.0)
    assert set(corpus.words) == expected
    path = tmp_path / "tweets.txt"
    path.write_text("\n".join(TWEETS), encoding="utf-8")
    batches = stream(path, tokenizer=tokenizer, min_df=1)
    assert sum(batch.X.sum() for batch in batches) == corpus.X.sum()
    assert set(batches.vocabulary) == expected
    for vocabulary in (corpus.vocabulary, batches.vocabulary):
        assert vocabulary.tokenizer.keep_markup is keep
        many = vocabulary.count([*TWEETS, *[""] * FEW])[: len(TWEETS)]
        for _ in range(2):  # the second call uses a table
            assert (vocabulary.count(TWEETS) != many).nnz == 0
        assert many.sum() == corpus.X.sum()


def test_settings_without_keep_markup_keep_markup():
    """Settings without `keep_markup` were saved when markup was tokenized."""
    settings = TOKENIZER.to_dict()
    del settings["keep_markup"]
    assert Tokenizer.from_dict(settings) == KEEPING
    arrays, header = Vocabulary(["amp"]).to_arrays()
    del header["tokenizer"]["keep_markup"]
    assert Vocabulary.from_arrays(arrays, header).count(["&amp;"]).sum() == 1
    del header["tokenizer"]
    assert Vocabulary.from_arrays(arrays, header).count(["&amp;"]).sum() == 1
