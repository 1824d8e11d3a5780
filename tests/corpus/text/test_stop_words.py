"""Stop words by language, list and file, and language detection."""
# ruff: noqa: RUF001 (other alphabets)

import gzip

import numpy as np
import polars as pl
import pytest
import stop_words as package
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from opelda.corpus import read
from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE, Tokenizer, stop_words_from
from opelda.corpus.text._languages import listed
from opelda.corpus.text.tokenizer import going_on_as
from opelda.errors import InputError
from tests.cases import cases

# The same story, told in each language.
STORY = {
    "en": "The house is on the hill and it has a garden. We walked there yesterday because the "
    "weather was good, and they told us that the owner had left it to his daughter.",
    "de": "Das Haus steht auf dem Hügel und hat einen Garten. Wir sind gestern dorthin gegangen, "
    "weil das Wetter gut war, und man sagte uns, dass der Besitzer es seiner Tochter vermacht hat.",
    "fr": "La maison est sur la colline et elle a un jardin. Nous y sommes allés hier parce que le "
    "temps était beau, et on nous a dit que le propriétaire l'avait laissée à sa fille.",
    "es": "La casa está en la colina y tiene un jardín. Ayer fuimos allí porque hacía buen tiempo, "
    "y nos dijeron que el dueño se la había dejado a su hija.",
    "it": "La casa è sulla collina e ha un giardino. Ieri siamo andati là perché il tempo era "
    "bello, e ci hanno detto che il proprietario l'aveva lasciata a sua figlia.",
    "pt": "A casa fica na colina e tem um jardim. Ontem fomos lá porque o tempo estava bom, e nos "
    "disseram que o dono a tinha deixado para a sua filha.",
    "nl": "Het huis staat op de heuvel en heeft een tuin. Wij zijn er gisteren heen gegaan omdat "
    "het weer goed was, en men zei ons dat de eigenaar het aan zijn dochter had nagelaten.",
    "sv": "Huset ligger på kullen och har en trädgård. Vi gick dit i går eftersom vädret var bra, "
    "och de sade till oss att ägaren hade lämnat det till sin dotter.",
    "fi": "Talo on kukkulalla ja siinä on puutarha. Menimme sinne eilen, koska sää oli hyvä, ja "
    "meille kerrottiin, että omistaja oli jättänyt sen tyttärelleen.",
    "pl": "Dom stoi na wzgórzu i ma ogród. Poszliśmy tam wczoraj, ponieważ była dobra pogoda, i "
    "powiedziano nam, że właściciel zostawił go swojej córce.",
    "ru": "Дом стоит на холме, и у него есть сад. Мы ходили туда вчера, потому что погода была "
    "хорошая, и нам сказали, что хозяин оставил его своей дочери.",
    "hi": "घर पहाड़ी पर है और उसमें एक बगीचा है। हम कल वहाँ गए क्योंकि मौसम अच्छा था, और उन्होंने हमें "
    "बताया कि मालिक ने इसे अपनी बेटी के लिए छोड़ दिया था।",
}
NO_LANGUAGE = (
    "topic model inference document corpus gradient convex stochastic",
    "Gallia est omnis divisa in partes tres quarum unam incolunt Belgae aliam Aquitani",
    "1 2 3",
    "",
)


@cases("code", STORY)
def test_language_is_detected(code):
    found = Tokenizer(stop_words="auto", ngrams=2).resolved(pl.Series([STORY[code], ""]))
    assert found == Tokenizer(stop_words=code, ngrams=2).decided
    assert found.resolved([STORY["en"]]) is found
    upper = Tokenizer(stop_words="auto", lower=False).resolved([STORY[code]])
    assert upper.stop_words == code


@pytest.mark.parametrize("unspaced", ["pairs", "words"])
def test_unspaced_stop_words_are_segmented_like_texts(unspaced):
    if unspaced == "words":
        pytest.importorskip("icu4py")
    text = "家は丘の上にあり、庭があります。"
    found = Tokenizer(unspaced=unspaced).resolved([text])
    assert found.stop_words == "ja"
    assert "ます" not in found.count([text]).words


@cases("text", NO_LANGUAGE)
def test_texts_without_stop_words_have_no_language(text):
    assert Tokenizer().resolved([text]) == Tokenizer(stop_words=None).decided
    assert Tokenizer().resolved([]) == Tokenizer(stop_words=None).decided


def test_languages_have_codes_and_names():
    assert Tokenizer(stop_words="English") == Tokenizer(stop_words="en ")
    assert Tokenizer(stop_words="GERMAN").stop_words == "de"
    assert Tokenizer(stop_words="no") == Tokenizer(stop_words="norwegian")
    for code, name in package.LANGUAGE_MAPPING.items():
        assert Tokenizer(stop_words=name).stop_words == code


def test_english_list_covers_function_words_and_parts_of_contractions():
    content = "fire bill interest system mine mill top serious move show call won computer state"
    closed = (
        "Don't they've we’ll you're isn't doesn’t I'm he'd can't ain't that's shouldn’t needn't "
        "THE of and to in is was it for on with as but not their which would who because ours"
    )
    for pattern in (None, COUNT_VECTORIZER, WHITESPACE):
        tokenizer = Tokenizer(pattern=pattern, stop_words="en")
        assert tokenizer.count([closed, content]).words == content.split()


def test_sklearn_list_is_that_of_scikit_learn():
    counted = Tokenizer(stop_words="sklearn").count([" ".join(ENGLISH_STOP_WORDS), "computer don"])
    assert counted.words == ["computer", "don"]


def test_older_files_keep_their_english_list():
    now = Tokenizer(stop_words="en")
    assert Tokenizer.from_dict(now.to_dict()) == now
    former = Tokenizer.from_dict(now.to_dict() | {"stop_words": "en"})
    assert former == Tokenizer(stop_words="sklearn") == Tokenizer.from_dict(former.to_dict())
    assert going_on_as(now, former) == going_on_as(Tokenizer(), former) == former


@cases("code", package.LANGUAGE_MAPPING)
@cases("pattern", [None, COUNT_VECTORIZER, WHITESPACE, r"\w+"])
def test_every_list_removes_all_its_words(code, pattern):
    words = listed(code)
    assert Tokenizer(pattern=pattern, stop_words=code).count(words).words == []


def test_words_of_a_stop_phrase_are_kept():
    whole = set(package.get_stop_words("vi"))
    parts = {part for phrase in whole for part in phrase.split()}
    left = set(Tokenizer(pattern=WHITESPACE, stop_words="vi").count([" ".join(parts)]).words)
    assert left == parts - whole != set()


def test_stop_words_are_tokenized_by_the_pattern():
    texts = ["Don't stop the don"]
    assert Tokenizer(stop_words=["DON'T"]).count(texts).words == ["stop", "the"]
    assert Tokenizer(stop_words=["don't"], lower=False).count(texts).words == ["Don", "stop", "the"]
    exact = Tokenizer(stop_words=["don't", "The", "stop"], pattern=COUNT_VECTORIZER)
    assert exact.count(texts).words == ["don", "the"]
    assert Tokenizer(stop_words=["don't"], pattern=WHITESPACE).count(texts).words == [
        "stop",
        "the",
        "don",
    ]


def test_file_has_one_stop_word_per_line(tmp_path):
    file = tmp_path / "words.txt"
    file.write_bytes("\ufeffthe\r\n  über \n\nthe\n".encode())
    assert stop_words_from(file) == stop_words_from(str(file)) == ("the", "über")
    file.write_bytes(gzip.compress(b"the"))
    with pytest.raises(InputError, match=r"words\.txt is not valid UTF-8"):
        stop_words_from(file)
    with pytest.raises(InputError, match=r"no\.txt cannot be read \(No such file"):
        stop_words_from(tmp_path / "no.txt")
    with pytest.raises(InputError, match="cannot be read"):
        stop_words_from(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        stop_words_from("a\0b")


@cases("stop_words", [None, "en", "auto", ["The", "hen's"]])
def test_extra_stop_words_are_removed(stop_words):
    texts = ["The fox and the hen's don't", "Foxes of the hen"]
    plain = Tokenizer(stop_words=stop_words)
    extra = Tokenizer(stop_words=stop_words, extra_stop_words=["FOX", "don't"])
    assert set(extra.count(texts).words) == set(plain.count(texts).words) - {"fox", "don"}
    assert extra.resolved(texts).extra_stop_words == ("FOX", "don't")
    counts = read(np.ones((2, 3)), column_words=["", "fox", "cat"], tokenizer=extra)
    assert set(counts.words) - {""} == {"cat"}
