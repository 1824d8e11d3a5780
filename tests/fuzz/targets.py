"""Fuzz targets: readers of untrusted documents, models and requests.

A target takes any bytes and checks the result. The only errors allowed are the library's own, with
a message of one sentence.
"""

import asyncio
import gzip
import io
import json
import re
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

import opelda
from opelda import _store
from opelda.corpus import Corpus, Tokenizer, read
from opelda.corpus._block import Problems
from opelda.corpus.formats import FORMATS, Options
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._vocab import read_vocabulary
from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE
from opelda.errors import InputError, ModelFileError
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from opelda.serve import app as make_app
from opelda.serve._server import Listener, Server
from tests.corpus.formats import test_counts_formats_fuzz as counts_cases
from tests.corpus.formats import test_text_damage as text_cases
from tests.serve.conftest import make_model
from tests.test_model_file_damage import FILES, refused, write

NAMES = [name for name in FORMATS if name != "files"]
ENDS = ["", ".txt", ".csv", ".jsonl", ".dat", ".docword", ".mtx", ".npz", ".parquet"]
PACKED = ["", "", "", ".gz", ".zst", ".xz", ".bz2"]
COLUMNS = [(), ("text",), ("1",), ("name", "text"), ("x",)]
PATTERNS = [None, None, COUNT_VECTORIZER, WHITESPACE, r"[a-z]+"]
N_CHOICES = 4  # first bytes of a case, which choose options


class Target(NamedTuple):
    """A function of bytes, its folder and its seeds."""

    run: Callable[[bytes, Path], None]
    seeds: list[bytes]


def check_sentence(error: Exception) -> None:
    sentence = str(error)
    assert sentence.endswith("."), sentence
    assert "\n" not in sentence, sentence
    assert len(sentence) < 3000, sentence


def chosen(data: bytes) -> tuple[Callable[[int, list], object], bytes]:
    """Return a function that chooses from lists by the first bytes, and the other bytes."""
    head = data[:N_CHOICES].ljust(N_CHOICES, b"\0")
    return lambda i, values: values[head[i] % len(values)], data[N_CHOICES:]


def read_format(name: str, data: bytes, folder: Path) -> None:
    """Read the blocks of a file in one format."""
    choose, content = chosen(data)
    options = Options(
        text_columns=choose(0, COLUMNS),
        name_column=choose(1, [None, None, "name", "1"]),
        encoding=choose(2, text_cases.ENCODINGS) if FORMATS[name].kind == "text" else "utf-8",
        first_id=choose(0, [None, 0, 1]),
        block_size=choose(3, [1, 3, 1000]),
        problems=Problems(choose(1, ["stop", "skip"])),
    )
    source = io.BytesIO(content)
    if name in ("parquet", "xlsx"):
        source = folder / f"docs.{name}"
        source.write_bytes(content)
    n_docs = 0
    try:
        for block in FORMATS[name].blocks(Input.of(source), options, None):
            if FORMATS[name].kind == "text":
                text_cases.check(block, options)
            else:
                block.documents.check_format(full_check=True)
                assert block.documents.has_canonical_format
                assert (block.documents.data > 0).all()
            n_docs += len(block)
            if n_docs > 3000:  # (a header may announce millions of empty documents)
                break
    except InputError as error:
        check_sentence(error)


def read_file(data: bytes, folder: Path) -> None:
    """Read a whole file with detection of its format."""
    choose, content = chosen(data)
    path = folder / f"docs{choose(0, ENDS)}{choose(1, PACKED)}"
    path.write_bytes(content)
    try:
        corpus = read(path, on_error=choose(2, ["stop", "skip"]), limit=3000, n_jobs=1)
        corpus.X.check_format(full_check=True)
        assert corpus.X.shape[1] == len(corpus.words or range(corpus.X.shape[1]))
    except InputError as error:
        check_sentence(error)
    finally:
        path.unlink()


def count_words(data: bytes, folder: Path) -> None:
    """Count the words of texts, and check the counts of the resulting vocabulary."""
    choose, content = chosen(data)
    texts = content.decode(errors="replace").split("\0")
    tokenizer = Tokenizer(
        pattern=choose(0, PATTERNS),
        lower=choose(1, [True, False]),
        ngrams=choose(1, [1, 1, 2, (2, 2)]),
        unspaced=choose(2, ["auto", "pairs", None]),
        stem=choose(2, [None, None, None, None, "english"]),
        phrases=choose(1, [False] * 4 + [True]) and choose(1, [True, True, False, False]),
        keep_markup=choose(3, [False, True]),
    )
    try:
        corpus = read(texts, tokenizer=tokenizer, min_df=1, max_df=1.0, n_jobs=1)
    except InputError as error:
        check_sentence(error)
        return
    again = read(texts, vocabulary=corpus.vocabulary, n_jobs=1)
    assert (again.X != corpus.X).nnz == 0
    assert corpus.X.shape[0] == len(texts)


def read_words(data: bytes, folder: Path) -> None:
    """Read a vocabulary file."""
    choose, content = chosen(data)
    try:
        words = read_vocabulary(Input.of(io.BytesIO(content)), choose(0, text_cases.ENCODINGS))
        assert len(set(words)) == len(words)
    except InputError as error:
        check_sentence(error)


def load_model(data: bytes, folder: Path) -> None:
    """Load a model file, unchanged and with a corrected checksum."""
    path = folder / "model"
    path.write_bytes(data)
    try:
        opelda.load(path)
    except ModelFileError as error:
        check_sentence(error)
    try:
        arrays, header, version = _store.read(path, kind=KIND, newest=FORMAT)
    except ModelFileError:
        return
    if version == FORMAT and header.get("checksum") != checksum(arrays, header):
        with np.errstate(all="ignore"):
            refused(folder, arrays, header)


class Transport(asyncio.Transport):
    """A transport that records the bytes it receives."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.closed = b"", False

    def write(self, data: bytes) -> None:
        if not self.closed:
            self.sent += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


@cache
def server() -> tuple[asyncio.AbstractEventLoop, Server]:
    made = Server(make_app(make_model(0), n_jobs=1, max_bytes=20_000), Listener(), 10.0)
    made.config.load()
    return asyncio.new_event_loop(), made


def ask(data: bytes, folder: Path) -> None:
    """Send bytes in two parts, and disconnect after the answer."""
    loop, made = server()
    cut, sent = data[:1], data[1:]

    async def converse() -> bytes:
        transport, state = Transport(), made.server_state
        connection = made.config.http_protocol_class(
            config=made.config, server_state=state, app_state={}, _loop=loop
        )
        connection.connection_made(transport)
        at = len(sent) * (cut or b"\0")[0] // 255
        for part in filter(None, (sent[:at], sent[at:])):  # transports give no empty parts
            if not transport.closed:
                connection.data_received(part)
            await asyncio.sleep(0)
        while (cycle := connection.cycle) and not (cycle.response_complete or cycle.more_body):
            if transport.closed:  # like malformed bytes after a request
                break
            await asyncio.sleep(0.0002)
        connection.connection_lost(None)
        while state.tasks:
            await asyncio.sleep(0.0002)
        assert not state.connections
        return transport.sent

    found = loop.run_until_complete(converse())
    assert made._app._bodies.n_bytes == 0
    for head, body in re.findall(rb"(?s)(HTTP/1\.1 \d{3}.*?)\r\n\r\n(\{.*?\})?(?=HTTP/1|$)", found):
        assert not re.match(rb"HTTP/1\.1 50[^34]", head), found[:3000]
        if re.match(rb"HTTP/1\.1 4", head) and body:
            check_sentence(ValueError(json.loads(body)["error"]))


def request(method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    if body:
        lines += [f"Content-Length: {len(body)}"]
    return "\xff".encode("latin-1") + "\r\n".join([*lines, "", ""]).encode() + body


def count_files(name: str) -> list[bytes]:
    """Return valid files of counts."""
    rng = np.random.default_rng(0)
    files = [counts_cases.valid_files(name, rng) for _ in range(8)]
    X = sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0]]))
    files += [_written(name, X)]
    return [file for file in files if isinstance(file, bytes)]


def _written(name: str, X: sparse.csr_array) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        FORMATS[name].write(Corpus(X), f"{folder}/x")
        return Path(folder, "x").read_bytes()


@cache
def targets() -> dict[str, Target]:
    """Return every target by name."""
    heads = [bytes(N_CHOICES), b"\1\1\1\1", b"\0\3\0\2"]
    files = {
        name: text_cases.SEEDS[name] if FORMATS[name].kind == "text" else count_files(name)
        for name in NAMES
    }
    found = {
        name: Target(
            partial(read_format, name), [head + file for head in heads for file in files[name]]
        )
        for name in NAMES
    }
    texts = "Tea, cake and Über-Größe: 日本語の文章 <b>x</b> don't\0tea cake 3.5 _a_ \U0001f600 é"
    whole = [bytes([i, 0, i, 0]) + files[name][0] for i, name in enumerate(NAMES, 1)]
    packed = [bytes([1, 3, 0, 0]) + gzip.compress(b"tea cake\nmore tea\n" * 9)]
    found["file"] = Target(read_file, whole + packed)
    found["words"] = Target(count_words, [head + texts.encode() for head in heads])
    found["vocabulary"] = Target(read_words, [bytes(4) + b"tea\ncake\n\xc3\xa9\r\n%20\n"])
    with tempfile.TemporaryDirectory() as folder:
        models = [write(Path(folder), *parts).read_bytes() for parts in FILES.values()]
    found["model"] = Target(load_model, models)
    kind = "Content-Type: application/json"
    found["request"] = Target(
        ask,
        [
            request("GET", "/health") + request("GET", "/topics/1")[1:],
            request("POST", "/infer?top=2&certificate=1", b'{"texts": ["star oven", "x"]}', kind),
            request("POST", "/infer?min_weight=0.1", b'["court \\u00e9"]', kind),
            request("POST", "/infer", b"bread and flour", "Content-Type: text/plain", "Expect: x"),
            request("OPTIONS", "/", b"", "Sec-Fetch-Site: cross-site", "Connection: close"),
            request("POST", "/infer", b"", kind, "Transfer-Encoding: chunked") + b"5\r\n[1,2]\r\n0",
        ],
    )
    return found
