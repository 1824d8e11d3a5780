"""`opelda evaluate`: how well a model fits documents."""

from typing import Annotated, Any

import typer

from opelda.cli._app import command, option
from opelda.cli._inputs import read_over
from opelda.cli._models import CertifiedInference, columns_of, load_model
from opelda.cli._options import (
    AccuracyOptions,
    AsJson,
    Engine,
    Jobs,
    Model,
    NamelessReading,
    Show,
    transform_option,
)
from opelda.cli._show import count, plain, skipped_documents
from opelda.cli._standard_streams import print_facts, print_json

WITHIN = (0.01, 0.1, 1)  # nats of the most likely mixture
MANY_NEVER_MET = 0.01  # of the pairs of top words: documents are too few for coherence


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
    n_splits: int = option(
        5, "--splits", help="Random splits into tokens seen and tokens to predict.", min=1
    ),
    n_words: int = option(10, "--words", "-n", help="Top words for coherence.", min=2),
    n_jobs: Jobs = None,
    as_json: AsJson = False,
    accuracy: AccuracyOptions,
    transform_method: str | None = transform_option(),
    reading: NamelessReading,
    engine: Engine = None,
    show: Show,
) -> None:
    """Score a model on documents.

    Log predictive probability and perplexity of held-out tokens, by mixtures as `opelda transform`
    infers them with the same options; NPMI coherence of the topics' top words over the same
    documents; topic diversity; and how far the likelihood of documents' mixtures can be below the
    optimum.
    """
    learned = load_model(model, n_jobs, engine, transform_method, accuracy)
    documents = read_over(columns_of(learned), corpus, reading, show, n_jobs)
    inference = CertifiedInference(learned)
    found = measured(documents, n_splits, n_words, inference)
    inference.complain()
    skipped_documents(documents.n_skipped, documents.problems, show)
    if as_json:
        print_json({"model": model, **found})
    else:
        print_facts(_facts(found))


def measured(
    documents: Any, n_splits: int, n_words: int, inference: CertifiedInference
) -> dict[str, Any]:
    """Return all figures, fit for JSON."""
    from numpy import median

    from opelda.metrics import log_predictive_probability, topic_diversity
    from opelda.metrics._coherence import npmi_of_pairs

    X, model = documents.X, inference.model
    # by the model's own seed: the same splits whenever it is evaluated
    seed, jobs = model._state.seed, model.n_jobs
    with inference.quiet():
        predicted = log_predictive_probability(
            model, X, method=None, n_splits=n_splits, random_state=seed, n_jobs=jobs
        )
    inferred = inference.infer(X)
    inference.note(range(len(documents)), inferred)
    loss = inferred.loss
    spread = {"mean": loss.mean(), "median": median(loss), "max": loss.max()}
    pairs = npmi_of_pairs(model, X, n_words)
    coherence, learned = pairs.mean(axis=1), model.coherence_
    return {
        "documents": len(documents),
        "empty_documents": documents.n_empty,
        "skipped_documents": documents.n_skipped,
        "tokens": float(X.sum()),
        "unknown_tokens": float(documents.n_unknown_tokens),
        "log_predictive_probability": predicted.macro,
        "standard_error": plain(predicted.standard_error),
        "perplexity": plain(predicted.perplexity),
        "documents_scored": predicted.n_documents,
        "splits": n_splits,
        "npmi_learned_from": None if learned is None else float(learned.mean()),
        "npmi": float(coherence.mean()),
        "pairs_never_met": float((pairs == -1.0).mean()),
        "npmi_by_topic": [float(value) for value in coherence],
        "topic_diversity": float(topic_diversity(model)),
        "loss": {name: plain(value) for name, value in spread.items()},
        "share_within": {str(nats): float((loss <= nats).mean()) for nats in WITHIN},
    }


def _coherence(found: dict[str, Any]) -> str:
    """Say the coherence of the documents learned from before that of these, which may be too few.

    Two words that never meet count -1. As measured, the coherence is too low by about the share of
    such pairs (docs/metrics.md).
    """
    learned, n_docs = found["npmi_learned_from"], count(found["documents"], "document")
    said = f"{found['npmi']:.3f} of these {n_docs}"
    if learned is not None:
        said = f"{learned:.3f} of the documents it learned from; {said}"
    if found["pairs_never_met"] > MANY_NEVER_MET:
        said += (
            f", which does not compare: {found['pairs_never_met']:.0%} of the pairs of top words "
            "never meet in so few"
        )
    return said


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
        ("coherence (NPMI)", _coherence(found)),
        ("topic diversity", f"{found['topic_diversity']:.3f}"),
        ("below the optimum", f"at most: {spread} nats per document"),
        ("share of documents", within),
    ]
