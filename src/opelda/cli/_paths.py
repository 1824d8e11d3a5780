"""Places to write to, looked at before the work begins."""

from pathlib import Path
from tempfile import TemporaryFile

from opelda.errors import InputError

MODEL_MARK = b'"kind":"opelda model"'


def check_output(given: str, inputs: list[str] | tuple[str, ...] = ()) -> Path:
    """Return the path if a file can be written there that is none of the inputs."""
    if not given or "\0" in given:
        raise InputError(f"The output cannot be {given!r}; give the path of a file.")
    path = Path(given)
    folder = path.resolve().parent
    if path.is_dir():
        raise InputError(f"The output {given} is a folder; give the path of a file.")
    if path.exists() and not path.is_file():
        raise InputError(f"The output {given} is not a plain file; give another path.")
    if not folder.is_dir():
        raise InputError(f"The output's folder {folder} does not exist; make it first.")
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(
            f"The output's folder {folder} cannot be written to: {error.strerror}; choose another."
        ) from None
    for other in inputs:
        if path.exists() and Path(other).exists() and path.samefile(other):
            raise InputError(f"The output {given} is the input itself; choose another path.")
    return path


def check_model_output(given: str, inputs: list[str] | tuple[str, ...] = ()) -> Path:
    """Return the path if a model can be written there; only a model is ever replaced by one."""
    path = check_output(given, inputs)
    if path.exists() and path.stat().st_size and not is_model(path):
        raise InputError(
            f"{given} exists and is not a model; it is not overwritten: choose another output."
        )
    return path


def is_model(path: Path) -> bool:
    """Whether a file looks like a model's, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return MODEL_MARK in file.read(256)
    except OSError:
        return False
