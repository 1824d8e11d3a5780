"""Forked processes read and fit after any reading by their parent."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# Each parent is a fork of a process that has not read yet. Each child reports the digest of its
# words and counts, or its error message; an alarm kills a child that hangs.
READING = """
import hashlib, json, multiprocessing, os, pickle, signal, sys, warnings
from pathlib import Path
import pandas as pd
import polars as pl
from opelda import TopicModel
from opelda.corpus import Tokenizer, read, stream
from opelda.errors import InputError

folder = Path(sys.argv[1])
signs = ["&eacute;tude <b>bold</b>", "@name http://a.example/b", "STRASSE", "\\u6771\\u4eac\\u90fd"]
texts = [" ".join([f"w{i * j % 97}" for j in range(9)] + [signs[i % 4]]) for i in range(300)]
frame = pd.DataFrame({"text": texts, "title": [f"t{i}" if i % 5 else None for i in range(300)]})
frame["words"] = [text.split() for text in texts]
folder.joinpath("a.txt").write_text("\\n".join(texts), "utf-8")
frame.to_json(folder / "a.jsonl", orient="records", lines=True)
frame[["text", "title"]].to_csv(folder / "a.csv", index=False)
frame[["text", "title"]].to_csv(folder / "a.tsv", sep="\\t", index=False)
folder.joinpath("texts").mkdir()
for i, text in enumerate(texts[:50]):
    folder.joinpath("texts", f"{i}.txt").write_text(text, "utf-8")
pid = os.fork()  # polars writes in another process, so that its pool is not started in this one
if pid == 0:
    pl.DataFrame({"text": texts}).write_parquet(folder / "a.parquet")
    os._exit(0)
os.waitpid(pid, 0)

def reading(source, pattern=None, **how):
    def job():
        tokenizer = Tokenizer(pattern=pattern)  # polars checks a pattern: only now
        corpus = read(source(), min_df=1, max_df=1.0, tokenizer=tokenizer, **how)
        return corpus.words, corpus.X.toarray().tolist(), corpus.names
    return job

def streaming():
    return [(b.X.toarray().tolist(), b.names) for b in stream(folder / "a.jsonl", batch_size=64)]

def fitting():
    return TopicModel(2, random_state=0, preset="fast").fit(texts[:60]).components_.tobytes()

jobs = {
    "list": reading(lambda: texts),
    "few": reading(lambda: texts[:20]),
    "pattern": reading(lambda: texts, "[a-z]+"),
    "lines": reading(lambda: folder / "a.txt"),
    "jsonl": reading(lambda: folder / "a.jsonl"),
    "csv": reading(lambda: folder / "a.csv"),
    "tsv": reading(lambda: folder / "a.tsv"),
    "folder": reading(lambda: folder / "texts"),
    "pandas": reading(lambda: frame, text_column=["title", "words"]),
    "polars": reading(lambda: pl.DataFrame({"text": [*texts, None]})),
    "arrow": reading(lambda: pl.DataFrame({"text": texts}).to_arrow()),
    "column": reading(lambda: frame["title"]),
    "dedupe": reading(lambda: folder / "a.csv", dedupe=True, metadata="text"),
    "stream": streaming,
    "fit": fitting,
    "pool": lambda: in_pool(),
    "parquet": reading(lambda: folder / "a.parquet"),
}
PARENTS = ("list", "lines", "jsonl", "csv", "folder", "pandas", "polars", "fit", "parquet")

def digest(job):
    try:
        return hashlib.sha256(pickle.dumps(job())).hexdigest()
    except InputError as error:
        return str(error)

def in_child(work, seconds=60):
    end, start = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)
        os.write(start, work().encode())
        os._exit(0)
    os.close(start)
    with open(end) as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return said if code == 0 else f"ended with {code}"

def in_pool():
    with multiprocessing.get_context("fork").Pool(2, signal.alarm, (60,)) as pool:
        return pool.map(digest, [fitting] * 2)

def after(parent):
    if parent in jobs:
        jobs[parent]()
    return json.dumps({name: in_child(lambda: digest(job)) for name, job in jobs.items()})

for parent in ("nothing", *PARENTS):
    print(json.dumps([parent, json.loads(in_child(lambda: after(parent), 900))]), flush=True)
"""


def test_forked_child_reads_and_fits_like_a_fresh_process(tmp_path):
    lines = subprocess.check_output([sys.executable, "-c", READING, tmp_path], text=True)
    found = dict(json.loads(line) for line in lines.splitlines())
    expected = found.pop("nothing")
    for children in found.values():
        assert children.pop("parquet").endswith("or start processes by 'spawn'.")
        assert children == {name: expected[name] for name in children}
