"""Streams of bytes, compressed or not, in pieces of bounded size."""

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, BinaryIO

from opelda.errors import InputError

# The first bytes of each compression, and its signature within `N_MAGIC` bytes.
MAGIC = {
    ".gz": (b"\x1f\x8b", re.compile(rb"\x1f\x8b\x08")),
    ".xz": (b"\xfd7zXZ", re.compile(rb"\xfd7zXZ\0")),
    ".bz2": (b"BZh", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")),
    ".zst": (b"\x28\xb5\x2f\xfd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")),
}
SUFFIXES = tuple(MAGIC)
N_MAGIC = 10
CHUNK = 1 << 20


def compression_of(head: bytes, promised: str = "") -> str | None:
    """Return the suffix for a file's first bytes; None if it is not compressed."""
    found = next((suffix for suffix, (_, magic) in MAGIC.items() if magic.match(head)), None)
    if not found and promised and len(head) < N_MAGIC:
        begin = MAGIC[promised][0]
        if begin.startswith(head[: len(begin)]):
            raise EOFError("the file is truncated")
    return found


def without_suffix(name: str) -> tuple[str, str]:
    """Return a file's name without the suffix of a compression, and that suffix or ""."""
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
    zstd = _zstd("the output")
    if hasattr(zstd, "ZstdFile"):
        return zstd.ZstdFile(file, "wb", options={zstd.CompressionParameter.checksum_flag: 1})
    return zstd.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)


def decompressed(read: Callable[[int], bytes], suffix: str, label: str) -> Iterator[bytes]:
    """Yield the content of concatenated compressed streams in pieces of at most `CHUNK` bytes.

    The libraries' readers of xz and bz2 end silently at padding or damage behind the first stream,
    zstandard's at the end of a truncated file. Here a truncated file is an EOFError.
    """
    new: Callable[[], Any] = {
        ".gz": _Gzip,
        # `xz -9` needs 65 MiB for its dictionary
        ".xz": lambda: lzma.LZMADecompressor(memlimit=1 << 30),
        ".bz2": bz2.BZ2Decompressor,
        ".zst": lambda: _zstd_stream(label),
    }[suffix]
    data = read(CHUNK)
    while data:
        # output is drained before more input, so that memory is bounded
        stream = new()
        out = stream.decompress(data, CHUNK)
        while out or not stream.eof:
            if out:
                yield out
                data = b""  # the input may give more output
            elif not (data := read(CHUNK)):
                raise EOFError("the file is truncated")
            out = b"" if stream.eof else stream.decompress(data, CHUNK)
        # streams may be followed by zeros, as tapes and xz pad them
        data = stream.unused_data.lstrip(b"\0")
        while not data and (more := read(CHUNK)):
            data = more.lstrip(b"\0")


class ByteStream(io.RawIOBase):
    """Pieces of bytes as a file with `peek`; `used` is True after the first read.

    At an empty piece, which says "no data yet", a read returns None.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready = memoryview(b"")
        self.used = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        self.used = True
        if not self._ready and (piece := next(self._pieces, None)) is not None:
            self._ready = memoryview(piece)
            if not piece:
                return None
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n

    def pieces(self) -> Iterator[bytes]:
        """Yield the content in pieces; an empty piece says "no data yet"."""
        while (data := self.read(CHUNK)) != b"":
            yield data or b""

    def peek(self, size: int, n_lines: int) -> bytes:
        """Return the first `size` bytes, or fewer once they hold `n_lines` lines."""
        head = bytes(self._ready)
        while len(head) < size and head.count(b"\n") < n_lines:
            if not (piece := next(self._pieces, b"")):
                break
            head += piece
        self._ready = memoryview(head)
        return head[:size]

    def close(self) -> None:
        self._pieces = iter(())  # ends the generator, which closes its file
        super().close()


def read_most(file: io.BufferedIOBase, most: int) -> bytes:
    """Return at most `most` bytes; `file.read(most)` would allocate all of them first."""
    content = io.BytesIO()
    while part := file.read(min(CHUNK, most - content.tell())):
        content.write(part)
    return content.getvalue()


class _Gzip:
    """zlib's decompressor with the interface of lzma's and bz2's."""

    eof, unused_data = False, b""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def decompress(self, data: bytes, most: int) -> bytes:
        out = self._stream.decompress(self._stream.unconsumed_tail + data, most)
        self.eof, self.unused_data = self._stream.eof, self._stream.unused_data
        return out


class _Zstd:
    """The same for zstandard's, which has no output limit: it gets little input at a time."""

    eof, unused_data = False, b""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._rest = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        rest, out = memoryview(self._rest + data), b""
        while rest and not out and not self.eof:
            # 4 bytes may become 128 KiB: the output stays below 8 MiB
            out, rest = self._stream.decompress(rest[:256]), rest[256:]
            self.eof = self._stream.eof
        self._rest = bytes(rest)
        if self.eof:
            self.unused_data = self._stream.unused_data + self._rest
        return out


def _zstd_stream(label: str) -> Any:
    stream = _zstd(label).ZstdDecompressor()
    return _Zstd(stream.decompressobj()) if hasattr(stream, "decompressobj") else stream


def _zstd(label: str) -> Any:
    """Return the module of Python 3.14, or the package."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return import_module(name)
        except ImportError:
            pass
    raise InputError(
        f"{label} is compressed with zstd, which needs a missing package; run pip install "
        "'opelda[zstd]'."
    )
