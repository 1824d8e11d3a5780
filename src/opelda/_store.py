"""Named arrays and a JSON header in one safetensors file, written in one step.

The metadata has three strings: `kind`, `version` and `header` (JSON). Files are not trusted.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from opelda._replacing import replacing
from opelda.errors import InputError, ModelFileError

# safetensors' names of the types, with the byte order it prescribes
CODED = {"F64": "<f8", "I64": "<i8", "F32": "<f4", "I32": "<i4", "U16": "<u2", "U8": "u1"}
TYPES: dict[str, np.dtype[Any]] = {k: np.dtype(v) for k, v in (CODED | {"BOOL": "?"}).items()}
CODES = {dtype.newbyteorder("="): code for code, dtype in TYPES.items()}


def write(
    path: str | os.PathLike[str],
    arrays: Mapping[str, NDArray[Any]],
    header: Mapping[str, Any],
    *,
    kind: str,
    version: int,
) -> None:
    """Write arrays and a header of JSON values; a failure keeps the old file."""
    # safetensors' own writer has a random order of metadata, and a kill leaves its temporary file
    try:
        text = _to_text(dict(header))
        if json.loads(text) != header:
            raise ValueError("keys must be strings and sequences must be lists")
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"The header cannot be written as JSON: {error}.") from None
    contents: Any = {"__metadata__": {"kind": kind, "version": str(version), "header": text}}
    end = 0
    # widest first, which aligns every array
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    for name in names:
        array = arrays[name]
        code = CODES.get(array.dtype.newbyteorder("="))
        if code is None:
            allowed = ", ".join(map(str, CODES))
            raise InputError(f"Array {name!r} has type {array.dtype}; convert it to {allowed}.")
        offsets = [end, end + array.nbytes]
        contents[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": offsets}
        end = offsets[1]
    table = _to_text(contents).encode()
    if len(table) > 10_000_000:
        raise InputError(
            f"The header takes {len(table):,} bytes, more than 10,000,000; store large values in "
            "an array."
        )
    table += b" " * (-len(table) % 8)
    target = as_path(path)
    try:
        if target.exists() and not target.is_file():
            raise ModelFileError(f"{str(path)!r} is not a file; choose another path.")
        with replacing(target) as [file]:
            file.write(len(table).to_bytes(8, "little") + table)
            for name in names:
                file.write(np.asarray(arrays[name], TYPES[contents[name]["dtype"]], "C").data)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = f"the folder {str(target.parent)!r} does not exist" if missing else _reason(error)
        raise ModelFileError(
            f"{str(target)!r} cannot be written: {reason}; no file was changed."
        ) from error


def read(
    path: str | os.PathLike[str], *, kind: str, newest: int
) -> tuple[dict[str, NDArray[Any]], dict[str, Any], int]:
    """Read arrays, header and version, which is `newest` at most."""
    source = as_path(path)
    opened: Any = safe_open
    try:
        if not stat.S_ISREG(os.stat(source).st_mode):  # a pipe would wait, a device never end
            raise ModelFileError(f"{str(source)!r} is not a file; pass the path of an {kind} file.")
        with open(source, "rb") as file:  # safetensors' errors lack the reason
            begins = file.read(9)
        if begins[8:] not in (b"{", b""):  # eight bytes of length, then JSON
            raise ModelFileError(
                f"{str(source)!r} is not an {kind} file; pass the path of an {kind} file."
            )
        # a mapped file that shrinks would kill the process
        with opened(source, "numpy", backend="pread") as file:
            metadata = file.metadata() or {}
            found, version = metadata.get("kind"), metadata.get("version", "")
            if found != kind:
                said = "missing metadata" if found is None else f"it is {found[:40]!r}"
                raise ValueError(f"{said}: not an {kind}")
            if not re.fullmatch("[1-9][0-9]{0,8}", version):
                raise ValueError("its version is not a number")
            if int(version) > newest:
                raise ModelFileError(
                    f"{str(source)!r} was made by a newer opelda (version {version} of {kind} "
                    f"files, this one reads up to {newest}); upgrade opelda."
                )
            header = json.loads(metadata.get("header", ""))
            if not isinstance(header, dict):
                raise ValueError("its header is not a JSON object")
            _to_text(header)  # refuses numbers that are not finite
            arrays = {name: _read_array(file, name) for name in sorted(file.keys())}
            return arrays, header, int(version)
    except ModelFileError:
        raise
    except OSError as error:
        message = f"{str(source)!r} cannot be read: {_reason(error)}; check the path."
        raise ModelFileError(message) from error
    except MemoryError as error:
        message = f"Out of memory: {str(source)!r} is too large or corrupted; close other programs."
        raise ModelFileError(message) from error
    except (SafetensorError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{str(source)!r} is corrupted or not an {kind} file ({_reason(error)}); check the "
            "path, or restore the file from a backup."
        ) from error


def _read_array(file: Any, name: str) -> NDArray[Any]:
    code = file.get_slice(name).get_dtype()
    if code not in TYPES:
        raise ValueError(f"array {name[:40]!r} has the unsupported type {code}")
    array: NDArray[Any] = file.get_tensor(name)
    if code == "BOOL":
        return np.array(array.view(np.uint8) != 0)  # a bool that is neither 0 nor 1 misbehaves
    return np.require(array, TYPES[code].newbyteorder("="), ["C", "W"])  # copied only if need be


def _to_text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text.encode()  # refuses lone surrogates
    return text


def as_path(path: Any, name: str = "path") -> Path:
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise InputError(f"must be a string or a path, got {path!r}.", name) from None
    if not text or "\0" in text:
        raise InputError(f"cannot be {text!r}; pass a file name.", name)
    return Path(text)


def _reason(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text.removeprefix("Error while deserializing header: ").rstrip(".")
