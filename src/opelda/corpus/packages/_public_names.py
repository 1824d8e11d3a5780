"""What users call things: by the shortest path that a package offers them under."""

from collections.abc import Iterable, Mapping

from opelda.corpus.packages._source import ModuleSource

Place = tuple[str, str]


class PublicNames:
    """Finds the names under which packages offer what their modules define.

    Parameters
    ----------
    sources : mapping from module names to ModuleSource
    packages : iterable of str
        The modules that are packages, from which users import. Where none offers what a private
        module defines, a public module may.

    Examples
    --------
    >>> till = ModuleSource("shop._till", documented={"pay": "Take money.", "Till.open": "Open."})
    >>> shop = ModuleSource("shop", imported={"pay": ("shop._till", "pay")})
    >>> names = PublicNames({"shop": shop, "shop._till": till}, ["shop"])
    >>> names.of("shop._till", "pay"), names.of("shop._till", "Till.open")
    ('shop.pay', 'shop._till.Till.open')
    """

    def __init__(self, sources: Mapping[str, ModuleSource], packages: Iterable[str]) -> None:
        self._sources = sources
        self._offered: dict[Place, str] = {}
        shops = set(packages)
        public = [name for name in sources if "._" not in name]
        for module in sorted(public, key=lambda name: (name not in shops, name.count("."), name)):
            for name, place in self._exports(module, frozenset()).items():
                if _same_package(place[0], module) and (module in shops or "._" in place[0]):
                    self._offered.setdefault(place, f"{module}.{name}")

    def of(self, module: str, path: str) -> str:
        """Return the name for what a module documents under a path such as ``"Class.method"``."""
        head, dot, rest = path.partition(".")
        offered = self._offered.get((module, head), f"{module}.{head}") if path else module
        return f"{offered}{dot}{rest}"

    def _exports(self, module: str, above: frozenset[str]) -> dict[str, Place]:
        """Return where what users find in a module was defined; `above` are those being asked."""
        source = self._sources.get(module)
        if source is None or module in above:
            return {}
        above = above | {module}
        found: dict[str, Place] = {}
        for name, (origin, there) in source.imported.items():
            if not name.startswith("_"):
                found[name] = self._origin(origin, there, above)
        for origin in source.starred:
            for name, place in self._exports(origin, above).items():
                found.setdefault(name, place)
        for path in source.documented:
            if path and "." not in path:
                found.setdefault(path, (module, path))
        return found

    def _origin(self, module: str, name: str, above: frozenset[str]) -> Place:
        """Follow imports from module to module to where a name was defined."""
        source = self._sources.get(module)
        if source is None or module in above or name in source.documented:
            return module, name
        above = above | {module}
        if name in source.imported:
            return self._origin(*source.imported[name], above)
        for origin in source.starred:
            if place := self._exports(origin, above).get(name):
                return place
        return module, name


def _same_package(module: str, other: str) -> bool:
    """Whether two modules belong together, as those of pytest and _pytest do."""
    return module.split(".")[0].lstrip("_") == other.split(".")[0].lstrip("_")
