"""What `opelda reproduce` is asked for: experiments, and the settings they share."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from opelda.cli._options import _option
from opelda.cli._reading import given_options
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.experiments import Settings

SETTINGS = "Settings"
ALL = "all"
# known without importing them; in the paper's order
EXPERIMENTS = {
    "learning-time": "Figure 1, the seven learners by seconds",
    "learning-documents": "Figure 2, the seven learners by documents seen",
    "sensitivity": "Figure 3, what the learners' parameters change",
    "inference-time": "Figure 4, how long inference takes",
    "stability": "Figure 5, how much inference differs from run to run",
    "methods-table": "Table 1, all methods of inference side by side",
    "short-text": "the learners on short documents",
}


def complete_experiment(incomplete: str) -> Iterator[tuple[str, str]]:
    """Offer the experiments that begin so."""
    offered = {**EXPERIMENTS, ALL: "all of them, one after the other"}
    return ((name, text) for name, text in offered.items() if name.startswith(incomplete))


Names = Annotated[
    list[str],
    typer.Argument(
        help=f"One or more of {', '.join(EXPERIMENTS)}; or {ALL}.",
        metavar="NAME",
        autocompletion=complete_experiment,
        show_default=False,
    ),
]


def chosen_names(given: list[str]) -> list[str]:
    """Return the experiments' names, each once.

    >>> chosen_names(["stability", "sensitivity", "stability"])
    ['stability', 'sensitivity']
    """
    for name in given:
        if name not in (*EXPERIMENTS, ALL):
            raise InputError(
                f"There is no experiment {name!r}; choose {', '.join(EXPERIMENTS)} or {ALL}, and "
                "give documents with --data, once for each file."
            )
    return list(EXPERIMENTS) if ALL in given else list(dict.fromkeys(given))


@dataclass(frozen=True)
class Setup:
    """The settings of all experiments; what is not given is the paper's, or small with --quick."""

    n_topics: Annotated[
        int | None,
        _option("--topics", "-k", help="Topics; 100, quick 10.", panel=SETTINGS, min=1),
    ] = None
    doc_topic_prior: Annotated[
        float | None,
        _option("--alpha", help="Prior of a document's topics; 1/topics.", panel=SETTINGS),
    ] = None
    topic_word_prior: Annotated[
        float | None,
        _option("--eta", help="Prior of a topic's words; 1/topics.", panel=SETTINGS),
    ] = None
    batch_size: Annotated[
        int | None,
        _option(
            "--batch-size", help="Documents per update; 5000, quick 250.", panel=SETTINGS, min=1
        ),
    ] = None
    learning_decay: Annotated[
        float | None,
        _option(
            "--learning-decay",
            help="kappa: update t moves by (t + offset)^-kappa; 0.9.",
            panel=SETTINGS,
        ),
    ] = None
    learning_offset: Annotated[
        float | None,
        _option("--learning-offset", help="The offset, tau; 1.", panel=SETTINGS),
    ] = None
    n_iter: Annotated[
        int | None,
        _option("--iterations", help="Steps of inference per document; 50.", panel=SETTINGS, min=2),
    ] = None
    n_passes: Annotated[
        int | None,
        _option(
            "--passes", help="Times through the collection; 5, quick 2.", panel=SETTINGS, min=1
        ),
    ] = None
    n_test: Annotated[
        int | None,
        _option(
            "--test-docs",
            help="Documents set aside for testing; 1000, quick 100.",
            panel=SETTINGS,
            min=1,
        ),
    ] = None
    n_splits: Annotated[
        int | None,
        _option(
            "--splits",
            help="Random splits of each into words seen and words to predict; 5, quick 2.",
            panel=SETTINGS,
            min=1,
        ),
    ] = None
    held_out: Annotated[
        float | None,
        _option("--held-out", help="Share of the words to predict; 0.3.", panel=SETTINGS),
    ] = None
    n_words: Annotated[
        int | None,
        _option("--words", "-n", help="Top words for coherence; 10.", panel=SETTINGS, min=2),
    ] = None
    scoring: Annotated[
        str | None,
        _option(
            "--scoring",
            help="What infers the test documents' mixtures; vb.",
            panel=SETTINGS,
            metavar="METHOD",
        ),
    ] = None
    n_seeds: Annotated[
        int | None,
        _option("--seeds", help="Models per setting; 1.", panel=SETTINGS, min=1),
    ] = None
    seed: Annotated[
        int | None,
        _option("--seed", help="Of the first of them; 0.", panel=SETTINGS, min=0),
    ] = None


def settings_of(setup: Setup, *, quick: bool, jobs: int | None) -> "Settings":
    """Return the settings that were asked for."""
    from opelda.experiments import Settings

    given = given_options(setup) | {"n_jobs": -1 if jobs is None else jobs}
    return Settings.small(**given) if quick else Settings(**given)
