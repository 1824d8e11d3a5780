"""`opelda edit`: topics merged, removed and split."""

import re
from typing import Any

from opelda.cli._app import argument, command, option
from opelda.cli._inputs import columns_of, load_model, on_machine, read_over
from opelda.cli._options import AS_JSON, MODEL, NamelessReading, refuse
from opelda.cli._outputs import check_model_output, save_model
from opelda.cli._terminal import count, note, print_json, print_topics, topic_as_plain
from opelda.errors import InputError


@command(
    "opelda edit model.opelda --merge 3,17 --merge 4,9,11 -o tidy.opelda",
    "opelda edit model.opelda --remove 5 --remove 8 --in-place",
    "opelda edit model.opelda articles.jsonl --split 7 --into 3 -o finer.opelda",
)
def edit(
    *,
    model: str = MODEL,
    corpus: list[str] | None = argument(
        "CORPUS", "Documents for --split; not needed for a stream.", None
    ),
    merge: list[str] | None = option("--merge N,N,...", "Merge these topics (repeatable)."),
    remove: list[int] | None = option("--remove N", "Remove this topic (repeatable).", min=0),
    split: list[int] | None = option("--split N", "Split this topic (repeatable).", min=0),
    into: int | None = option("--into N", "Parts of each split topic; default: 2.", min=2),
    output: str | None = option("--output -o FILE", "Path of the edited model."),
    in_place: bool = option("--in-place", "Overwrite the model or checkpoint.", False),
    as_json: bool = AS_JSON,
    reading: NamelessReading,
) -> None:
    """Merge, remove or split topics of a model; learning continues from the edited topics.

    Numbers are the model's numbers before the edit. A merged topic gets the lowest number of its
    parts. The first part of a split topic keeps its number, and other parts come last. Topics after
    a removed topic move up. The command prints the numbers that changed.
    """
    groups = [_numbers(text) for text in merge or ()]
    removed, parted = remove or [], split or []
    named = [*(topic for group in groups for topic in group), *removed, *parted]
    for number, topic in enumerate(named):
        if topic in named[:number]:
            raise InputError(f"Topic {topic} is a duplicate; edit each topic once.")
    if not named:
        raise InputError("No edit was requested; pass --merge, --remove or --split.")
    if in_place == (output is not None):
        raise InputError("Pass either -o FILE or --in-place.")
    if not split:
        if corpus or into is not None:
            raise InputError(
                "A CORPUS and --into have no effect without --split; remove both, or add --split."
            )
        refuse(reading, "no documents are read without --split")
    path = None if output is None else check_model_output(output, corpus or ())
    learned, documents = load_model(model, reading.n_jobs), None
    if corpus:
        documents = read_over(columns_of(learned), corpus, reading)

    def change(learned: Any) -> tuple[Any, dict[int, list[int]]]:
        """Edit a model; return the model and the new numbers of each topic."""
        found = {topic: [topic] for topic in range(learned.n_components)}
        for topic in named:
            if topic not in found:  # said before anything takes time
                raise InputError(
                    f"Unknown topic {topic}; topics are numbered from 0 to {len(found) - 1:,}."
                )
        for topic in parted:  # first: other topics keep their numbers
            found[topic] = learned.split_topic(topic, documents, into=into or 2)
        if groups:
            found = _moved(found, learned.merge_topics(groups))
        if removed:
            found = _moved(found, learned.remove_topics([found[topic][0] for topic in removed]))
        return learned, found

    if path is None:
        from opelda.model_file import change as change_file

        done: list[Any] = []
        change_file(model, lambda kept: done.extend(change(on_machine(kept, reading.n_jobs))))
        learned, numbers = done
    else:
        learned, numbers = change(learned)
        save_model(learned, path)
    _print(learned, numbers, str(path or model), as_json=as_json)


def _moved(found: dict[int, list[int]], numbers: dict[int, int]) -> dict[int, list[int]]:
    return {
        topic: [numbers[part] for part in parts if part in numbers]
        for topic, parts in found.items()
    }


def _print(model: Any, numbers: dict[int, list[int]], path: str, *, as_json: bool) -> None:
    """Print the topics that changed, and their numbers."""
    from opelda.report import topic_table

    made: dict[int, list[int]] = {}
    for topic, parts in numbers.items():
        for part in parts:
            made.setdefault(part, []).append(topic)
    others = sorted(
        part for part, topics in made.items() if len(topics) > 1 or len(numbers[topics[0]]) > 1
    )
    rows = topic_table(model, only=others)
    if as_json:
        topics = [topic_as_plain(row) for row in rows]
        print_json({"model": path, "numbers": numbers, "changed_topics": topics})
        return
    if rows:
        print_topics(rows)
    moved = _changes(numbers)
    note(f"changed topic numbers: {'; '.join(moved)}." if moved else "topic numbers are unchanged.")
    note(f"{count(model.n_components, 'topic')} saved in {path}.")


def _changes(numbers: dict[int, list[int]]) -> list[str]:
    """Return the new numbers of topics; runs that moved alike share an entry."""
    runs: list[tuple[int, int, list[int]]] = []  # first and last topic, new numbers of the first
    for topic, parts in numbers.items():
        if parts == [topic]:
            continue
        first, last, to = runs[-1] if runs else (0, 0, [])
        if last == topic - 1 and len(parts) == 1 and to == [parts[0] - topic + first]:
            runs[-1] = first, topic, to
        else:
            runs.append((topic, topic, parts))
    return [
        f"{first} -> {', '.join(map(str, to)) or 'none'}"
        if first == last
        else f"{first}-{last} -> {to[0]}-{to[0] + last - first}"
        for first, last, to in runs
    ]


def _numbers(text: str) -> list[int]:
    """Return the topics to be merged."""
    if re.fullmatch(r"\s*[0-9]{1,9}\s*(,\s*[0-9]{1,9}\s*)+", text) is None:
        raise InputError(f"--merge must be numbers of topics such as 3,17, not {text!r}.")
    return [int(part) for part in text.split(",")]
