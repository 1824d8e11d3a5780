"""Files that commands write: paths checked before the work begins, models and figures saved."""

import itertools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path
from typing import Any

from opelda._replacing import check_name
from opelda.cli._inputs import is_pattern
from opelda.cli._terminal import tell
from opelda.errors import InputError, ModelFileError

TABLES, FIGURES = (".csv", ".tsv", ".xlsx"), (".png", ".svg", ".pdf")


def check_output(
    given: str,
    sources: Sequence[str] = (),
    files: Iterable[str | Path | None] = (),
    *,
    folder: bool = False,
    suffixes: Sequence[str] = (),
) -> Path:
    """Return the path if it is writable and is not an input of this or the next run.

    `sources` are files, folders and patterns of documents; `files` are read besides. The
    path must end in one of the `suffixes`, if there are any.
    """
    path, target = Path(given), Path(os.path.realpath(given)) if "\0" not in given else Path()
    problem = _problem(given, path, target, folder, suffixes)
    if problem:
        raise InputError(f"The output {problem}.")
    for source in sources:
        if source != "-" and _covers(source, target):
            raise InputError(
                f"The output {given} would be a document of {source}; write it elsewhere."
            )
    # compares files, not names: either may be a link
    if target.exists():
        read = (other for source in sources for other in _files_of(source))
        for other in itertools.chain(read, files):
            if other is not None and os.path.isfile(other) and target.samefile(other):
                raise InputError(f"The output {given} is the input itself; choose another path.")
    return path


def _problem(given: str, path: Path, target: Path, folder: bool, suffixes: Sequence[str]) -> str:
    """Return the reason why a path cannot be written, or an empty text."""
    if suffixes and path.suffix.lower() not in suffixes:
        return f"{given!r} must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}"
    if not given or "\0" in given:
        return f"cannot be {given!r}; pass the path of a file"
    try:
        check_name(target)
    except OSError as error:
        return f"{given} cannot be written: {error.strerror}; choose another path"
    if folder:
        return ""
    if target.is_dir():
        return f"{given} is a folder; pass the path of a file"
    if target.exists() and not target.is_file():
        return f"{given} is not a regular file; choose another path"
    if not target.parent.is_dir():
        return f"{given} needs the folder {target.parent}, which does not exist; create the folder"
    try:
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        reason = error.strerror
        return f"{given} cannot be written in {target.parent}: {reason}; choose another folder"
    return ""


def _covers(source: str, target: Path) -> bool:
    """Whether a folder's or a pattern's documents include this path, once a file is there."""
    top = Path(os.path.realpath(source))
    if is_pattern(source):
        if "**" in top.parts:  # which stands for any number of folders
            return fnmatchcase(str(target), str(top).replace("**/", "*"))
        return len(top.parts) == len(target.parts) and target.match(str(top))
    inside = top.is_dir() and target.is_relative_to(top)
    # hidden files are no documents
    return inside and not any(part.startswith(".") for part in target.relative_to(top).parts)


def _files_of(source: str) -> Iterator[str | Path]:
    """Yield the files that a source reads, of a folder's only the links to those elsewhere."""
    if is_pattern(source):
        yield from glob(source, recursive=True)
    elif os.path.isdir(source):
        yield from filter(os.path.islink, Path(source).rglob("*"))
    else:
        yield source


def check_model_output(given: str, sources: Sequence[str] = ()) -> Path:
    """Return the path if a model can be written there; a model replaces only a model."""
    path = check_output(given, sources)
    if path.exists() and path.stat().st_size and not is_model(path):
        raise InputError(f"{given} exists and is not a model; choose another output.")
    return path


def is_model(path: str | Path) -> bool:
    """Whether a file looks like a model's, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return b'"kind":"opelda model"' in file.read(256)
    except OSError:
        return False


def save_model(model: Any, path: Path) -> None:
    """Save a model; if saving fails, save it to another folder and report the path."""
    import opelda

    try:
        opelda.save(model, path)
        return
    except ModelFileError as error:
        failed = error
    # under a new name: no file is replaced
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        other = folder / f"{path.stem[:20]}-{os.urandom(4).hex()}.opelda"
        with suppress(ModelFileError):
            opelda.save(model, other)
            failed = ModelFileError(f"{failed} The model is in {other}.")
            break
    raise failed


def write_rows(rows: Any, path: Path, semicolons: bool = False) -> None:
    """Write rows atomically as a .csv, .tsv or .xlsx table."""
    from opelda.cli._tables import Sheets, SourceColumns, TextFile, flat
    from opelda.corpus.formats._writing import write_in_one_step

    kind, name = path.suffix.lower()[1:], "topics" if "topic" in rows.columns else "documents"
    table = flat(rows).drop("query", strict=False)  # always 0
    if "date" in table.columns:
        dates = SourceColumns(kind).typed(table["date"], is_time=True)
        table = table.with_columns(dates.alias("date"))
    with write_in_one_step(path) as file:
        if kind == "xlsx":
            with Sheets(file, name) as sheets:
                sheets.add(table)
        else:
            TextFile(file, kind, semicolons=semicolons).add(table)


def check_semicolons(semicolons: bool, output: str | None) -> None:
    """Reject semicolons in a file without them."""
    if semicolons and ".csv" not in Path(output or "").suffixes:
        raise InputError("--semicolons requires --output FILE.csv; remove --semicolons.")


def save_figure(path: Path, draw: Callable[[], Any], title: str | None = None) -> None:
    """Draw a figure and write it atomically."""
    import numpy as np

    from opelda.corpus.formats._writing import write_in_one_step
    from opelda.report.plots._frame import STYLE, matplotlib, written

    suffix, mpl = path.suffix.lower(), matplotlib()
    mpl.use("agg")  # without a window
    import matplotlib.pyplot as plt

    with warnings.catch_warnings(record=True) as said, mpl.rc_context(STYLE):
        warnings.simplefilter("always")
        figure = np.ravel(draw())[0].figure
        more: dict[str, Any] = {}
        if title:  # outside the axes, whose layout is done
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            figure.suptitle(written(title, 60, 3), y=1.0, va="bottom")
            more = {"bbox_inches": "tight"}
        try:
            with write_in_one_step(path) as file:
                # without the time, which would make every file another
                when = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
                figure.savefig(file, format=suffix[1:], dpi=200, metadata=when, **more)
        finally:
            plt.close(figure)
    if any("missing from" in str(each.message) for each in said):
        tell(
            "The font lacks some characters, which are drawn as boxes; write .svg, or set "
            "font.family in a matplotlibrc file."
        )
