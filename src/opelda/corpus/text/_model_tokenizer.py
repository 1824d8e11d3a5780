"""A tokenizer that is given beside the one by which a model's words were made."""

from dataclasses import replace
from typing import Any

from opelda.corpus.text._auto_settings import wants_phrases
from opelda.corpus.text._custom_splitter import Forgotten, name_of
from opelda.corpus.text._languages import AUTO, ENGLISH, SKLEARN
from opelda.corpus.text.tokenizer import Tokenizer
from opelda.errors import InputError


def going_on_as(given: Tokenizer, learned: Tokenizer) -> Tokenizer:
    """Return the tokenizer with what it leaves open as the learned one has it.

    That is whatever is "auto", and what older versions did in one way: mark-up, and English.
    """
    former = (given.stop_words, learned.stop_words) == (ENGLISH, SKLEARN)
    return replace(
        given,
        stop_words=learned.stop_words if former or given.stop_words == AUTO else given.stop_words,
        unspaced=learned.unspaced if given.unspaced == AUTO else given.unspaced,
        phrases=learned.phrases if wants_phrases(given) else given.phrases,
        keep_markup=given.keep_markup or learned.keep_markup,
    )


def recalling(learned: Tokenizer, given: Tokenizer) -> Tokenizer:
    """Return the learned one with the other's function where it has nothing but its name."""
    same = given.split is not None and learned.split == Forgotten(name_of(given.split))
    return replace(learned, split=given.split) if same else learned


def with_split(learned: Tokenizer | None, split: Any) -> Tokenizer:
    """Return the learned one with the function that its file named."""
    if learned is None or not isinstance(learned.split, Forgotten):
        raise InputError("is not needed: no function cut texts into the model's words.", "split")
    return replace(learned, split=split)
