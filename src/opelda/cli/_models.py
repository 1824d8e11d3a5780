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


def load_model(given: str, jobs: int | None = None) -> Any:
    """Read a model; it uses all cores unless told otherwise."""
    import opelda

    model = opelda.load(model_path(given))
    return model.set_params(n_jobs=-1 if jobs is None else jobs, verbose=0)


def vocabulary_of(model: Any) -> Any:
    """Return the model's vocabulary, None if it learned from matrices without words."""
    return model._state.vocabulary
