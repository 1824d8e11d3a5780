"""Options that several commands share, each group written once as a dataclass."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the fields of its dataclass parameters as options of their own.

    A parameter annotated with a dataclass disappears from the signature, its fields take its
    place, and the function gets the dataclass made of them.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Size:
    ...     width: int = 1
    ...     height: int = 2
    >>> @spread
    ... def area(name: str, size: Size) -> str:
    ...     return f"{name}: {size.width * size.height}"
    >>> area(name="wall", height=5, width=3)
    'wall: 15'
    >>> list(inspect.signature(area).parameters)
    ['name', 'width', 'height']
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if isinstance(kind, type) and is_dataclass(kind):
            groups[name] = kind
            parameters.extend(_options(kind))
        else:
            parameters.append(parameter.replace(annotation=kind, kind=parameter.KEYWORD_ONLY))

    @wraps(function)
    def gathered(**values: Any) -> Any:
        for name, kind in groups.items():
            own = {
                field.name: values.pop(field.name) for field in fields(kind) if field.name in values
            }
            values[name] = kind(**own)
        return function(**values)

    gathered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    gathered.__annotations__ = {p.name: p.annotation for p in parameters}
    del gathered.__wrapped__
    return gathered


def _options(kind: type) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(field),
            annotation=hints[field.name],
        )
        for field in fields(kind)
    ]


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default
