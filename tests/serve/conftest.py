"""Small models, and requests to an application without a server."""

import asyncio
import json
import random
import re
import time
from dataclasses import dataclass

import pytest

import opelda
from opelda.serve import _served
from opelda.serve import app as make_app

THEMES = (
    ["star", "galaxy", "telescope", "orbit", "planet", "comet", "nebula"],
    ["bread", "flour", "oven", "butter", "sugar", "recipe", "dough"],
    ["court", "judge", "lawyer", "trial", "verdict", "jury", "appeal"],
)


def make_texts(n_docs, seed=0):
    chance = random.Random(seed)
    return [" ".join(chance.choices(THEMES[i % 3], k=8)) for i in range(n_docs)]


def make_model(seed):
    return opelda.TopicModel(3, preset="fast", random_state=seed, n_jobs=1).fit(make_texts(90))


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


async def asked(app, method, path, body=b"", kind="application/json", parts=None, **scope):
    """Return the response to a request whose body arrives in parts."""
    path, _, query = path.partition("?")
    parts = iter([body] if parts is None else parts)
    sent = []

    async def receive():
        part = next(parts, None)
        if part is None:
            await asyncio.sleep(60)  # the body ends early
        return {"type": "http.request", "body": part, "more_body": bool(scope.get("more"))}

    async def send(message):
        sent.append(message)

    headers = [(b"host", scope.pop("host", b"localhost")), (b"content-type", kind.encode())]
    headers += scope.pop("headers", [])
    whole = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
    await app({**whole, "headers": headers, **scope}, receive, send)
    start, *rest = sent
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    content = b"".join(message["body"] for message in rest)
    assert int(found["content-length"]) == len(content)
    return Response(start["status"], found, content)


def ask(app, method="GET", path="/", body=b"", **options):
    return asyncio.run(asked(app, method, path, body, **options))


def infer(app, texts, options=""):
    return ask(app, "POST", f"/infer{options}", json.dumps(texts).encode())


def check_refused(response, status, said):
    assert response.status == status
    assert list(response.json) == ["error"]
    assert re.search(said, response.json["error"])
    assert response.json["error"].endswith(".")
    assert "\n" not in response.json["error"]


def until(condition):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")


@pytest.fixture(scope="session")
def models():
    return [make_model(seed) for seed in range(3)]


@pytest.fixture
def service(models):
    made = make_app(models[0], n_jobs=1)
    yield made
    made.close()


@pytest.fixture
def quick(monkeypatch):
    """Poll files more often."""
    monkeypatch.setattr(_served, "POLL", 0.01)
