"""`opelda demo`: the topics of the 4,000 included abstracts from arXiv."""

import lzma
import math
import shlex
from textwrap import shorten
from typing import Any, cast

from opelda.cli import _terminal as terminal
from opelda.cli._app import command, option
from opelda.cli._callbacks import learning_display
from opelda.cli._exit import StoppedError
from opelda.cli._inputs import PRESET, on_machine
from opelda.cli._options import ENGINE, JOBS
from opelda.cli._outputs import check_model_output, check_output
from opelda.errors import InputError

EXAMPLE = "Rotation-invariant convolutional neural networks for galaxy morphology prediction"
PERIODS = ("1993-2004", "2005-2009", "2010-2014", "2015-2019")
NEXT = (
    ("opelda demo --corpus {corpus}", "the papers as a file, a JSON object a line"),
    ("opelda fit {corpus} -k 40 -o papers.opelda", "40 topics of the file, or of your own"),
    ("opelda topics papers.opelda {corpus} --by category", "topics of each field"),
    ("opelda search papers.opelda {corpus} galaxy", "papers about galaxies"),
    ("opelda report papers.opelda {corpus} -o papers.html", "a page about the 40 topics"),
    ("opelda --help", "all other commands"),
)


@command("opelda demo", "opelda demo -k 40 --seed 1", "opelda demo --corpus abstracts.jsonl")
def demo(
    *,
    n_components: int = option("--topics -k K", "Number of topics.", 20, min=2),
    output: str | None = option("--output -o FILE", "Save the model to this file."),
    report: str = option("--report FILE", "Write the page to this file.", "opelda-demo.html"),
    corpus: str | None = option(
        "--corpus FILE", "Write the abstracts to this file, as JSON Lines."
    ),
    preset: str = option("--preset best|fast|paper", "The settings.", PRESET),
    random_state: int = option("--seed N", "Random seed.", 0, min=0),
    n_jobs: int | None = JOBS,
    engine: str | None = ENGINE,
) -> None:
    """Show the topics of 4,000 abstracts from arXiv, and write a page about them.

    The abstracts come with opelda. Nothing is downloaded.
    """
    import opelda
    from opelda.corpus import ABSTRACTS, read
    from opelda.report import topic_table, write_report

    path = None if output is None else check_model_output(output)
    check_output(report, suffixes=(".html", ".htm"))
    model = opelda.TopicModel(n_components, preset=cast("Any", preset), random_state=random_state)
    on_machine(model, n_jobs, engine)
    model._schedule()  # rejects an unknown preset before anything is written
    if corpus is not None:
        _write_abstracts(corpus)
    try:
        papers = read(ABSTRACTS, metadata=["date", "category"], n_jobs=n_jobs)
        model.set_params(callbacks=learning_display()).fit(papers)
        columns: Any = {"time": "date", "by": "category", "n_jobs": n_jobs}
        write_report(model, ABSTRACTS, report, title="Topics of 4,000 arXiv papers", **columns)
    except KeyboardInterrupt:
        raise StoppedError("stopped; the model and the page were not written.") from None
    if path is not None:
        opelda.save(model, path)
    table = terminal.by_weight(topic_table(model, 8))
    for block in (_print_topics, _print_changes, _print_example):
        block(model, papers, table)
        terminal.print_line()
    terminal.print_line("What to try next:")
    name = shlex.quote(corpus or "abstracts.jsonl")
    lines = [line for line in NEXT if corpus is None or "--corpus" not in line[0]]
    terminal.print_facts((f"  {line.format(corpus=name)}", why) for line, why in lines)
    terminal.print_line()
    if path is not None:
        terminal.print_line(f"The model: {path}")
    terminal.print_line(f"The page: {report} (open it in a browser; it works offline)")


def _write_abstracts(given: str) -> None:
    """Write the abstracts; reject a file with other contents."""
    from opelda.corpus import ABSTRACTS
    from opelda.corpus.formats._writing import write_in_one_step

    path = check_output(given, suffixes=(".jsonl", ".ndjson"))
    lines = lzma.decompress(ABSTRACTS.read_bytes())
    if path.exists() and path.read_bytes() != lines:
        raise InputError(f"{given} exists and --corpus would overwrite the file; pass a new name.")
    with write_in_one_step(path) as file:
        file.write(lines)


def _print_topics(model: Any, papers: Any, table: list[Any]) -> None:
    """Print each topic's share, its words, and a typical paper."""
    from opelda.report import top_documents

    terminal.print_line(
        f"{len(papers):,} papers from arXiv, 1993 to 2019: opelda read the titles and abstracts, "
        f"and found {len(table)} topics."
    )
    terminal.print_line()
    room, rows = terminal.width() - len("topic  share  "), []
    typical = {row.topic: row.document for row in top_documents(model, papers, 1)}
    for row in table:
        words = shorten(", ".join(row.words), room, placeholder="")
        rows.append((str(row.topic), terminal.share(row.weight), words.rstrip(",")))
        if row.topic in typical:
            rows.append(("", "", _title(papers, typical[row.topic], room)))
    columns = ("topic", "share", "words, and a typical paper")
    terminal.print_table(columns, rows, right=columns[:2], styles=("bold", "dim"))


def _print_changes(model: Any, papers: Any, table: list[Any]) -> None:
    """Print shares over time of the three topics that grew most and the three that shrank most."""
    from opelda.report import topics_by

    words = {row.topic: ", ".join(row.words[:4]) for row in table}
    periods = [next(p for p in PERIODS if date[:4] <= p[-4:]) for date in papers.metadata["date"]]
    shares: dict[int, dict[str, float]] = {}
    for row in topics_by(model, papers, periods):
        shares.setdefault(row.topic, {})[row.bin] = row.corrected_share
    grown = sorted(shares, key=lambda topic: shares[topic][PERIODS[0]] - shares[topic][PERIODS[-1]])
    shown = grown if len(grown) <= 6 else [*grown[:3], *grown[-3:]]
    terminal.print_line(
        "Topics that grew, and topics that shrank: shares of the words of these papers by year"
    )
    cells = [[terminal.share(shares[topic][period]) for period in PERIODS] for topic in shown]
    rows = [(str(topic), *row, words[topic]) for topic, row in zip(shown, cells, strict=True)]
    columns = ("topic", *PERIODS, "words")
    terminal.print_table(columns, rows, right=columns[:-1])


def _print_example(model: Any, papers: Any, table: list[Any]) -> None:
    """Print the most likely mixture of one paper, and its guarantee."""
    from opelda.inference import infer

    row = papers.names.index(EXAMPLE)
    found = infer(
        papers.X[[row]], model.components_, doc_topic_prior=1.0, method="exact", max_loss=0.01
    )
    terminal.print_line(f"One paper and its topics: {_title(papers, row, terminal.width() - 26)}")
    for topic in sorted(table, key=lambda topic: -found.theta[0, topic.topic]):
        share = float(found.theta[0, topic.topic])
        if share >= 0.02:
            words = ", ".join(topic.words[:4])
            terminal.print_line(f"  {terminal.share(share):>6}  topic {topic.topic}: {words}")
    percent = math.ceil(100 * math.expm1(found.loss[0]))
    terminal.print_line(
        f"  Proved: no other mixture of the {len(table)} topics makes the {found.n_tokens[0]:.0f} "
        f"words of this paper more than {percent}% likelier."
    )


def _title(papers: Any, row: int, room: int) -> str:
    """Return a paper's title, category and year in one line."""
    date, category = papers.metadata.row(row)
    place = f" ({category}, {date[:4]})"
    return shorten(papers.names[row], room - len(place), placeholder=" …") + place
