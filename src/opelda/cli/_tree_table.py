"""`opelda topics --tree`, and a word on topics that are nearly the same."""

from dataclasses import asdict
from typing import Any

from opelda.cli._options import Show
from opelda.cli._standard_streams import note, print_json, print_line

TOPICS_NAMED = 10
# Topics times words, beyond which comparing all pairs would take seconds.
MOST_WEIGHTS = 2**25


def show_tree(model: Any, path: str, n_words: int, *, as_json: bool) -> None:
    """Print the hierarchy of topics."""
    from opelda.report import topic_tree

    tree = topic_tree(model, n_words if as_json else min(n_words, 4))
    if as_json:
        print_json({"model": path, "merges": [asdict(row) for row in tree.merges]})
        return
    for line in str(tree).splitlines():
        print_line(line)


def note_similar(model: Any, path: str, show: Show) -> None:
    """Say which topics are nearly the same, and how to make one of them."""
    if show.quiet or model.n_components * model.n_features_in_ > MOST_WEIGHTS:
        return
    from opelda.report import similar_topics
    from opelda.report._topic_tree import groups_of

    groups = [",".join(map(str, group)) for group in groups_of(similar_topics(model))]
    if groups:
        named = " ".join(f"--merge {group}" for group in groups[:TOPICS_NAMED])
        more = "" if len(groups) <= TOPICS_NAMED else f" (and {len(groups) - TOPICS_NAMED} more)"
        which = " and ".join(groups[0].split(",")[:2])
        note(
            show,
            f"topics {which}{'' if len(groups) == 1 else ', and others,'} are nearly the same; "
            f"make one of them with: opelda edit {path} {named} -o NEW{more}",
        )
