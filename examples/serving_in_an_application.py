"""Serve a model inside a web application, and query it.

    python examples/serving_in_an_application.py model.opelda "A text" "Another text"

`opelda.serve.app` returns an ASGI application for FastAPI, Starlette or any ASGI server. This
example runs it in uvicorn (``pip install '.[serve]'``) until the client has its answers.
"""

import json
import socket
import sys
import threading
from urllib.request import Request, urlopen

import uvicorn

from opelda.serve import app


def ask(url: str, texts: list[str]) -> None:
    """Print the heaviest topic and the certified loss of each text."""
    body = json.dumps({"texts": texts}).encode()
    request = Request(f"{url}/infer?top=1", body, {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        documents = json.load(answer)["documents"]
    for text, found in zip(texts, documents, strict=True):
        label = found["topics"][0]["label"] if found["topics"] else "no word is known"
        print(f"{text}: {label} (loses {found['loss']:.3f} nats at most)")


def main(model: str, *texts: str) -> None:
    """Serve a model and query it."""
    listener = socket.create_server(("127.0.0.1", 0))  # any free port
    server = uvicorn.Server(uvicorn.Config(app(model, max_loss=0.01), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        ask(f"http://127.0.0.1:{listener.getsockname()[1]}", list(texts))
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
