"""`opelda serve` as a command: address, messages and shutdown."""

import json
import re
import signal
import socket
import sys
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


def test_server_answers_until_sigterm(process, model_file, themes):
    running = process("serve", model_file, "--port", 0, "--host", "0.0.0.0", wait=False)
    line = running.stderr.readline()
    found = re.search(r"small.opelda, 3 topics, version (\w{8}), answers at (http://\S+)", line)
    assert found, line + running.stderr.read()
    assert "has no authentication" in running.stderr.readline()
    url = found[2].replace("0.0.0.0", "127.0.0.1")
    words = " ".join(themes[1])
    asked = Request(f"{url}infer", words.encode(), {"Content-Type": "text/plain"})
    with urlopen(asked, timeout=60) as answer:
        output = json.loads(answer.read())
    assert output["version"] == found[1]
    assert output["documents"][0]["tokens"] == len(themes[1])
    assert output["documents"][0]["topics"][0]["weight"] > 0.5
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate()
    assert running.returncode == 130
    assert (out, err) == ("", "opelda: stopped; 1 request answered.\n")


def test_errors_are_one_sentence(cli, model_file, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = cli("serve", model_file, "--port", taken.getsockname()[1])
    assert result.code == 2
    assert re.search(r"^opelda: --port cannot listen at 127.0.0.1:\d+: .*\.\n$", result.err)
    for args, message in (
        (("--host", "no.such.host.invalid"), "--host has the unknown host"),
        (("--timeout", "soon"), "--timeout must be a whole number or a time"),
        (("--corpus", "nowhere.txt"), "nowhere.txt"),
        (("--corpus", "-"), "read only once"),
    ):
        result = cli("serve", model_file, "--port", 0, *args)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert message in result.err
    assert "nowhere.opelda" in cli("serve", "nowhere.opelda", "--port", 0).err
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "opelda.serve._server", raising=False)
    result = cli("serve", model_file, "--port", 0)
    needs = "Serving needs uvicorn, which is not installed; run pip install 'opelda[serve]'."
    assert (result.code, result.err) == (2, f"opelda: {needs}\n")
