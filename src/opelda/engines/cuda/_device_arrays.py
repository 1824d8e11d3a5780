"""Documents that are on the GPU already: CuPy's counts, which are used where they are."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import LARGEST_COUNT, SMALLEST_COUNT
from opelda.engines.cuda._device import LANES, Device
from opelda.engines.cuda._documents import CudaDocuments, CudaRows
from opelda.engines.seam import Rows


class GivenRows(Rows):
    """Documents on the GPU, of which words and counts come here only where somebody asks."""

    def __init__(self, device: Device, there: CudaRows) -> None:
        ends = np.concatenate(([0], np.cumsum(there.lengths, dtype=np.int64)))
        vars(self).update(device=device, there=there, indptr=ends)

    device: Device
    there: CudaRows

    @cached_property
    def _here(self) -> Rows:
        host = self.device.host
        parts = host(self.there.indptr), host(self.there.words), host(self.there.counts)
        chosen = self.there.chosen
        return Rows(*parts) if chosen is None else Rows(*parts).take(host(chosen))

    @property
    def words(self) -> NDArray[np.int32]:
        """Their words in host memory."""
        return self._here.words

    @property
    def counts(self) -> NDArray[np.float32]:
        """Their counts in host memory."""
        return self._here.counts

    def take(self, chosen: NDArray[np.intp]) -> "GivenRows":
        """Return some of the documents, without a copy."""
        before = self.there.chosen
        of_all = chosen if before is None else self.device.host(before)[chosen]
        there = self.device.array(of_all.astype(np.int32))
        lengths = self.there.lengths[chosen]
        meant = replace(self.there, lengths=lengths, chosen=there, _classes=None)
        return GivenRows(self.device, meant)

    def between(self, first: int, last: int) -> "GivenRows":
        """Return consecutive documents, without a copy."""
        return self.take(np.arange(first, last))

    @cached_property
    def _tokens(self) -> NDArray[np.float64]:
        tokens = self.device.cp.empty(len(self.there.indptr) - 1)
        given = self.there.indptr, self.there.counts, np.int32(len(tokens)), tokens
        self.device.run("counts", "lengths", len(tokens), *given, threads=LANES)
        found = self.device.host(tokens)
        return found if self.there.chosen is None else found[self.device.host(self.there.chosen)]


class GivenDocuments(CudaDocuments):
    """A collection that is not in host memory before somebody asks for it there."""

    def __init__(self, device: Device, X: Any) -> None:
        self.device, self.given = device, X
        self._hashed = Rows.content_keys
        self._there = CudaRows(
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32, copy=False),
            X.data.astype(np.float32, copy=False),
            lengths=np.diff(device.host(X.indptr)).astype(np.int64),
        )

    @cached_property
    def matrix(self) -> sparse.csr_array:  # type: ignore[override]
        """The counts in host memory."""
        return counts(self.given)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the counts that were given."""
        return self.given.dtype  # type: ignore[no-any-return]

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.given.shape[0])

    @property
    def n_words(self) -> int:
        """Number of columns."""
        return int(self.given.shape[1])

    def part(self, first: int = 0, last: int | None = None) -> Rows:
        """Return consecutive documents; all of them without a copy."""
        if first or last is not None:
            return super().part(first, last)
        assert self._there is not None
        return GivenRows(self.device, self._there)


def resident(device: Device, X: Any) -> GivenDocuments | None:
    """Return CuPy's counts as documents of the GPU; see `Engine.resident`.

    None where they need more than a look: they are converted, or what is wrong with them said, in
    host memory then.
    """
    if isinstance(X, device.cp.ndarray):
        X = _as_csr(device.cp, X)
    elif getattr(X, "format", None) != "csr":
        return None
    plain = X is not None and X.shape[0] > 0 and _is_plain(X)
    return GivenDocuments(device, X) if plain else None


def _as_csr(cp: Any, X: Any) -> Any:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        return None
    from cupyx.scipy import sparse as there

    is_there = X != 0  # NaN, too
    rows, columns = cp.nonzero(is_there)
    ends = cp.concatenate((cp.zeros(1, np.int64), cp.cumsum(is_there.sum(axis=1))))
    data = X[rows, columns].astype(np.float64 if X.dtype == np.float64 else np.float32)
    return there.csr_matrix((data, columns.astype(np.int32), ends), shape=X.shape)


def _is_plain(X: Any) -> bool:
    """Whether kernels can trust it as it is: sorted, distinct words and positive counts."""
    ends, words, data = X.indptr, X.indices, X.data
    if data.dtype not in (np.float32, np.float64) or not len(ends):
        return False
    if int(ends[0]) != 0 or int(ends[-1]) != len(words) or bool((ends[1:] < ends[:-1]).any()):
        return False
    if not len(words):
        return True
    if int(words.min()) < 0 or int(words.max()) >= X.shape[1]:
        return False
    falls = words[1:] <= words[:-1]
    first = ends[1:-1]
    first = first[(first > 0) & (first < len(words))]
    falls[first - 1] = False  # from one document to the next
    # (NaN is not greater than anything)
    return not bool(falls.any()) and bool(((data > SMALLEST_COUNT) & (data <= LARGEST_COUNT)).all())
