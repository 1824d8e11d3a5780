"""Model files as commands are given them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from opelda.cli._choices import complete_model
from opelda.errors import InputError

Model = Annotated[
    str,
    typer.Argument(
        help="A model file, or the checkpoint folder of a stream.",
        metavar="MODEL",
        autocompletion=complete_model,
        show_default=False,
    ),
]


def model_path(given: str) -> Path:
    """Return the file that holds the model."""
    from opelda.learning._checkpoint import FILE

    path = Path(given)
    if path.is_dir():
        if not (path / FILE).exists():
            raise InputError(f"{given} is a folder without a checkpoint; give a model file.")
        return path / FILE
    return path


def load_model(given: str, jobs: int | None = None, engine: str | None = None) -> Any:
    """Read a model that is to run so."""
    import opelda

    return on_machine(opelda.load(model_path(given)), jobs, engine)


def on_machine(model: Any, jobs: int | None, engine: str | None) -> Any:
    """Set where a model runs, which is no part of it."""
    return model.set_params(n_jobs=jobs, engine=engine or "cpu")


def vocabulary_of(model: Any) -> Any:
    """Return the model's vocabulary, None if it learned from matrices without words."""
    return model._state.vocabulary
