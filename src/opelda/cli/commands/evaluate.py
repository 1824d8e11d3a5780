"""`opelda evaluate`: how well a model fits documents."""

from typing import Any

from opelda.cli._app import argument, command, option
from opelda.cli._inputs import columns_of, load_model, read_over, tell_missed
from opelda.cli._options import AS_JSON, ENGINE, MODEL, Inference, NamelessReading
from opelda.cli._terminal import count, plain, print_facts, print_json


@command(
    "opelda evaluate model.opelda held-out.txt",
    "opelda evaluate model.opelda held-out.txt --splits 10 --json",
)
def evaluate(
    *,
    model: str = MODEL,
    corpus: list[str] = argument("CORPUS", "Held-out documents; - is standard input."),
    n_splits: int = option("--splits N", "Random splits of each document's tokens.", 5, min=1),
    n_words: int = option("--words -n N", "Top words for coherence.", 10, min=2),
    as_json: bool = AS_JSON,
    inference: Inference,
    reading: NamelessReading,
    engine: str | None = ENGINE,
) -> None:
    """Score a model on documents.

    Log predictive probability and perplexity of held-out tokens, by mixtures as `opelda transform`
    infers them with the same options; NPMI coherence of the topics' top words over the same
    documents; topic diversity; and how far the likelihood of documents' mixtures can be below the
    optimum.
    """
    from numpy import median

    from opelda.metrics import log_predictive_probability, topic_diversity
    from opelda.metrics._coherence import npmi_of_pairs

    learned = load_model(model, reading.n_jobs, engine, inference)
    kept: dict[str, Any] = {"metadata": ["*"]} if learned._state.columns else {}
    documents = read_over(columns_of(learned), corpus, reading, **kept)
    X = documents.X
    # by the model's own seed: the same splits whenever it is evaluated
    seed = learned._state.seed
    predicted = log_predictive_probability(
        learned, documents, method=None, n_splits=n_splits, random_state=seed, n_jobs=reading.n_jobs
    )
    inferred = learned.infer(documents)
    tell_missed(len(inferred.missed))
    loss = inferred.loss
    spread = {"mean": loss.mean(), "median": median(loss), "max": loss.max()}
    pairs = npmi_of_pairs(learned, X, n_words)
    coherence, before = pairs.mean(axis=1), learned.coherence_
    found = {
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
        "npmi_learned_from": None if before is None else float(before.mean()),
        "npmi": float(coherence.mean()),
        "pairs_never_met": float((pairs == -1.0).mean()),
        "npmi_by_topic": [float(value) for value in coherence],
        "topic_diversity": float(topic_diversity(learned)),
        "loss": {name: plain(value) for name, value in spread.items()},
        "share_within": {str(nats): float((loss <= nats).mean()) for nats in (0.01, 0.1, 1)},
    }
    if as_json:
        print_json({"model": model, **found})
    else:
        print_facts(_facts(found))


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    error = found["standard_error"]
    tokens, unknown = found["tokens"], found["unknown_tokens"]
    n_docs, empty = f"{found['documents']:,}", found["empty_documents"]
    score = f"{found['log_predictive_probability']:.4f}" + (
        "" if error is None else f" ± {error:.4f}"
    )
    coherence = f"{found['npmi']:.3f} of these {count(found['documents'], 'document')}"
    if found["npmi_learned_from"] is not None:
        learned = f"{found['npmi_learned_from']:.3f} of the documents it learned from"
        coherence = f"{learned}; {coherence}"
    # Two words that never meet count -1. As measured, the coherence is too low by about the share
    # of such pairs (docs/metrics.md).
    never = found["pairs_never_met"]
    if never > 0.01:
        coherence += f", which does not compare: {never:.0%} of the pairs of top words never meet"
    spread = ", ".join(f"{part} {value:.3g}" for part, value in found["loss"].items())
    within = (f"{part:.1%} within {nats}" for nats, part in found["share_within"].items())
    unknown_share = unknown / max(tokens + unknown, 1.0)
    scored = f"{found['documents_scored']:,} documents, {found['splits']} splits"
    return [
        ("documents", f"{n_docs} ({empty:,} empty)" if empty else n_docs),
        ("tokens", f"{tokens:,.0f}, and {unknown:,.0f} unknown to the model ({unknown_share:.1%})"),
        ("log predictive probability", f"{score} per token ({scored})"),
        ("perplexity", f"{found['perplexity']:,.1f}"),
        ("coherence of top words", coherence),
        ("topic diversity", f"{found['topic_diversity']:.3f}"),
        ("bound on the loss", f"{spread} (log-likelihood of a document, in nats)"),
        ("share of documents", ", ".join(within)),
    ]
