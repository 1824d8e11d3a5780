"""`opelda topics`: the words of a model's topics."""

from typing import TYPE_CHECKING, cast

from opelda.cli._app import command, option
from opelda.cli._models import load_model
from opelda.cli._moves import show_moves
from opelda.cli._options import AsJson, Model, Show
from opelda.cli._show import by_weight, print_topics, topic_as_plain
from opelda.cli._standard_streams import print_json
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.report._ranking import Rank

RANKS, ORDERS = ("probability", "relevance", "frex"), ("weight", "number")
LAMBDA = 0.6


@command(
    "topics",
    "opelda topics model.opelda",
    "opelda topics model.opelda --rank relevance --lambda 0.4 --words 15",
    "opelda topics model.opelda --only 3 --only 8 --json",
    "opelda topics state --since 1h",
)
def topics(
    *,
    model: Model,
    words: int = option(10, "--words", "-n", help="Words per topic.", min=1),
    rank: str = option(
        RANKS[0],
        help="How words are ranked: probability, relevance (probable here rather than elsewhere) "
        "or frex (frequent and exclusive).",
        choices=RANKS,
    ),
    lambda_: float | None = option(
        None,
        "--lambda",
        help=f"For relevance: 1 is probability, 0 is lift; {LAMBDA}.",
        min=0.0,
        max=1.0,
    ),
    only: list[int] | None = option(
        None, help="Show this topic; may be given several times.", min=0
    ),
    sort: str = option(ORDERS[0], help="The heaviest first, or by number.", choices=ORDERS),
    since: str | None = option(
        None,
        help="Of a stream: how topics moved, their words, and events, in the last 1h, "
        "1d or N documents before its last checkpoint.",
        metavar="TIME|N",
    ),
    as_json: AsJson = False,
    show: Show,
) -> None:
    """Show a model's topics: their share of the tokens, a label, and their words."""
    if rank not in RANKS:
        raise InputError(f"--rank must be one of {', '.join(RANKS)}, not {rank!r}.")
    if sort not in ORDERS:
        raise InputError(f"--sort must be one of {', '.join(ORDERS)}, not {sort!r}.")
    if lambda_ is not None and rank != "relevance":
        raise InputError("--lambda has no effect without --rank relevance; leave it out.")
    if since is not None:
        if rank != RANKS[0] or only or sort != ORDERS[0]:
            raise InputError("--since shows what moved; leave --rank, --only and --sort out.")
        show_moves(model, since, words, as_json=as_json)
        return
    from opelda.report import topic_table

    weight = LAMBDA if lambda_ is None else lambda_
    by = cast("Rank", rank)
    table = topic_table(load_model(model), words, by=by, lambda_=weight, only=only or None)
    rows = by_weight(table) if sort == "weight" else list(table)
    if as_json:
        print_json({"model": model, "rank": rank, "topics": [topic_as_plain(row) for row in rows]})
    else:
        print_topics(rows)
