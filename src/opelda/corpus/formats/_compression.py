"""Compressed files: known by their first bytes, read a piece at a time whatever they swell to."""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

SUFFIXES = (".gz", ".xz", ".bz2", ".zst")
# How many bytes tell the compressions apart.
N_MAGIC = 10
MAGIC = {
    ".gz": re.compile(rb"\x1f\x8b\x08"),
    ".xz": re.compile(rb"\xfd7zXZ\0"),
    ".bz2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
}
# How each of them begins in any case.
BEGINNINGS = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ", ".bz2": b"BZh", ".zst": b"\x28\xb5\x2f\xfd"}
CHUNK = 1 << 20
# 4 bytes of zstd may become 128 KiB: this many stay below 8 MiB.
ZSTD_PIECE = 256
# What a file may ask of xz for its dictionary; `xz -9` needs 65 MiB.
XZ_MEMORY = 1 << 30


def compression_of(head: bytes) -> str | None:
    """Return the suffix that belongs to a file's first bytes, None if it is not compressed.

    Examples
    --------
    >>> compression_of(gzip.compress(b"tea")), compression_of(b"tea")
    ('.gz', None)
    """
    return next((suffix for suffix, magic in MAGIC.items() if magic.match(head)), None)


def without_suffix(name: str) -> tuple[str, str]:
    """Return a file's name without the suffix of a compression, and that suffix or "".

    Examples
    --------
    >>> without_suffix("notes.txt.gz"), without_suffix("notes.txt")
    (('notes.txt', '.gz'), ('notes.txt', ''))
    """
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)], suffix
    return name, ""


def compressing(file: BinaryIO, suffix: str) -> Any:
    """Return a file that writes into `file`, compressed; closing it leaves `file` open."""
    if suffix == ".gz":
        # without a name and a time the same content gives the same bytes
        return gzip.GzipFile("", "wb", 6, file, mtime=0)
    if suffix == ".xz":
        return lzma.LZMAFile(file, "wb", preset=3)  # the usual 6 takes four times as long
    if suffix == ".bz2":
        return bz2.BZ2File(file, "wb")
    import zstandard

    return zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)


class _Member(Protocol):
    """One compressed stream; a file may hold several, end to end."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, most: int, /) -> bytes: ...


class _Gzip:
    eof = False
    unused_data = b""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def decompress(self, data: bytes, most: int, /) -> bytes:
        out = self._stream.decompress(self._stream.unconsumed_tail + data, most)
        self.eof, self.unused_data = self._stream.eof, self._stream.unused_data
        return out


class _Zstd:
    eof = False
    unused_data = b""

    def __init__(self) -> None:
        import zstandard

        self._stream = zstandard.ZstdDecompressor().decompressobj()
        self._rest = memoryview(b"")

    def decompress(self, data: bytes, most: int, /) -> bytes:
        if data:
            self._rest = memoryview(bytes(self._rest) + data)
        out = b""
        while self._rest and not out and not self.eof:
            out = self._stream.decompress(self._rest[:ZSTD_PIECE])
            self._rest = self._rest[ZSTD_PIECE:]
            self.eof = self._stream.eof
        if self.eof:
            self.unused_data = self._stream.unused_data + bytes(self._rest)
        return out


def _xz() -> _Member:
    return lzma.LZMADecompressor(memlimit=XZ_MEMORY)


MEMBERS: dict[str, Callable[[], _Member]] = {
    ".gz": _Gzip,
    ".xz": _xz,
    ".bz2": bz2.BZ2Decompressor,
    ".zst": _Zstd,
}


def damages() -> tuple[type[BaseException], ...]:
    """Return what the libraries raise for damaged data."""
    import zstandard

    return (EOFError, zlib.error, lzma.LZMAError, OSError, ValueError, zstandard.ZstdError)


class Decompressed:
    """What a compressed file holds; never more of it in memory than a piece at a time.

    Parameters
    ----------
    file : anything with `read1` and `close`
    suffix : str
        The compression, as `compression_of` names it.
    """

    def __init__(self, file: Any, suffix: str) -> None:
        self._file = file
        self._new = MEMBERS[suffix]
        self._member: _Member | None = None
        self._ready = memoryview(b"")

    def read1(self, size: int, /) -> bytes:
        """Return some bytes, at most `size`; none at the end.

        Raises
        ------
        EOFError
            When the file ends within a stream; damage raises what the library raises.
        """
        while not self._ready:
            more = self._more()
            if more is None:
                return b""
            self._ready = memoryview(more)
        out, self._ready = self._ready[:size], self._ready[size:]
        return bytes(out)

    def _more(self) -> bytes | None:
        """Return the next piece, None at the end."""
        if self._member is None:
            self._member = self._new()
        elif self._member.eof:
            # streams may be followed by zeros, as tapes and xz pad them
            data = self._member.unused_data.lstrip(b"\0")
            while not data:
                data = self._file.read1(CHUNK)
                if not data:
                    return None
                data = data.lstrip(b"\0")
            self._member = self._new()
            return self._member.decompress(data, CHUNK)
        out = self._member.decompress(b"", CHUNK)
        if out or self._member.eof:
            return out
        data = self._file.read1(CHUNK)
        out = self._member.decompress(data, CHUNK)
        if not data and not out and not self._member.eof:
            raise EOFError("it ends too early")
        return out

    def close(self) -> None:
        """Close the file as well."""
        self._file.close()
