"""A model as a part of a web application of your own, and a client that asks it.

    python examples/serving_in_an_application.py model.opelda "A text" "Another text"

`opelda.serve.app` is an ASGI application: FastAPI and Starlette mount it, any ASGI server runs it.
Here uvicorn does (``pip install 'opelda[serve]'``), for as long as the client asks.
"""

import json
import socket
import sys
import threading
from urllib.request import Request, urlopen

import uvicorn

from opelda.serve import app


def ask(url: str, texts: list[str]) -> None:
    """Print the best topic of each text, and how much better another mixture could be."""
    body = json.dumps({"texts": texts}).encode()
    request = Request(f"{url}/infer?top=1", body, {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        documents = json.load(answer)["documents"]
    for text, found in zip(texts, documents, strict=True):
        label = found["topics"][0]["label"] if found["topics"] else "no word is known"
        print(f"{text}: {label} (loses {found['loss']:.3f} nats at most)")


def main(model: str, *texts: str) -> None:
    """Serve a model and ask it."""
    listener = socket.create_server(("127.0.0.1", 0))  # any port that is free
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
