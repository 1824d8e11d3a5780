"""The tokenizer: texts cut into words and the words counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

from opelda._validation import choice, flag, threads
from opelda.corpus._matrix import Counted
from opelda.corpus.text._languages import (
    AUTO,
    ENGLISH,
    SKLEARN,
    checked_stem,
    checked_stop_words,
    checked_words,
    detected,
    listed,
)
from opelda.corpus.text._splitters import (
    PAIRS,
    WORDS,
    Forgotten,
    Split,
    checked_pattern,
    checked_split,
    found_unspaced,
    is_count_vectorizers,
    name_of,
)
from opelda.corpus.text._word_counting import (
    as_texts,
    checked_ngrams,
    checked_phrases,
    count,
    phrases_of,
)
from opelda.errors import InputError

if TYPE_CHECKING:  # polars is imported on first use: commands without texts start faster
    import polars as pl


@dataclass(frozen=True, repr=False)
class Tokenizer:
    r"""Splits texts into words and counts words, identically for training and new texts.

    Parameters
    ----------
    lower : bool
        Whether to convert letters to lower case first, by the rules of Unicode.
    pattern : str or None
        The pattern of words. None: two or more letters, marks, digits and underscores in a row,
        with at least one letter. ``COUNT_VECTORIZER``: scikit-learn's. ``WHITESPACE``: anything
        between whitespace. Otherwise a regular expression of Rust's `regex`, without capturing
        groups.
    stop_words : str, iterable of str or None
        Words to exclude: the list of the texts' own language ("auto"), of a language ("english",
        "en", "de", ...; others than English need ``opelda[languages]``), of scikit-learn
        ("sklearn"), or your own.
    stem : str or None
        The name or code of a language; its Snowball algorithm reduces words to stems. Needs
        ``opelda[languages]``.
    ngrams : {1, 2, (1, 1), (1, 2), (2, 2)}
        2, or (1, 2): words and pairs of adjacent words after removing stop words, joined by a
        space. (2, 2): pairs only.
    extra_stop_words : iterable of str
        Words to exclude in addition to `stop_words`.
    phrases : bool, float or iterable of str
        Pairs of adjacent words that count as one word, such as "health care". True: pairs in at
        least 10 texts with a normalised pointwise mutual information of 0.5, or the number given.
    split : callable or None
        A function that returns the list of words of a text, instead of `pattern`. Models store only
        the function's name: see `opelda.load`.
    unspaced : {"auto", "words", "pairs"} or None
        Whether Chinese, Japanese, Thai, Lao, Khmer and Burmese are split into ICU's words, which
        need ``opelda[segmentation]``, or into all pairs of adjacent characters; None: not split.
    keep_markup : bool
        Whether URLs, e-mail addresses, @names, HTML, XML and debris of wikis become words, and
        entities such as ``&eacute;`` are not decoded.

    Notes
    -----
    Attributes are normalised: languages are codes, words sorted tuples, ``ngrams`` two numbers.

    Lower-casing and the pattern apply to stop words as to texts, except to a list given with
    ``COUNT_VECTORIZER``. The same settings (``stop_words=None`` and ``keep_markup=True`` among
    them) give the matrix of scikit-learn's `CountVectorizer`, its columns in another order.

    Examples
    --------
    >>> tokenizer = Tokenizer(stop_words="english", ngrams=2)
    >>> tokenizer
    Tokenizer(stop_words='en', ngrams=(1, 2))
    >>> counted = tokenizer.count(["The red fox", "red, red fox"])
    >>> counted.words
    ['red', 'fox', 'red fox', 'red red']
    >>> counted.counts.toarray()
    array([[1., 1., 1., 0.],
           [2., 1., 1., 1.]], dtype=float32)
    """

    lower: bool = True
    pattern: str | None = None
    stop_words: str | Iterable[str] | None = AUTO
    stem: str | None = None
    ngrams: int | tuple[int, int] = 1
    extra_stop_words: Iterable[str] = ()
    phrases: bool | float | Iterable[str] = ()
    split: Split | None = None
    unspaced: str | None = AUTO
    keep_markup: bool = False

    def __post_init__(self) -> None:
        ngrams, unspaced = checked_ngrams(self.ngrams), self.unspaced
        ways = (AUTO, WORDS, PAIRS)
        checked = {
            "lower": flag("lower", self.lower),
            "pattern": checked_pattern(self.pattern),
            "stop_words": checked_stop_words(self.stop_words),
            "stem": checked_stem(self.stem),
            "ngrams": ngrams,
            "extra_stop_words": checked_words("extra_stop_words", self.extra_stop_words),
            "phrases": checked_phrases(self.phrases, ngrams),
            "split": checked_split(self.split, self.pattern),
            "unspaced": None if unspaced is None else choice("unspaced", unspaced, ways),
            "keep_markup": flag("keep_markup", self.keep_markup),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def count(self, texts: "pl.Series | Iterable[str]", n_jobs: int | None = None) -> Counted:
        """Count the words of texts.

        Parameters
        ----------
        texts : polars Series or iterable of str
        n_jobs : int, optional
            Threads; None is every core, but one inside a worker of joblib or the like. Results do
            not depend on it.

        Returns
        -------
        Counted
            The words in the order of first appearance, pairs after words, and their counts.

        Examples
        --------
        >>> from opelda.corpus.text import WHITESPACE
        >>> Tokenizer(pattern=WHITESPACE, lower=False, stop_words=None).count(["C++ and C#"]).words
        ['C++', 'and', 'C#']
        """
        texts = as_texts(texts)
        return count(texts, self.resolved(texts), threads(n_jobs))

    def resolved(self, sample: "pl.Series | Iterable[str]") -> "Tokenizer":
        """Return the tokenizer with "auto" settings decided by a sample.

        The first 5,000 texts count. Their language is the one whose list of stop words covers most
        of their words; None below a tenth.

        Examples
        --------
        >>> Tokenizer().resolved(["Der Hund und die Katze sind nicht da."])
        Tokenizer(stop_words='de')
        """
        if not self._left_open:
            return self
        sample, known = as_texts(sample)[:5_000], self
        if known.unspaced == AUTO:
            by_unicode = self.pattern is None and self.split is None
            known = replace(known, unspaced=found_unspaced(sample) if by_unicode else PAIRS)
        if known.stop_words == AUTO:
            counted = replace(known.decided, stem=None, ngrams=1).count(sample)
            how = self.lower, self.pattern, known.unspaced
            code = detected(counted, lambda code: left_out(*how, code))
            known = replace(known, stop_words=code)
        if isinstance(known.phrases, float):
            known = replace(known, phrases=phrases_of(sample, known, known.phrases, threads(None)))
        return known

    @property
    def decided(self) -> "Tokenizer":
        """The tokenizer without stop words and phrases where texts are still to say."""
        return replace(self, **self._left_open) if self._left_open else self

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary fit for JSON.

        Examples
        --------
        >>> tokenizer = Tokenizer(stem="german")
        >>> Tokenizer.from_dict(tokenizer.to_dict()) == tokenizer
        True
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["split"] = None if self.split is None else name_of(self.split)
        if self.stop_words == ENGLISH:  # in files "en" is scikit-learn's list, as it once was
            values["stop_words"] = "english"
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @classmethod
    def from_dict(cls, settings: Any) -> Self:
        """Make the tokenizer again that `to_dict` described.

        Only the name of a function is stored: texts are refused until the function is given again.
        Damaged settings raise `InputError`.
        """
        names = [field.name for field in fields(cls)]
        # what texts were made into words by before files had these settings
        since = {"extra_stop_words": (), "phrases": (), "split": None, "unspaced": None}
        if isinstance(settings, Mapping):
            settings = since | {"keep_markup": True} | dict(settings)
        if not isinstance(settings, Mapping) or sorted(map(str, settings)) != sorted(names):
            raise InputError(f"A tokenizer's settings must be {', '.join(names)}.")
        for name, kind, what in (
            ("stop_words", str | list | tuple | None, "list"),
            ("extra_stop_words", list | tuple, "list"),
            ("split", str | None, "name"),
        ):
            value = settings[name]
            if not isinstance(value, kind):
                raise InputError(f"A tokenizer's {name} must be a {what}, got {value!r:.80}.")
        split, stop_words = settings["split"], settings["stop_words"]
        own = {
            "split": None if split is None else Forgotten(split),
            "stop_words": SKLEARN if stop_words == ENGLISH else stop_words,
        }
        return cls(**{**settings, **own})

    @cached_property
    def _left_open(self) -> dict[str, Any]:
        """The settings that texts still decide, with their values without texts."""
        left_open: dict[str, Any] = {}
        if self.stop_words == AUTO:
            left_open["stop_words"] = None
        if self.unspaced == AUTO:
            left_open["unspaced"] = PAIRS
        if isinstance(self.phrases, float):
            left_open["phrases"] = ()
        return left_open

    @cached_property
    def _removed(self) -> list[str]:
        """The words left out, after the empty word; no list of an undecided language."""
        known: Any = self.decided
        how = self.lower, self.pattern, known.unspaced
        removed = left_out(*how, known.stop_words)
        if not known.extra_stop_words:
            return removed
        return list(dict.fromkeys([*removed, *left_out(*how, known.extra_stop_words)]))

    def __repr__(self) -> str:
        shown = []
        usual = {"ngrams": (1, 1), "unspaced": PAIRS}
        for field in fields(self):
            value = getattr(self, field.name)
            if value in (field.default, usual.get(field.name, field.default)):
                continue
            many = isinstance(value, tuple) and len(value) > 3
            shown.append(f"{field.name}={f'({len(value)} words)' if many else repr(value)}")
        return f"Tokenizer({', '.join(shown)})"


@lru_cache(maxsize=256)
def left_out(
    lower: bool,
    pattern: str | None,
    unspaced: str | None,
    stop_words: str | tuple[str, ...] | None,
) -> list[str]:
    """Return stop words as texts yield them, after the empty word."""
    if stop_words is None:
        return [""]
    given = listed(stop_words) if isinstance(stop_words, str) else stop_words
    found: list[str] = []
    if isinstance(stop_words, str) or not is_count_vectorizers(pattern):
        cutting = Tokenizer(lower, pattern, None, unspaced=unspaced, keep_markup=True)
        found = cutting.count(given, n_jobs=1).words
    return list(dict.fromkeys(["", *given, *found]))


def going_on_as(given: Tokenizer, learned: Tokenizer) -> Tokenizer:
    """Return the tokenizer with undecided settings from the learned tokenizer."""
    taken = {name: getattr(learned, name) for name in given._left_open}
    if (given.stop_words, learned.stop_words) == (ENGLISH, SKLEARN):  # of former models
        taken["stop_words"] = SKLEARN
    return replace(given, **taken, keep_markup=given.keep_markup or learned.keep_markup)


def recalling(learned: Tokenizer, given: Tokenizer) -> Tokenizer:
    """Return the learned tokenizer with the given function, if only its name is known."""
    same = given.split is not None and learned.split == Forgotten(name_of(given.split))
    return replace(learned, split=given.split) if same else learned


def with_split(learned: Tokenizer | None, split: Any) -> Tokenizer:
    """Return the learned tokenizer with the function that its file named."""
    if learned is None or not isinstance(learned.split, Forgotten):
        raise InputError(
            "is not needed because no function splits texts into the model's words; remove it.",
            "split",
        )
    return replace(learned, split=split)
