"""`opelda transform`: the topics of documents."""

from typing import Annotated

import typer

from opelda.cli._app import command
from opelda.cli._errors import StoppedError
from opelda.cli._fitted import skipped_documents
from opelda.cli._models import Model, load_model
from opelda.cli._numbers import count
from opelda.cli._options import Engine, Jobs, Reading, Show, Sources, transform_option
from opelda.cli._output import note
from opelda.cli._paths import check_output


@command(
    "transform",
    "opelda transform model.opelda new.txt | head",
    "opelda transform model.opelda articles.jsonl --name-column id -o theta.parquet",
    "opelda transform model.opelda articles.jsonl -o theta.csv.gz --sparse --min-weight 0.05",
)
def transform(
    model: Model,
    corpus: Sources,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="A .parquet, .csv, .tsv, .jsonl or .npz file (text also .gz, .zst, ...); JSON "
            "Lines on standard output if not given.",
            metavar="FILE",
            show_default=False,
        ),
    ] = "-",
    dense: Annotated[
        bool | None,
        typer.Option(
            "--dense/--sparse",
            help="A column for each topic, or only the topics that matter, a row for each of a "
            "document's; dense if not given, but sparse for JSON Lines.",
            show_default=False,
        ),
    ] = None,
    min_weight: Annotated[
        float,
        typer.Option(
            help="Sparse: leave out lighter topics; a document's heaviest always stays.",
            min=0.0,
            max=1.0,
            metavar="WEIGHT",
        ),
    ] = 0.01,
    transform_method: Annotated[str | None, transform_option()] = None,
    jobs: Jobs = None,
    engine: Engine = None,
    reading: Reading = Reading(),
    show: Show = Show(),
) -> None:
    """Infer documents' topics, each with a certificate of how good the inference is.

    For each document: its name or number, its [bold]tokens[/bold] with words that the model has,
    its [bold]unknown_tokens[/bold] with others, the Frank-Wolfe [bold]gap[/bold] of its mixture,
    [bold]likelihood_loss[/bold], the most nats by which any other mixture could explain its words
    better, and the weights of its topics.
    """
    from opelda.cli._blocks import Columns, Parts
    from opelda.cli._tables import Rows, format_of, writer

    kind = format_of(output)
    if output != "-":
        check_output(output, [*corpus, model])
    learned = load_model(model, jobs, engine)
    if transform_method is not None:
        learned.set_params(transform_method=transform_method)
    parts = Parts(Columns.of(learned), corpus, reading, show, jobs)
    n_docs, n_unknown, n_tokens = 0, 0.0, 0.0
    sparse = not dense if dense is not None else kind == "jsonl"
    try:
        with writer(output, kind, sparse=sparse, min_weight=min_weight) as write:
            for part in parts:
                found = learned.infer(part.X)
                write(
                    Rows(
                        part.first,
                        part.names,
                        found.n_tokens,
                        part.unknown,
                        found.gap,
                        found.likelihood_loss,
                        found.theta,
                    )
                )
                n_docs += len(part.unknown)
                n_unknown += float(part.unknown.sum())
                n_tokens += float(found.n_tokens.sum())
    except KeyboardInterrupt:
        what = "" if output == "-" else f"; nothing was written to {output}"
        raise StoppedError(f"stopped after {count(n_docs, 'document')}{what}.") from None
    skipped_documents(parts.problems.n_skipped, parts.problems.first, show)
    if output == "-":
        return
    known = n_tokens / max(n_tokens + n_unknown, 1.0)
    note(
        show,
        f"{count(n_docs, 'document')} in {output}; the model knows {known:.1%} of their tokens.",
    )
