"""`opelda serve` under load while its model is replaced, beside scikit-learn's LDA under FastAPI.

    python -m benchmarks.serve --data DIR [--requests 100000] [--clients 16] [--replacements 10]

Clients keep a connection each and send one text a request, without pauses. Meanwhile
the model file is replaced. Every answer must be, to the last digit, what the model whose version it
names says of that text offline; every fortieth request is bad, and must be answered by its status
and a sentence. Then the same texts go to a service of FastAPI around scikit-learn's LDA, with the
same topics and vocabulary; one process each, the clients on the same machine. Texts are arXiv's
titles and abstracts, without --data the 4,000 that opelda has, again and again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import opelda
from benchmarks.serve.client import Check, Request, Tally, load
from opelda.corpus import ABSTRACTS
from opelda.learning.persistence._model_arrays import as_parts

BAD_EVERY = 40
HEAD = (
    "\n| | requests | a second | p50 ms | p99 ms | longest ms | processor ms |\n" + "|---" * 7 + "|"
)
JSON = "Content-Type: application/json\r\n"
# the request line, headers and body of bad requests, and the status they deserve
BAD = [
    ("POST /infer", JSON, b'{"texts": ["half', 400),
    ("POST /infer", JSON, b'{"texts": [17]}', 422),
    ("POST /infer", JSON, b"[]", 422),
    ("POST /infer", "Content-Type: text/plain\r\n", b"\xff\xfe", 400),
    ("POST /infer", "", b"x=1", 415),
    ("POST /infer?top=0", JSON, b'["a"]', 400),
    ("POST /infer", JSON, b'["' + b"a" * 1_000_000 + b'"]', 413),
    ("GET /nothing", "", b"", 404),
    ("GET /topics/100000", "", b"", 404),
    ("DELETE /topics", "", b"", 405),
]


def texts_of(data: Path | None, n: int) -> list[str]:
    if data is None:
        lines = lzma.decompress(ABSTRACTS.read_bytes()).splitlines()
        papers = [json.loads(line) for line in lines]
        texts = [f"{paper['title']} {paper['text']}" for paper in papers]
        return [texts[i % len(texts)] for i in range(n)]
    import polars

    table = polars.read_parquet(data / "arxiv" / "abstracts-250k.parquet").head(n)
    return [f"{title} {text}" for title, text in table.select("title", "abstract").iter_rows()]


def request(line: str, headers: str, body: bytes, number: int, status: int = 200) -> Request:
    head = f"{line} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return Request(head.encode() + body, number, status)


def requests(texts: list[str], n: int, *, bad: bool) -> Iterator[Request]:
    good = [
        request("POST /infer", JSON, json.dumps({"texts": [text]}).encode(), number)
        for number, text in enumerate(texts)
    ]
    wrong = [request(*BAD[k][:3], k, BAD[k][3]) for k in range(len(BAD))]
    for i in range(n):
        if bad and i % BAD_EVERY == BAD_EVERY - 1:
            yield wrong[i // BAD_EVERY % len(wrong)]
        else:
            yield good[i % len(good)]


def models(texts: list[str], n_topics: int, n: int) -> Iterator[opelda.TopicModel]:
    """Yield a model, and its later versions as it continues to learn."""
    model = opelda.TopicModel(n_topics, preset="fast", random_state=0).fit(texts)
    yield model
    for first in range(n):
        yield model.partial_fit(texts[first * 100 : first * 100 + 500])


def offline(path: Path, texts: list[str]) -> tuple[bytes, list[dict]]:
    """Return a model's version, and its answer for every text."""
    model = opelda.load(path)
    found, labels = model.infer(texts), model.topic_labels_
    documents = [
        {
            "topics": [
                {"topic": k, "label": labels[k], "weight": float(f"{row[k]:.6g}")}
                for k in sorted(range(len(row)), key=lambda k: -row[k])
                if row[k] >= 0.01 or row[k] == row.max()
            ],
            "tokens": int(tokens),
        }
        for row, tokens in zip(found.theta, found.n_tokens, strict=True)
    ]
    for document, loss in zip(documents, found.loss, strict=True):
        document["loss"] = float(loss)
    return b"%08x" % as_parts(model)[1]["checksum"], documents


class Answers:
    """Knows what every model says of every text; an answer that was right once is known."""

    def __init__(self, files: list[Path], texts: list[str]) -> None:
        self.expected = dict(offline(path, texts) for path in files)
        self.right: dict[tuple[bytes, int], bytes] = {}

    def __call__(self, asked: Request, version: bytes, body: bytes) -> bool:
        if asked.status != 200:
            sentence = json.loads(body)["error"]
            return sentence.endswith(".") and len(sentence) > 10
        key = version, asked.number
        if key in self.right:
            return self.right[key] == body
        said = json.loads(body)
        expected = self.expected[version][asked.number]
        [found] = said["documents"]
        found.pop("unknown_tokens")
        loss = expected["loss"]
        close = loss <= found["loss"] <= loss + 1.1e-6
        same = found | {"loss": 0} == expected | {"loss": 0} and said["version"].encode() == version
        if close and same:
            self.right[key] = body
        return close and same


@contextmanager
def running(command: list[str], port: int) -> Iterator[subprocess.Popen]:
    """Run a server, which is given over when it answers."""
    process = subprocess.Popen([sys.executable, *command])
    try:
        while process.poll() is None:
            with suppress(OSError):
                asked = HTTPConnection("127.0.0.1", port)
                asked.request("GET", "/health")
                asked.getresponse().read()
                break
            time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait()


def measured(
    command: list[str], sent: list[str], n: int, clients: int, check: Check = lambda *_: True
) -> Tally:
    """Return what clients saw of a server."""
    tally, port = Tally(), free_port()
    with running([*command, str(port)], port) as process:
        before = seconds_of(process)
        asyncio.run(load(port, clients, requests(sent, n, bad=False), check, tally))
        tally.cpu = seconds_of(process) - before
    return tally


def seconds_of(process: subprocess.Popen) -> float:
    """Return the processor time that a process has taken; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def replace_now_and_then(files: list[Path], served: Path, tally: Tally, n: int) -> None:
    """Put the next model into its place whenever another part of the requests is answered."""
    for k, path in enumerate(files[1:], 1):
        while tally.n_answered < k * n // len(files):
            time.sleep(0.01)
        beside = served.with_suffix(".new")
        beside.write_bytes(path.read_bytes())
        os.replace(beside, served)


def row(name: str, tally: Tally) -> None:
    n = tally.n_answered
    print(
        f"| {name} | {n:,} | {n / tally.took:,.0f} | {tally.quantile(0.5):.2f} | "
        f"{tally.quantile(0.99):.2f} | {max(tally.seconds) * 1e3:.0f} | {tally.cpu / n * 1e3:.2f} |"
    )


def under_replacement(files: list[Path], sent: list[str], n: int, clients: int) -> Tally:
    """Load a server while its model is replaced; say what became of every request."""
    served = files[0].with_name("served.opelda")
    served.write_bytes(files[0].read_bytes())
    tally, port = Tally(), free_port()
    answers = Answers(files, sent)
    with running(["-m", "opelda", "serve", str(served), "--port", str(port)], port) as server:
        before = seconds_of(server)
        writer = threading.Thread(target=replace_now_and_then, args=(files, served, tally, n))
        writer.start()
        asyncio.run(load(port, clients, requests(sent, n, bad=True), answers, tally))
        writer.join()
        tally.cpu = seconds_of(server) - before
    print(
        f"\n{clients} clients, {len(files)} models: {tally.n_answered:,} answered, "
        f"{tally.n_lost} lost, {tally.n_wrong} wrong or mixed, {tally.n_bad:,} bad ones answered "
        f"by a sentence; {len(tally.versions)} versions answered "
        f"({', '.join(f'{times:,}' for times in tally.versions.values())})."
    )
    if tally.first_wrong:
        raise SystemExit(tally.first_wrong)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with arxiv/")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--replacements", type=int, default=10)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--learn", type=int, default=10_000, help="documents learned from")
    parser.add_argument("--texts", type=int, default=1_000, help="different texts that are sent")
    parser.add_argument("--compare", type=int, default=5_000, help="requests of each beside peers")
    options = parser.parse_args()
    texts = texts_of(options.data, options.learn + options.texts)
    learned, sent = texts[: -options.texts], texts[-options.texts :]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for k, model in enumerate(models(learned, options.topics, options.replacements)):
            files.append(Path(folder, f"{k}.opelda"))
            opelda.save(model, files[-1])
        if options.requests:
            tally = under_replacement(files, sent, options.requests, options.clients)
            print(HEAD)
            row("`opelda serve`, replaced meanwhile", tally)
        ours = ["-m", "opelda", "serve", str(files[-1]), "--quiet", "--port"]
        theirs = ["-m", "benchmarks.serve.peer", str(files[-1])]
        for clients in (1, options.clients):
            mine = measured(ours, sent, options.compare, clients)
            peer = measured(theirs, sent, options.compare, clients)
            print(f"\n{clients} clients{HEAD}")
            row("`opelda serve`", mine)
            row("FastAPI, scikit-learn's LDA", peer)
            rates = [tally.n_answered / tally.took for tally in (mine, peer)]
            halves = [peer.quantile(share) / mine.quantile(share) for share in (0.5, 0.99)]
            print(
                f"\n{rates[0] / rates[1]:.1f} times the requests a second; its p50 is "
                f"{halves[0]:.1f}, its p99 {halves[1]:.1f} times ours."
            )


if __name__ == "__main__":
    main()
