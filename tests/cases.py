"""Tables of cases: one item runs every row, and a failure names its row."""

import functools
import inspect
from contextlib import ExitStack

FRESH = {  # fixtures whose state is not shared between rows
    "tmp_path": lambda folder, number, _: make_folder(folder / str(number)),
    "monkeypatch": lambda patch, _, stack: stack.enter_context(patch.context()),
    "capsys": lambda captured, *_: captured.readouterr() and captured,
    "caplog": lambda log, *_: log.clear() or log,
}


def cases(names, rows, ids=None):
    """Run a test for each row of a table, like `pytest.mark.parametrize`, but as one item.

    For rows that take milliseconds. Each row has its own folder and its own patches; other
    fixtures are shared, with the folder of the whole test.

    Parameters
    ----------
    names : str or tuple of str
        Parameters of the test.
    rows : iterable
        A value for one name, or a tuple of values for several.
    ids : iterable of str or function, optional
        Names of the rows in messages; by default the values.
    """
    names = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    rows = [(row,) if len(names) == 1 else tuple(row) for row in rows]
    if ids is None or callable(ids):
        labels = [", ".join(str((ids or repr)(value)) for value in row) for row in rows]
    else:
        labels = list(ids)

    def decorate(test):
        @functools.wraps(test)
        def run(*instance, **fixtures):
            for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
                with ExitStack() as stack:
                    own = {
                        name: FRESH[name](value, number, stack) if name in FRESH else value
                        for name, value in fixtures.items()
                    }
                    try:
                        test(*instance, **own, **dict(zip(names, row, strict=True)))
                    except BaseException as error:  # pytest.fail raises a BaseException
                        error.add_note(f"in row {number}, {', '.join(names)}: {label}")
                        raise

        signature = inspect.signature(test)
        kept = [p for name, p in signature.parameters.items() if name not in names]
        assert len(kept) == len(signature.parameters) - len(names), names
        run.__signature__ = signature.replace(parameters=kept)
        return run

    return decorate


def make_folder(path):
    path.mkdir()
    return path
