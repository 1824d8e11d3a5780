"""`opelda transform`: the topics of documents."""

from opelda.cli._app import command, option
from opelda.cli._exit import StoppedError
from opelda.cli._inputs import blocks, open_over
from opelda.cli._models import CertifiedInference, columns_of, load_model
from opelda.cli._options import (
    RESULTS,
    AccuracyOptions,
    Engine,
    Jobs,
    Model,
    Reading,
    Show,
    Sources,
    transform_option,
)
from opelda.cli._outputs import check_output
from opelda.cli._show import count, skipped_documents
from opelda.cli._standard_streams import note
from opelda.errors import InputError

MIN_WEIGHT, TOP = 0.01, 3


@command(
    "transform",
    "opelda transform model.opelda new.txt | head",
    "opelda transform model.opelda articles.jsonl -o theta.xlsx",
    "opelda transform model.opelda articles.jsonl --name-column id -o theta.parquet",
    "opelda transform model.opelda articles.jsonl -o theta.csv.gz --sparse --min-weight 0.05",
    "opelda transform model.opelda articles.jsonl -o theta.npz --sparse --transform-method exact",
)
def transform(
    *,
    model: Model,
    corpus: Sources,
    output: str = option(
        "-",
        "--output",
        "-o",
        help="A .xlsx, .csv, .tsv, .parquet, .jsonl or .npz file (text also .gz, .zst, ...); JSON "
        "Lines on standard output if not given.",
        metavar="FILE",
    ),
    dense: bool | None = option(
        None,
        "--dense/--sparse",
        help="For machines: a column for each topic, or only the topics that matter, a row for "
        "each of a document's. If not given, .xlsx, .csv and .tsv have a row a document with its "
        "best topics, JSON Lines are sparse, and others dense.",
    ),
    top: int | None = option(
        None, help=f"Best topics in a row, with their labels and weights; {TOP}.", min=1
    ),
    certificate: bool | None = option(
        None,
        "--certificate/--no-certificate",
        help="With the loss of each document, which bounds how much better any other mixture could "
        "be; if not given, where no best topics are written.",
        panel=RESULTS,
    ),
    min_weight: float | None = option(
        None,
        help="Leave out lighter topics than this, unless dense; 0.01, or none for sparse mixtures "
        "of the method exact. A document's heaviest always stays.",
        min=0.0,
        max=1.0,
        metavar="WEIGHT",
        panel=RESULTS,
    ),
    n_jobs: Jobs = None,
    accuracy: AccuracyOptions,
    transform_method: str | None = transform_option(),
    reading: Reading,
    engine: Engine = None,
    show: Show,
) -> None:
    """Infer documents' topics, each with a certificate of how good the inference is.

    For each document: its name or number, its topics, its [bold]tokens[/bold] with words that the
    model has, its [bold]unknown_tokens[/bold] with others, and [bold]loss[/bold], the most nats by
    which any other mixture could explain its words better.
    """
    from opelda.cli._mixture_files import SPREADSHEETS, facts_of, format_of, writer

    kind = format_of(output)
    for_people = dense is None and kind in SPREADSHEETS
    sparse = not dense if dense is not None else kind == "jsonl"
    if min_weight is not None and not (sparse or for_people):
        raise InputError(
            "has no effect here: every topic's weight is written without --sparse; leave it out.",
            "min_weight",
        )
    if top is not None and not for_people:
        raise InputError(
            "--top has no effect here: only .xlsx, .csv and .tsv without --dense and --sparse have "
            "a row of best topics; leave it out."
        )
    if output != "-":
        check_output(output, corpus, [model, reading.column_words])
    learned = load_model(model, n_jobs, engine, transform_method, accuracy)
    inference = CertifiedInference(learned)
    columns = columns_of(learned)
    opened = open_over(columns, corpus, reading, n_jobs)
    if sparse and min_weight is None:  # with exact methods most topics have no share at all
        min_weight = 0.0 if learned._transform_method().knows_loss else MIN_WEIGHT
    best = None
    if for_people:
        from opelda.cli._spreadsheet import BestTopics
        from opelda.metrics._top_words import labels_of

        least = MIN_WEIGHT if min_weight is None else min_weight
        best = BestTopics(labels_of(learned), top or TOP, least)
    certified = not for_people if certificate is None else certificate
    n_docs, n_unknown, n_tokens = 0, 0.0, 0.0
    try:
        with writer(output, kind, min_weight, best) as write:
            for block in blocks(opened, columns, show, "inferring"):
                found = inference.infer(block.X)
                facts = facts_of(block, n_docs, found)
                inference.note(facts["document"], found)
                write(facts if certified else facts.drop("loss"), found.theta)
                n_docs += len(facts)
                n_unknown += float(facts["unknown_tokens"].sum())
                n_tokens += float(found.n_tokens.sum())
    except KeyboardInterrupt:
        what = "" if output == "-" else f"; nothing was written to {output}"
        raise StoppedError(f"stopped after {count(n_docs, 'document')}{what}.") from None
    skipped_documents(opened.problems.n_skipped, opened.problems.first, show)
    inference.complain()
    if output != "-":
        known = n_tokens / max(n_tokens + n_unknown, 1.0)
        what = f"the model knows {known:.1%} of their tokens"
        note(show, f"{count(n_docs, 'document')} in {output}; {what}.")
