"""The tokenizer: texts cut into words and the words counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from opelda._validation import flag, threads
from opelda.corpus._matrix import Counted
from opelda.corpus.text._auto_settings import decided, is_open, left_out, loaded, resolved, saved
from opelda.corpus.text._languages import (
    AUTO,
    checked_stem,
    checked_stop_words,
    checked_words,
)
from opelda.corpus.text._phrases import checked_phrases
from opelda.corpus.text._splitters import (
    PAIRS,
    WORDS,
    Calls,
    Matches,
    Runs,
    Split,
    checked_pattern,
    checked_split,
    checked_unspaced,
    cutter,
    forgotten,
    name_of,
)
from opelda.corpus.text._word_counting import NGRAMS, as_texts, checked_ngrams, count
from opelda.errors import InputError

if TYPE_CHECKING:  # polars is imported on first use: commands without texts start faster
    import polars as pl

# Texts that the language is found from: as many as `read` takes at a time.
SAMPLE = 5_000
# Settings that older files do not have, and what their texts were made into words by.
SINCE = {
    "extra_stop_words": (), "phrases": (), "split": None, "unspaced": None, "keep_markup": True,
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Tokenizer:
    r"""Cuts texts into words and counts them: a value, the same for training and for new texts.

    Parameters
    ----------
    lower : bool
        Whether upper-case letters become lower-case first, by the rules of Unicode.
    pattern : str or None
        What a word is. None: two or more letters, marks, digits and underscores in a row, with a
        letter among them; what Unicode takes for a word, so that vowel signs (as in Hindi) stay in
        theirs. ``COUNT_VECTORIZER``, scikit-learn's ``r"(?u)\b\w\w+\b"``: exactly what Python's
        `re` finds, to which marks are no part of words. ``WHITESPACE``: whatever white space
        separates, as `str.split` does. Anything else is a regular expression of Rust's
        `regex`, whose matches are the words. It needs time in proportion to the text whatever the
        pattern, and therefore has no look-around and no references to groups; groups must not
        capture. Its ``\w`` also has marks and joiners and lacks number signs such as ``²``, its
        ``\s`` lacks the separators U+001C to U+001F.
    stop_words : str, iterable of str or None
        Words to leave out. "auto": those of the language that the texts seem to be in, see
        `resolved`. A language's name or code ("english", "en", "de", ...): its list, for English
        function words only, for others that of the package `stop-words` (``pip install
        'opelda[languages]'``). "sklearn": scikit-learn's English list. None: none.
        The words go through lower-casing and the pattern as texts do, so that "don't" leaves out
        "don" as well; but a list given with CountVectorizer's pattern leaves out exactly the words
        it has, as CountVectorizer would. For a file see `stop_words_from`.
    stem : str or None
        A language's name or code whose Snowball algorithm reduces the words left to their stems;
        needs ``opelda[languages]``.
    ngrams : {1, 2, (1, 1), (1, 2), (2, 2)}
        2, or (1, 2): also pairs of words that are neighbours after leaving out stop words, joined
        by a space. (2, 2): pairs only.
    extra_stop_words : iterable of str
        Words to leave out besides those; they go through the same.
    phrases : bool, float or iterable of str
        Pairs of neighbouring words, after leaving out stop words, that are one word, such as
        "health care". True: those of the texts that come together more often than chance, in at
        least 10 of them, with a normalised pointwise mutual information of 0.5 or of the number
        given; `read` looks at all texts, a stream at its first ones.
    split : callable or None
        A function of your own from a text to the list of its words, in the place of `pattern`. It
        gets texts as `keep_markup` and `lower` leave them, one at a time; stop words are left out
        of what it returns, and stems and pairs made. Models hold its name alone: see
        `opelda.load`.
    unspaced : {"auto", "words", "pairs"} or None
        How runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese, which put no spaces between
        words, are cut where there is no `pattern`: into the words of ICU's dictionaries, which
        needs ``pip install 'opelda[segmentation]'``, or into all pairs of neighbouring characters;
        None: not at all. "auto": into words where texts are in these scripts and the package is
        there.
    keep_markup : bool
        Whether URLs, e-mail addresses, @names (with an "RT" before them), HTML and XML tags,
        comments and scripts, and debris of wiki tables and files become words like all else.
        Otherwise they are left out first, and entities such as ``&eacute;`` are their letters.

    Attributes
    ----------
    stop_words : None, str or tuple of str
        A language as its code; words sorted.
    extra_stop_words : tuple of str
    stem : str or None
        The algorithm's name.
    ngrams : tuple of two int

    Notes
    -----
    The same settings (``stop_words=None`` and ``keep_markup=True`` among them) give the matrix of
    scikit-learn's `CountVectorizer`, its columns in another order. Lower-casing is polars'; where
    Python knows an older Unicode than polars does, letters with case that came since (rare scripts)
    are lower-cased here and not there.

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
        checked = {
            "lower": flag("lower", self.lower),
            "pattern": checked_pattern(self.pattern),
            "stop_words": checked_stop_words(self.stop_words),
            "stem": checked_stem(self.stem),
            "ngrams": checked_ngrams(self.ngrams),
            "extra_stop_words": checked_words("extra_stop_words", self.extra_stop_words),
            "phrases": checked_phrases(self.phrases, checked_ngrams(self.ngrams)),
            "split": checked_split(self.split, self.pattern),
            "unspaced": checked_unspaced(self.unspaced),
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
            The words in the order of their first appearance (a text's pairs come after its words),
            and their counts.

        Raises
        ------
        InputError
            When a text is missing or no string.

        Examples
        --------
        >>> Tokenizer().count(["The fox and the hen", "Where is the hen?"]).words
        ['fox', 'hen']
        >>> from opelda.corpus.text import WHITESPACE
        >>> Tokenizer(pattern=WHITESPACE, lower=False, stop_words=None).count(["C++ and C#"]).words
        ['C++', 'and', 'C#']
        """
        column = as_texts(texts)
        known = self.resolved(column)
        return count(
            column,
            markup=self.keep_markup,
            segment=known.unspaced == WORDS and self._is_cut_by_unicode,
            lower=self.lower,
            cutter=known._cutter,
            removed=known._removed,
            stem=self.stem,
            ngrams=checked_ngrams(self.ngrams),
            phrases=checked_words("phrases", known.phrases),
            n_jobs=threads(n_jobs),
        )

    def resolved(self, sample: "pl.Series | Iterable[str]") -> "Tokenizer":
        """Return the tokenizer with what is "auto" replaced by what the sample calls for.

        The language is the one whose list of stop words covers most of the words of the first 5,000
        texts; none where that is too little to be a language. Phrases are those of these texts.

        Examples
        --------
        >>> Tokenizer().resolved(["Der Hund und die Katze sind nicht da."])
        Tokenizer(stop_words='de')
        """
        return resolved(self, as_texts(sample)[:SAMPLE]) if is_open(self) else self

    @property
    def decided(self) -> "Tokenizer":
        """The tokenizer without stop words and phrases where texts are still to say."""
        return decided(self) if is_open(self) else self

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary fit for JSON.

        Examples
        --------
        >>> settings = Tokenizer(stop_words="en").to_dict()
        >>> settings["stop_words"], settings["ngrams"]
        ('english', [1, 1])
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["split"] = None if self.split is None else name_of(self.split)
        values["stop_words"] = saved(self.stop_words)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @classmethod
    def from_dict(cls, settings: Any) -> Self:
        """Make the tokenizer again that `to_dict` described.

        Raises
        ------
        InputError
            When anything is missing, too much, or not as it should be.

        Examples
        --------
        A function in it is named, and missing: texts are refused until it is given again.

        >>> tokenizer = Tokenizer(stem="german")
        >>> Tokenizer.from_dict(tokenizer.to_dict()) == tokenizer
        True
        """
        names = [field.name for field in fields(cls)]
        if isinstance(settings, Mapping):
            settings = SINCE | dict(settings)
        if not isinstance(settings, Mapping) or sorted(map(str, settings)) != sorted(names):
            raise InputError(
                f"A tokenizer's settings must be {', '.join(names)}, no more, no less."
            )
        for name, kinds in (("stop_words", str | None), ("extra_stop_words", tuple)):
            words = settings[name]
            if not isinstance(words, kinds | list | tuple):
                raise InputError(f"A tokenizer's {name} must be a list, got {words!r:.80}.")
        own = {"split": forgotten(settings["split"]), "stop_words": loaded(settings["stop_words"])}
        return cls(**{**settings, **own})

    @property
    def _is_cut_by_unicode(self) -> bool:
        return self.pattern is None and self.split is None

    @property
    def _is_plain(self) -> bool:
        """Whether words are runs of characters as they come, without anything made of them."""
        plain = (self.stem, self.split, self.ngrams) == (None, None, (1, 1))
        return plain and self.unspaced != WORDS and not self.phrases

    @property
    def _cutter(self) -> Runs | Matches | Calls:
        if self.split is not None:
            return Calls(self.split)
        return cutter(self.pattern, pairs=self.unspaced == PAIRS)

    @property
    def _removed(self) -> list[str]:
        """The words left out, of those whose language is known."""
        words = self.decided.stop_words
        assert words is None or isinstance(words, str | tuple)  # as checked
        how = self.lower, self.pattern, self.decided.unspaced
        removed = left_out(*how, words)
        if not self.extra_stop_words:
            return removed
        more = left_out(*how, tuple(self.extra_stop_words))
        return list(dict.fromkeys([*removed, *more]))

    def __repr__(self) -> str:
        shown = []
        for field in fields(self):
            value = getattr(self, field.name)
            if (field.name, value) == ("unspaced", PAIRS):  # as for texts of any other script
                continue
            if value == (NGRAMS[1] if field.name == "ngrams" else field.default):
                continue
            many = isinstance(value, tuple) and len(value) > 3
            shown.append(f"{field.name}={f'({len(value)} words)' if many else repr(value)}")
        return f"Tokenizer({', '.join(shown)})"
