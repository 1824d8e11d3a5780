"""`opelda topics`: what a model has learned."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from opelda.cli._app import command
from opelda.cli._choices import one_of
from opelda.cli._models import Model, load_model
from opelda.cli._options import AsJson, Show
from opelda.cli._output import print_json
from opelda.cli._topic_rows import as_plain, by_weight, print_topics
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.report._ranking import Rank

RANKS = ("probability", "relevance", "frex")


@command(
    "topics",
    "opelda topics model.opelda",
    "opelda topics model.opelda --rank relevance --lambda 0.4 --words 15",
    "opelda topics model.opelda --only 3 --only 8 --json",
)
def topics(
    model: Model,
    words: Annotated[
        int, typer.Option("--words", "-n", help="Words per topic.", min=1, metavar="N")
    ] = 10,
    rank: Annotated[
        str,
        typer.Option(
            help="How words are ranked: probability, relevance (probable here rather than "
            "elsewhere) or frex (frequent and exclusive).",
            metavar="|".join(RANKS),
            autocompletion=one_of(*RANKS),
            show_default=False,
        ),
    ] = "probability",
    lambda_: Annotated[
        float,
        typer.Option(
            "--lambda",
            help="For relevance: 1 is probability, 0 is lift.",
            min=0.0,
            max=1.0,
            metavar="X",
        ),
    ] = 0.6,
    only: Annotated[
        list[int] | None,
        typer.Option(help="Show this topic; may be given several times.", min=0, metavar="N"),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            help="The heaviest first, or by number.",
            metavar="weight|number",
            autocompletion=one_of("weight", "number"),
            show_default=False,
        ),
    ] = "weight",
    as_json: AsJson = False,
    show: Show = Show(),
) -> None:
    """Show a model's topics: their share of the tokens, a label, and their words."""
    if rank not in RANKS:
        raise InputError(f"--rank must be one of {', '.join(RANKS)}, not {rank!r}.")
    if sort not in ("weight", "number"):
        raise InputError(f"--sort must be weight or number, not {sort!r}.")
    from opelda.report import topic_table

    by = cast("Rank", rank)
    rows = topic_table(load_model(model), words, by=by, lambda_=lambda_, only=only or None)
    if sort == "weight":
        rows = by_weight(rows)
    if as_json:
        print_json({"model": model, "rank": rank, "topics": [as_plain(row) for row in rows]})
        return
    print_topics(rows)
