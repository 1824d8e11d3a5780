"""Items gathered into mini-batches: documents, or batches that they are already."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from opelda.corpus._document_counts import count_words
from opelda.corpus._kinds import is_document, is_matrix, is_record
from opelda.corpus._matrix import as_counts
from opelda.corpus._mini_batch import MiniBatch
from opelda.corpus._new_items import NOTHING, NewItems
from opelda.corpus._timeout import Patience
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError

# The columns of a stream's vocabulary where nobody said: new words never end, and memory does.
MAX_FEATURES = 100_000


def counting_words(
    vocabulary: Vocabulary | None, n_words: int | None, what: str, *, texts: bool
) -> Vocabulary:
    """Return the vocabulary to count with; one that grows where nothing was counted yet.

    That waits for words that few texts have; documents of words have said which they want.
    """
    if vocabulary is not None:
        return vocabulary
    if n_words is not None:
        raise InputError(
            f"{what} made of words, but the columns so far have none; give the vocabulary that "
            "they were counted with."
        )
    min_df = None if texts else 1
    return Vocabulary(growing=True, max_features=MAX_FEATURES, min_df=min_df)


class Seeking:
    """The items of a source that finds its own positions."""

    once = False

    def __init__(self, source: Any, position: Any) -> None:
        if position is not None:
            source.seek(position)
        self._source = source
        self._positions: dict[int, Any] = {}  # after so many items

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        number = 0
        for item in self._source:
            if item is NOTHING:
                yield number, item
                continue
            # a snapshot, should it be changed; the one before may still be asked for
            self._positions = {number: self._positions.get(number)}
            self._positions[number + 1] = deepcopy(self._source.position)
            yield number, item
            number += 1

    def position(self, n_items: int) -> Any:
        return self._positions[n_items]


class BatchMaker:
    """Makes batches; knows what documents are counted with and how wide matrices come out."""

    def __init__(
        self, vocabulary: Vocabulary | None, n_words: int | None, patience: Patience
    ) -> None:
        self.vocabulary = vocabulary
        self.n_words = n_words
        self._patience = patience
        # keys under which dictionaries have a text; []: the first was counts
        self._keys: list[str] | None = None

    def run(self, items: Seeking | NewItems, batch_size: int) -> Iterator[MiniBatch]:
        pending: list[Any] = []
        first, number, failure = 0, -1, None
        new = iter(items)
        while True:
            try:
                number, item = next(new)
            except StopIteration:
                break
            except Exception as error:
                if not items.once:
                    raise
                failure = error  # what came before it will not come again
                break
            if item is NOTHING:
                self._patience.meanwhile()
                if self._patience.is_over:
                    self._patience.given()
                    yield from self.gathered(pending, first, items)
                    pending = []
                continue
            batch = isinstance(item, list | tuple) or is_matrix(item)
            # bytes, and other iterables that are no documents, are refused where they are counted
            if is_document(item) or (not batch and isinstance(item, Iterable)):
                if not pending:
                    first = number
                pending.append(item)
                self._patience.came()
                if len(pending) == batch_size or self._patience.is_over:
                    self._patience.given()
                    yield from self.gathered(pending, first, items)
                    pending = []
                continue
            if pending:
                self._patience.given()
                yield from self.gathered(pending, first, items)
                pending = []
            made = self.given(item, number)
            if made.X.shape[0]:
                yield replace(made, position=items.position(number + 1))
        if pending:
            yield from self.gathered(pending, first, items)
        if failure is not None:
            raise failure

    def gathered(
        self, documents: list[Any], first: int, items: Seeking | NewItems
    ) -> Iterator[MiniBatch]:
        """Yield a batch of items; of those that do not come again also if one of them is bad."""
        try:
            batch = self.documents(documents, first)
        except InputError:
            n_good = self.n_good(documents, first) if items.once else 0
            if not 0 < n_good < len(documents):
                raise
            yield from self.gathered(documents[:n_good], first, items)
            raise
        yield replace(batch, position=items.position(first + len(documents)))

    def n_good(self, documents: list[Any], first: int) -> int:
        """Return how many documents there are before the first bad one."""
        for n, one in enumerate(documents):
            try:
                document = self.document(one, lambda i: f"Item {first + i}", n)
                count_words([document], str, Tokenizer(stop_words=None))
            except InputError:
                return n
        return len(documents)

    def documents(self, documents: list[Any], first: int, item: int | None = None) -> MiniBatch:
        """Make a batch of items that are documents, or of the documents of one `item`."""

        def where(i: int) -> str:
            return f"Item {first + i}" if item is None else f"Document {i} of item {item}"

        documents = [self.document(one, where, i) for i, one in enumerate(documents)]
        texts = any(isinstance(one, str) for one in documents)
        what = f"Item {first} is"
        words = self.vocabulary = counting_words(self.vocabulary, self.n_words, what, texts=texts)
        X, change = words.learn(documents, where)
        return MiniBatch(X, None, change, change.n_unknown_tokens, words)

    def document(self, item: Any, where: Callable[[int], str], number: int) -> Any:
        """Return the text of a dictionary with one; any other document as it is."""
        if not isinstance(item, Mapping) or not item or self._keys == []:
            return item
        if self._keys is None and not is_record(item):  # the first one decides for all
            self._keys = []
            return item
        from opelda.corpus.sources._items import record_text, text_keys  # and polars, only now

        self._keys = self._keys or text_keys(item, (), where(number))
        return record_text(item, self._keys, where(number))

    def given(self, item: Any, number: int) -> MiniBatch:
        """Make a batch of an item that is a mini-batch already."""
        if isinstance(item, list | tuple):
            if any(isinstance(document, str) for document in item):
                raise InputError(
                    f"Item {number} mixes words and documents; "
                    "give a list of words, or a list of word lists or mappings."
                )
            return self.documents(list(item), number, item=number)
        if not is_matrix(item):
            raise InputError(
                f"Item {number} is neither a document nor a matrix but {type(item).__name__}; "
                "give a text, a sequence of words, a mapping from word to count, or counts."
            )
        width = self.n_words if self.vocabulary is None else len(self.vocabulary)
        X, n_unknown = as_counts(item, width, f"Item {number}")
        if self.vocabulary is None:
            self.n_words = X.shape[1]
        return MiniBatch(X, None, None, n_unknown, self.vocabulary)
