"""`opelda transform`: the topics of documents."""

from opelda.cli._app import command, option
from opelda.cli._exit import StoppedError
from opelda.cli._inputs import Blocks, Embeddings, columns_of, load_model, tell_missed
from opelda.cli._options import (
    EMBEDDINGS,
    ENGINE,
    MODEL,
    RESULTS,
    SEMICOLONS,
    SOURCES,
    Inference,
    Reading,
)
from opelda.cli._outputs import check_output, check_semicolons
from opelda.cli._terminal import count, note
from opelda.errors import InputError


@command(
    "opelda transform model.opelda new.txt | head",
    "opelda transform model.opelda articles.jsonl -o theta.xlsx",
    "opelda transform model.opelda articles.jsonl -o theta.csv.gz --sparse --min-weight 0.05",
)
def transform(
    *,
    model: str = MODEL,
    corpus: list[str] = SOURCES,
    output: str = option(
        "--output -o FILE",
        "A .xlsx, .csv, .tsv, .parquet, .jsonl or .npz file; - is JSON Lines on standard output.",
        "-",
    ),
    dense: bool | None = option(
        "--dense/--sparse",
        "Write all topics, or only relevant topics; default in .xlsx, .csv and .tsv: best topics.",
    ),
    top: int | None = option("--top N", "Number of best topics per row; default: 3.", min=1),
    certificate: bool | None = option(
        "--certificate/--no-certificate", "Include the loss of each document.", panel=RESULTS
    ),
    min_weight: float | None = option(
        "--min-weight X",
        "Exclude topics with a smaller weight; default: 0.01.",
        min=0.0,
        max=1.0,
        panel=RESULTS,
    ),
    interval: float | None = option(
        "--interval LEVEL",
        "Include credible intervals of the weights, such as 0.95, and the probability that the "
        "best topic is the main topic.",
        panel=RESULTS,
    ),
    semicolons: bool = SEMICOLONS,
    embeddings: str | None = EMBEDDINGS,
    inference: Inference,
    reading: Reading,
    engine: str | None = ENGINE,
) -> None:
    """Infer documents' topics, each with a certificate of how good the inference is.

    For each document: its name or number, its topics, its [bold]tokens[/bold] with words that the
    model has, its [bold]unknown_tokens[/bold] with others, and [bold]loss[/bold], the most nats by
    which any other mixture could explain its words better.
    """
    from opelda.cli._tables import SPREADSHEETS, SourceColumns, facts_of, format_of, writer
    from opelda.metrics._top_words import labels_of
    from opelda.report import topic_table

    kind = format_of(output)
    check_semicolons(semicolons, output)
    for_people = dense is None and kind in SPREADSHEETS
    sparse = not dense if dense is not None else kind == "jsonl"
    if min_weight is not None and not (sparse or for_people):
        raise InputError("has no effect without --sparse; remove the option.", "min_weight")
    if top is not None and not for_people:
        raise InputError("--top requires a table of best topics; remove --top.")
    if output != "-":
        check_output(output, corpus, [model, reading.column_words])
    learned = load_model(model, reading.n_jobs, engine, inference)
    learned.set_params(sparse_output=False)  # files are written block by block
    given = Embeddings(embeddings)
    columns = learned._state.columns
    kept = {"metadata": ["*"]} if kind in SPREADSHEETS or columns else given.reading
    blocks, beside = Blocks(columns_of(learned), corpus, reading, **kept), SourceColumns(kind)
    if min_weight is None and (sparse or for_people):
        # with exact methods most topics have no share at all
        is_exact = sparse and learned._transform_method().knows_loss
        min_weight = 0.0 if is_exact else 0.01
    best = (labels_of(learned), top or 3) if for_people else None
    with_loss = not for_people if certificate is None else certificate
    n_docs, n_missed, n_unknown, n_tokens, missing = 0, 0, 0.0, 0.0, set[str]()
    try:
        topics = topic_table(learned) if kind == "xlsx" else None
        with writer(output, kind, min_weight, best, semicolons, topics) as write:
            for block in blocks:
                missing |= columns.difference(getattr(block.metadata, "columns", ()))
                data = block.metadata if columns and not missing else None
                found = learned.infer(
                    block.X, embeddings=given.of(block), data=data, interval=interval
                )
                facts = facts_of(block, n_docs, found)
                shown = facts if with_loss else facts.drop("loss")
                if kind in SPREADSHEETS:
                    shown = beside.beside(shown, block.metadata, given.reading)
                bounds = None if interval is None else (found.lower, found.upper)
                write(shown, found.theta, bounds)
                n_docs += len(facts)
                n_missed += len(found.missed)
                n_unknown += float(facts["unknown_tokens"].sum())
                n_tokens += float(found.n_tokens.sum())
            if reading.limit is None:
                given.end()
    except KeyboardInterrupt:
        what = "" if output == "-" else f"; {output} was not written"
        raise StoppedError(f"stopped after {count(n_docs, 'document')}{what}.") from None
    tell_missed(n_missed)
    if missing:
        names = ", ".join(map(repr, sorted(missing)))
        note(f"the documents lack {names}; their topics do not depend on columns.")
    if output != "-":
        known = n_tokens / max(n_tokens + n_unknown, 1.0)
        what = f"the model knows {known:.1%} of their tokens"
        note(f"{count(n_docs, 'document')} in {output}; {what}.")
