"""A lexicon numbers words as a dictionary would."""

from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus.text import Lexicon


@given(st.lists(st.lists(st.text(max_size=30))))
def test_is_a_growing_dictionary(blocks):
    lexicon, known = Lexicon(), {}
    for words in blocks:
        expected = [known.setdefault(word, len(known)) for word in words]
        assert lexicon.absorb(words).tolist() == expected
        assert len(lexicon) == len(known)
    assert lexicon.words == list(known)
