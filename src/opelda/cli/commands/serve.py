"""`opelda serve`: a model behind HTTP."""

from typing import Any

from opelda.cli._app import command, option
from opelda.cli._exit import StoppedError, handled
from opelda.cli._inputs import source_of
from opelda.cli._options import JOBS, MODEL, Accuracy
from opelda.cli._terminal import count, note, noted, tell
from opelda.errors import InputError


@command(
    "opelda serve model.opelda",
    "curl localhost:8000/infer -H 'Content-Type: text/plain' -d 'The court heard the appeal'",
    "opelda serve model.opelda --corpus articles.jsonl",
)
def serve(
    *,
    model: str = MODEL,
    host: str = option("--host HOST", "Address to listen on; default: localhost.", "127.0.0.1"),
    port: int = option(
        "--port N", "Port to listen on; 0 selects a free port.", 8000, min=0, max=65535
    ),
    max_bytes: int = option("--max-bytes N", "Maximum size of a request body.", 1_000_000, min=1),
    max_docs: int = option("--max-docs N", "Maximum number of texts per request.", 1_000, min=1),
    timeout: str = option(
        "--timeout TIME", "Timeout of a request and its response; default: 10s.", "10s"
    ),
    corpus: list[str] | None = option(
        "--corpus FILE", "Documents for the report page at / (repeatable)."
    ),
    accuracy: Accuracy,
    n_jobs: int | None = JOBS,
) -> None:
    """Answer requests for the topics of texts over HTTP, until Ctrl-C.

    POST texts to [bold]/infer[/bold]; GET [bold]/topics[/bold], [bold]/health[/bold], and a page
    for browsers at [bold]/[/bold]. When the model file is replaced, later requests are answered by
    the new model. Without authentication: --host alone lets other machines in.
    """
    # start-up time, and packages of an extra
    from opelda._validation import steps_or_seconds
    from opelda.serve import part

    seconds = float(sum(steps_or_seconds("timeout", timeout, "smh")))
    serving = part("_server")
    listener, site = serving.bound(host, port)
    with listener:
        service = part("_application").app(
            model,
            max_bytes=max_bytes,
            max_docs=max_docs,
            timeout=seconds,
            n_jobs=n_jobs,
            corpus=None if corpus is None else _documents(corpus),
            **accuracy.parameters(),
        )
        service.site = site
        server = serving.Server(service, listener, patience=seconds)
        answering = service.newest.served
        topics = count(len(answering.topics), "topic")
        note(f"{model}, {topics}, version {answering.version}, answers at {site.url}")
        if not site.is_local:
            tell(
                "everybody who reaches this machine can send requests; the server has no "
                "authentication."
            )
        with handled(lambda number, frame: server.stop()), noted("opelda.serve"):
            server.run()
    raise StoppedError(f"stopped; {count(service.n_answered, 'request')} answered.")


def _documents(corpus: list[str]) -> Any:
    """Return documents that can be read repeatedly, after a check of the first."""
    from opelda.corpus import stream

    if "-" in corpus:
        raise InputError("--corpus requires files because standard input can be read only once.")
    source = source_of(corpus)
    next(stream(source, batch_size=1).batches(), None)
    return source
