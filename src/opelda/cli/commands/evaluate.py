"""`opelda evaluate`: how well a model fits documents."""

from math import exp
from typing import Annotated, Any

import typer

from opelda.cli._app import command, option
from opelda.cli._inputs import read_over
from opelda.cli._models import columns_of, load_model
from opelda.cli._options import (
    Accuracy,
    AsJson,
    Engine,
    Jobs,
    Model,
    NamelessReading,
    Show,
    given_options,
    transform_option,
)
from opelda.cli._promise import Promise
from opelda.cli._show import plain, skipped_documents
from opelda.cli._standard_streams import print_facts, print_json

WITHIN = (0.01, 0.1, 1)  # nats of the best mixture


@command(
    "evaluate",
    "opelda evaluate model.opelda held-out.txt",
    "opelda evaluate model.opelda held-out.txt --splits 10 --json",
)
def evaluate(
    *,
    model: Model,
    corpus: Annotated[
        list[str],
        typer.Argument(
            help="Documents the model has not learned from; - is standard input.", metavar="CORPUS"
        ),
    ],
    splits: int = option(
        5, help="Random splits of each document into tokens seen and tokens to predict.", min=1
    ),
    words: int = option(10, "--words", "-n", help="Top words for coherence.", min=2),
    transform_method: str | None = transform_option(),
    accuracy: Accuracy,
    jobs: Jobs = None,
    engine: Engine = None,
    as_json: AsJson = False,
    reading: NamelessReading,
    show: Show,
) -> None:
    """Score a model on documents.

    Log predictive probability and perplexity of held-out tokens, NPMI coherence of the topics' top
    words over the same documents, topic diversity, and how far documents' mixtures are at the most
    behind the best there are.
    """
    learned = load_model(model, jobs, engine)
    if transform_method is not None:
        learned.set_params(transform_method=transform_method)
    learned.set_params(**given_options(accuracy))
    documents = read_over(columns_of(learned), corpus, reading, show, jobs)
    promise = Promise(learned)
    found = measured(learned, documents, splits, words, promise)
    promise.complain()
    skipped_documents(documents.n_skipped, documents.problems, show)
    if as_json:
        print_json({"model": model, **found})
    else:
        print_facts(_facts(found))


def measured(
    model: Any, documents: Any, splits: int, n_words: int, promise: Promise
) -> dict[str, Any]:
    """Return all figures, fit for JSON."""
    from opelda.metrics import log_predictive_probability, npmi, topic_diversity

    X = documents.X
    # by the model's own seed: the same splits whenever it is evaluated
    predicted = log_predictive_probability(
        model, X, n_splits=splits, random_state=model._state.seed, n_jobs=model.n_jobs
    )
    inferred = promise.infer(X)
    promise.note(range(len(documents)), inferred)
    coherence = npmi(model, X, n_words=n_words)
    return {
        "documents": len(documents),
        "empty_documents": documents.n_empty,
        "skipped_documents": documents.n_skipped,
        "tokens": float(X.sum()),
        "unknown_tokens": float(documents.n_unknown_tokens),
        "log_predictive_probability": predicted.macro,
        "standard_error": plain(predicted.standard_error),
        "perplexity": plain(exp(min(-predicted.macro, 700.0))),
        "documents_scored": predicted.n_documents,
        "splits": splits,
        "npmi": float(coherence.mean()),
        "npmi_by_topic": [float(value) for value in coherence],
        "topic_diversity": float(topic_diversity(model)),
        "loss": _spread(inferred.loss),
        "share_within": {str(nats): float((inferred.loss <= nats).mean()) for nats in WITHIN},
    }


def _spread(values: Any) -> dict[str, float | None]:
    import numpy as np

    found = {"mean": values.mean(), "median": np.median(values), "max": values.max()}
    return {name: plain(value) for name, value in found.items()}


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    error = found["standard_error"]
    tokens, unknown = found["tokens"], found["unknown_tokens"]
    empty = f" ({found['empty_documents']:,} empty)" if found["empty_documents"] else ""
    share = unknown / max(tokens + unknown, 1.0)
    spread = ", ".join(f"{part} {value:.3g}" for part, value in found["loss"].items())
    within = ", ".join(
        f"within {nats} nats {share:.1%}" for nats, share in found["share_within"].items()
    )
    return [
        ("documents", f"{found['documents']:,}{empty}"),
        ("tokens", f"{tokens:,.0f}, and {unknown:,.0f} unknown to the model ({share:.1%})"),
        (
            "log predictive probability",
            f"{found['log_predictive_probability']:.4f}"
            + ("" if error is None else f" ± {error:.4f}")
            + f" per token ({found['documents_scored']:,} documents, {found['splits']} splits)",
        ),
        ("perplexity", f"{found['perplexity']:,.1f}"),
        ("coherence (NPMI)", f"{found['npmi']:.3f}"),
        ("topic diversity", f"{found['topic_diversity']:.3f}"),
        ("behind the best mixture", f"at most: {spread} nats per document"),
        ("share of documents", within),
    ]
