"""Documents' mixtures as a NumPy archive, written without holding them all in memory."""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

COPIED_AT_ONCE = 1 << 20


@contextmanager
def arrays(
    file: Any, beside: Path, *, sparse: bool, min_weight: float
) -> Iterator[Callable[[Any], None]]:
    """Give what takes rows; at the end an archive as `numpy.load` reads it goes to the file.

    Dense mixtures are the array ``theta``. Sparse ones are what `scipy.sparse.load_npz` reads.
    """
    with ExitStack() as stack:
        spools: dict[str, _Spool] = {}
        names: list[str] = []
        size = [0, 0]

        def put(name: str, values: NDArray[Any]) -> None:
            if name not in spools:
                spools[name] = _Spool(stack.enter_context(TemporaryFile(dir=beside)), values)
            spools[name].add(values)

        if sparse:
            put("indptr", np.zeros(1, np.int64))

        def write(rows: Any) -> None:
            for name, values in rows.facts.items():
                put(name, values)
            names.extend(rows.names or [str(n) for n in range(rows.first, rows.first + len(rows))])
            if sparse:
                keep = rows.kept(min_weight)
                put("data", rows.theta[keep])
                put("indices", np.nonzero(keep)[1].astype(np.int32))
                put("indptr", size[1] + np.cumsum(keep.sum(axis=1)))
                size[1] += int(keep.sum())
            else:
                put("theta", rows.theta)
            size[0] += len(rows)
            size[2:] = [rows.theta.shape[1]]

        yield write
        with ZipFile(file, "w", ZIP_STORED) as archive:
            for name, spool in spools.items():
                spool.copy_to(archive, name)
            _small(archive, "document", np.array(names))
            if sparse:
                _small(archive, "shape", np.array([size[0], size[2]]))
                _small(archive, "format", np.array(b"csr"))


class _Spool:
    """An array of unknown length on disk."""

    def __init__(self, file: Any, like: NDArray[Any]) -> None:
        self._file = file
        self._dtype, self._rest = like.dtype, like.shape[1:]
        self._length = 0

    def add(self, values: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self._length += len(values)

    def copy_to(self, archive: ZipFile, name: str) -> None:
        self._file.seek(0)
        with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as target:
            np.lib.format.write_array_header_1_0(
                target,
                {
                    "descr": np.lib.format.dtype_to_descr(self._dtype),
                    "fortran_order": False,
                    "shape": (self._length, *self._rest),
                },
            )
            while chunk := self._file.read(COPIED_AT_ONCE):
                target.write(chunk)


def _small(archive: ZipFile, name: str, values: NDArray[Any]) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, values, allow_pickle=False)
    archive.writestr(ZipInfo(f"{name}.npy"), buffer.getvalue())
