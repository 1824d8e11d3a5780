"""Input and output of bytes: compression, pipes and atomic writes."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import read
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._vocab import read_vocabulary
from opelda.corpus.formats._writing import write_in_one_step
from opelda.errors import InputError
from tests.cases import cases

COMPRESS = {
    ".gz": gzip.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
}
DECOMPRESS = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
TEXT = b"".join(b"%d tea for %d\n" % (i, i * i) for i in range(3000))
COMPRESSED = {suffix: compress(TEXT) for suffix, compress in COMPRESS.items()}
suffixes = pytest.mark.parametrize("suffix", COMPRESS)


class Slow(io.RawIOBase):
    """A pipe: returns a few bytes per call and cannot seek."""

    def __init__(self, data, most=7):
        self.data, self.most = data, most

    def readable(self):
        return True

    def readinto(self, buffer):
        n = min(self.most, len(buffer), len(self.data))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n


@suffixes
@given(parts=st.lists(st.binary(max_size=50), max_size=4), zeros=st.integers(0, 9))
def test_concatenated_compressed_streams_and_zero_padding_are_read(suffix, parts, zeros):
    data = (b"\0" * zeros).join(COMPRESS[suffix](part) for part in [b"head", *parts])
    assert Input.of(io.BytesIO(data)).open().read() == b"head" + b"".join(parts)
    assert Input.of(Slow(data)).open().read() == b"head" + b"".join(parts)


@cases("suffix", COMPRESS)
def test_compression_is_detected_by_content(suffix, tmp_path):
    (tmp_path / "a.txt").write_bytes(COMPRESS[suffix](TEXT))
    (tmp_path / f"b.txt{suffix}").write_bytes(TEXT)
    for name in ("a.txt", f"b.txt{suffix}"):
        input = Input.of(tmp_path / name)
        assert input.open().read() == TEXT
        assert input.seekable == (name != "a.txt")
        assert input.plain_name == name[:5]
        assert input.size == (tmp_path / name).stat().st_size == input.n_read


@cases("suffix", COMPRESS)
def test_truncated_compressed_files_are_rejected(suffix, tmp_path):
    data = COMPRESSED[suffix]
    path = tmp_path / f"a{suffix}"
    for end in [*range(40), *range(40, len(data), max(1, len(data) // 50)), len(data) - 1]:
        path.write_bytes(data[:end])
        with pytest.raises(
            InputError, match=r"corrupted or truncated \(.*\); restore the file or copy it again"
        ):
            Input.of(path).open().read()


@suffixes
@given(at=st.floats(0, 1, exclude_max=True), byte=st.integers(1, 255))
def test_flipped_byte_gives_an_error_or_the_content(suffix, at, byte):
    data = bytearray(COMPRESSED[suffix])
    data[int(at * len(data))] ^= byte
    try:
        read = Input.of(io.BytesIO(bytes(data))).open().read()
    except InputError as error:
        assert str(error).count(";") == 1  # noqa: PT017
    else:  # the byte is unused, or the file is no longer recognized as compressed
        assert read in (TEXT, bytes(data))


@suffixes
def test_decompression_memory_is_bounded(suffix):
    data = COMPRESS[suffix](bytes(3 * 10**7))
    tracemalloc.start()
    try:
        with Input.of(io.BytesIO(data)).open() as file:
            n = 0
            while piece := file.read1(1 << 20):
                n += len(piece)
        assert n == 3 * 10**7
        assert tracemalloc.get_traced_memory()[1] < 2.5e7
    finally:
        tracemalloc.stop()


@suffixes
def test_small_files_allocate_little_memory(tmp_path, suffix):
    (tmp_path / f"words{suffix}").write_bytes(COMPRESS[suffix](b"tea\ncake\n"))
    read(str(tmp_path), format="files")  # imports modules before memory is traced
    tracemalloc.start()
    try:
        assert read_vocabulary(Input.of(str(tmp_path / f"words{suffix}"))) == ["tea", "cake"]
        assert len(read(str(tmp_path), format="files").vocabulary.words) == 2
        assert tracemalloc.get_traced_memory()[1] < 2.5e7
    finally:
        tracemalloc.stop()


def test_pipe_can_be_peeked_and_read_once():
    input = Input.of(Slow(TEXT))
    head = input.peek()
    assert head == b"".join(TEXT.splitlines(keepends=True)[:8]) == input.peek()
    assert input.open().read() == TEXT
    with pytest.raises(InputError, match="only once"):
        input.open()


def test_peek_is_limited_to_64_kib():
    assert len(Input.of(io.BytesIO(b"x" * 10**6)).peek()) == 1 << 16
    assert Input.of(io.BytesIO(b"a\nb")).peek() == b"a\nb"


def test_open_files_are_read_from_their_current_position():
    file = io.BytesIO(b"gone" + TEXT)
    file.seek(4)
    input = Input.of(file)
    assert input.peek().startswith(b"0 tea")
    assert input.open().read() == input.open().read() == TEXT
    assert not file.closed


def test_stdin_is_read_as_a_pipe(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Slow(TEXT))))
    input = Input.of("-")
    assert (input.label, input.path, input.size, input.seekable) == (
        "standard input",
        None,
        None,
        False,
    )
    assert input.open().read() == TEXT


def test_named_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT,))
    writer.start()
    input = Input.of(path)
    assert input.peek().count(b"\n") == 8
    assert input.open().read() == TEXT
    assert not input.seekable
    writer.join()


def test_lines_are_readable_as_soon_as_they_are_written():
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        sink.write(b"the first line of many\n")
        file = Input.of(source).open()
        read = b""
        while not read.endswith(b"\n"):
            read += file.read1(1 << 20)
        assert read == b"the first line of many\n"


@cases(
    ("source", "message"),
    [
        ("no/such/file", "There is no file no/such/file; check the path."),
        (".", ". is a folder; pass a file in the folder."),
        ("", "A path cannot be ''; pass the name of a file."),
        ("a\0b", "A path cannot be 'a\\x00b'; pass the name of a file."),
        (3.5, "A source must be a path or an open file, got float."),
        (io.StringIO("tea"), "The file is open in text mode; open the file with mode 'rb'."),
    ],
)
def test_invalid_sources_are_rejected(source, message):
    with pytest.raises(InputError) as error:
        Input.of(source).open()
    assert str(error.value) == message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_unreadable_file_is_rejected(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(b"tea")
    path.chmod(0)
    with pytest.raises(InputError, match=r"cannot be read: Permission denied; check the file"):
        Input.of(path).open()


def test_file_names_of_arbitrary_bytes(tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9.TXT"
    with open(path, "wb") as file:
        file.write(b"tea")
    input = Input.of(os.fsdecode(path))
    assert input.open().read() == b"tea"
    assert input.label.endswith("caf\\xe9.TXT")
    assert input.plain_name == "caf\\xe9.txt"


@cases("suffix", ["", *COMPRESS])
def test_files_are_replaced_atomically(suffix, tmp_path):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"before")
    with write_in_one_step(path) as file:
        file.write(TEXT)
        assert path.read_bytes() == b"before"
    assert DECOMPRESS.get(suffix, bytes)(path.read_bytes()) == TEXT
    assert os.listdir(tmp_path) == [path.name]


@cases("suffix", ["", *COMPRESS])
def test_failed_write_keeps_the_old_file(suffix, tmp_path):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"before")

    def interrupted():
        with write_in_one_step(path) as file:
            file.write(TEXT)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == [path.name]


def test_write_follows_symbolic_links(tmp_path):
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with write_in_one_step(tmp_path / "link") as file:
        file.write(b"after")
    assert (tmp_path / "real").read_bytes() == b"after"
    assert (tmp_path / "link").is_symlink()


def test_write_to_stdout(capfdbinary):
    with write_in_one_step("-") as file:
        file.write(b"tea")
    assert capfdbinary.readouterr().out == b"tea"


def test_devices_are_written_in_place():
    with write_in_one_step(os.devnull) as file:
        file.write(b"tea")
    assert not os.path.isfile(os.devnull)


@cases(
    ("name", "message"),
    [
        ("none/a.txt", "its folder does not exist; create the folder"),
        ("", "is a folder; pass the name of a file"),
        ("x" * 300, "cannot be written: File name too long; choose another path"),
    ],
)
def test_unwritable_paths_are_rejected(name, message, tmp_path):
    with pytest.raises(InputError, match=message), write_in_one_step(f"{tmp_path}/{name}"):
        pass
    assert os.listdir(tmp_path) == []
