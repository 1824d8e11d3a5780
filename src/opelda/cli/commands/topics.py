"""`opelda topics`: the words of a model's topics, typical documents, and labels."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from opelda.cli._app import command, option
from opelda.cli._labels import labels_from
from opelda.cli._models import load_model, save_labels
from opelda.cli._moves import show_moves
from opelda.cli._options import AsJson, Jobs, Model, Reading, Show, refuse
from opelda.cli._show import by_weight, count, print_topics, topic_as_plain
from opelda.cli._standard_streams import note, print_json
from opelda.cli._typical import as_plain, print_with_documents, typical_documents
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
    "opelda topics model.opelda articles.jsonl --docs 3",
    "opelda topics model.opelda --label 17='health care' --label 3=courts",
    "opelda topics state --since 1h",
)
def topics(
    *,
    model: Model,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(help="Documents for --docs; - is standard input.", metavar="CORPUS"),
    ] = None,
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
    docs: int | None = option(
        None, help="Show so many documents of CORPUS that are typical of each topic.", min=1
    ),
    label: list[str] | None = option(
        None,
        help="Name a topic and save that in the model; nothing after = takes a label back. May be "
        "given several times.",
        metavar="TOPIC=TEXT",
    ),
    since: str | None = option(
        None,
        help="Of a stream: how topics moved, their words, and events, in the last 1h, "
        "1d or N documents before its last checkpoint.",
        metavar="TIME|N",
    ),
    as_json: AsJson = False,
    jobs: Jobs = None,
    reading: Reading,
    show: Show,
) -> None:
    """Show a model's topics: their share of the tokens, a label, and their words.

    With --docs and a corpus also documents that are typical of them; with --label, name them first.
    """
    if rank not in RANKS:
        raise InputError(f"--rank must be one of {', '.join(RANKS)}, not {rank!r}.")
    if sort not in ORDERS:
        raise InputError(f"--sort must be one of {', '.join(ORDERS)}, not {sort!r}.")
    if lambda_ is not None and rank != "relevance":
        raise InputError("--lambda has no effect without --rank relevance; leave it out.")
    if since is not None:
        if rank != RANKS[0] or only or sort != ORDERS[0] or docs or label or corpus:
            raise InputError(
                "--since shows what moved; leave --rank, --only, --sort, --docs, --label and a "
                "CORPUS out."
            )
        show_moves(model, since, words, as_json=as_json)
        return
    if docs is None and corpus:
        raise InputError("Documents are shown with --docs, as --docs 3; give it, or no CORPUS.")
    if docs is None:
        refuse(reading, "no documents are read without --docs")
    if docs is not None and not corpus:
        raise InputError("--docs shows documents of a CORPUS; name it after the model.")
    from opelda.report import topic_table

    if label:
        named = labels_from(label)
        save_labels(model, named)
        note(show, f"{count(len(named), 'label')} saved in {model}.")
    learned = load_model(model, jobs)
    weight = LAMBDA if lambda_ is None else lambda_
    by = cast("Rank", rank)
    table = topic_table(learned, words, by=by, lambda_=weight, only=only or None)
    rows = by_weight(table) if sort == "weight" else list(table)
    found = None
    if docs is not None:
        found = typical_documents(learned, docs, corpus or [], reading, show, jobs)
    if as_json:
        topics = [topic_as_plain(r) if found is None else as_plain(r, found) for r in rows]
        print_json({"model": model, "rank": rank, "topics": topics})
    elif found is None:
        print_topics(rows)
    else:
        print_with_documents(rows, found)
