"""Change the code at random places and see whether the tests notice: `make test-mutants`.

Works on a copy of the tree, in which native code is built for one instruction set with little
optimisation. Each mutant is a line of JSON in FOLDER/seed-N.jsonl; what is there is not run again.
"""

import argparse
import filecmp
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

# once for all runs of tests, which are forks of this process
import pandas  # noqa: F401
import polars  # noqa: F401
import pytest
import scipy.optimize
import scipy.stats  # noqa: F401
import sklearn.utils.estimator_checks  # noqa: F401

from .concerned import NATIVE, PYTHON, concerned_tests
from .explained import EXPLAINED
from .mutants import Mutant, chosen, mutants_of

ROOT = Path(__file__).parents[2]
STILL = 900  # seconds after which a test that does not end is taken for one that never will
Key = tuple[str, int, str, str]


@dataclass
class Tree:
    """A copy of the tracked files, with compiled modules of their own."""

    root: Path
    build: Path
    clean: Path  # `build` as it is without a mutant

    @classmethod
    def made(cls, folder: Path) -> "Tree":
        tree = cls(folder / "tree", folder / "native", folder / "native-clean")
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        for name in filter(None, names.stdout.decode().split("\0")):
            source, target = ROOT / name, tree.root / name
            if not source.is_file():
                target.unlink(missing_ok=True)
            elif not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        if tree.clean.exists():  # an earlier run may have ended with a mutant in it
            tree.restore()
        import nanobind

        run = ["cmake", "-S", tree.root, "-B", tree.build, "-G", "Ninja", "-DOPELDA_QUICK=ON"]
        run += ["-DCMAKE_BUILD_TYPE=Release", f"-Dnanobind_DIR={nanobind.cmake_dir()}"]
        run += [f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        if not tree.compile():
            sys.exit("The native code does not compile as it is.")
        tree.install()
        shutil.rmtree(tree.clean, ignore_errors=True)
        shutil.copytree(tree.build, tree.clean)
        # by their contents, for a mutant may be as long as the code and come in the same second
        run = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "src"]
        subprocess.run([sys.executable, *run], cwd=tree.root, check=True)
        return tree

    def compile(self) -> bool:
        return (
            subprocess.run(["ninja", "-j1", "-C", self.build], capture_output=True).returncode == 0
        )

    def differs(self) -> bool:
        modules = [path.name for path in self.clean.glob("_*.so")]
        return filecmp.cmpfiles(self.build, self.clean, modules, shallow=False)[0] != modules

    def install(self) -> None:
        for module in self.build.glob("_*.so"):
            # a new file: the old one may be mapped by a process
            new = shutil.copyfile(module, self.root / "new.so")
            os.replace(new, self.root / "src" / "opelda" / module.name)

    def restore(self) -> None:
        shutil.rmtree(self.build, ignore_errors=True)
        shutil.copytree(self.clean, self.build)
        self.install()

    def judge(self, mutant: Mutant) -> dict[str, object]:
        """Run the tests that concern a mutant."""
        tests = concerned_tests(ROOT, mutant.file)
        native = not mutant.file.endswith(".py")
        path = self.root / mutant.file
        text, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.apply(text), encoding="utf-8")
        try:
            if native and not self.compile():
                return {"result": "not built"}
            if native and not self.differs():
                return {"result": "same program"}  # in what is built for other processors, say
            if native:
                self.install()
            caught, seconds = run_tests(self.root, tests, native)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # nothing is built again
            if native:
                self.restore()
        if caught and not any(name.startswith(caught) for name in took(self.root)):
            alone, _ = run_tests(self.root, (caught,), native)
            if alone:
                sys.exit(f"A test does not pass without a mutant: {alone}")
        result = "caught" if caught else "survived"
        return {"result": result, "by": caught, "seconds": round(seconds, 1)}


def took(root: Path) -> dict[str, float]:
    """Seconds of the tests that are known to pass."""
    path = root.parent / "took.json"
    return json.loads(path.read_text()) if path.exists() else {}


class Fastest:
    """Runs tests that take least first, each within a limit; writes down what those that pass take.

    A mutant that makes a test take far longer is caught: the process is ended.
    """

    def __init__(self, root: Path, native: bool):
        self.root, self.native, self.took = root, native, took(root)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        if self.native:  # what the NumPy engine does alone is not concerned
            items[:] = [item for item in items if not item.name.endswith("[reference]")]
        items.sort(key=lambda item: self.took.get(item.nodeid, 0.5))

    def pytest_runtest_logstart(self, nodeid):
        (self.root.parent / "running.txt").write_text(nodeid)
        limit = 10 * self.took[nodeid] + 30 if nodeid in self.took else 300
        limit = int(time.process_time() + limit)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.took[report.nodeid] = report.duration

    def pytest_sessionfinish(self):
        (self.root.parent / "took.json").write_text(json.dumps(self.took))


def run_tests(root: Path, tests: tuple[str, ...], native: bool) -> tuple[str | None, float]:
    """Which test failed, or did not end; and the processor time of the run."""
    running = root.parent / "running.txt"
    running.write_text("")
    child = os.fork()
    if child == 0:
        _be_pytest(root, tests, native)
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if time.time() - running.stat().st_mtime > STILL:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.05)
    seconds = usage.ru_utime + usage.ru_stime
    said = (root.parent / "log.txt").read_text(errors="replace")
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.M)
    if status == 0:
        return None, seconds
    return failed.group(1) if failed else running.read_text() or "nothing", seconds


def _be_pytest(root, tests, native):
    status = 1
    try:
        os.setsid()
        os.chdir(root)
        log = os.open(root.parent / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.path.insert(0, str(root / "src"))
        os.environ["PYTHONPATH"] = str(root / "src")  # of what tests start
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(root.parent / "hypothesis")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
            del sys.modules[name]
        options = ["-x", "-q", "-rfE", "--tb=no", "-m", "not heavy", "-p", "no:cacheprovider"]
        options += ["--hypothesis-seed=0", f"--basetemp={root.parent / 'temporary'}"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        status = pytest.main([*options, *tests], [Fastest(root, native)])
    finally:
        os._exit(status)


def key(row: dict) -> Key:
    return row["file"], row["line"], row["code"], row["changed"]


def described(mutant: Mutant) -> dict:
    """A mutant as its row begins: the line as it is and as it becomes."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    first = text.rfind("\n", 0, mutant.offset) + 1
    last = text.find("\n", mutant.offset + len(mutant.before))
    changed = mutant.apply(text)[first : last + len(mutant.after) - len(mutant.before)]
    row = {name: value for name, value in asdict(mutant).items() if name in ("file", "line")}
    return row | {"code": text[first:last].strip(), "changed": changed.strip()}


def explained(row: dict) -> str | None:
    """Return why no test can catch it, if that is known; code that was left out is known by it."""
    left_out = row["changed"] in (";", "pass")
    return EXPLAINED.get((row["file"], f"without {row['code']}" if left_out else row["changed"]))


def summary(rows: dict[Key, dict]) -> str:
    lines = []
    for kind, ours in (("native", False), ("Python", True)):
        of = [row for row in rows.values() if row["file"].endswith(".py") == ours]
        run = [row for row in of if row["result"] in ("caught", "survived")]
        left = [row for row in run if row["result"] == "survived"]
        known = [row for row in left if explained(row)]
        caught = len(run) - len(left)
        share = f" ({caught / len(run):.1%})" if run else ""
        lines.append(
            f"{kind}: {len(run)} mutants, {caught} caught{share}, {len(left)} survived, "
            f"{len(known)} of them explained (besides, {len(of) - len(run)} that the compiler "
            "refuses or makes the same program of)"
        )
        for row in left:
            why = explained(row) or "not explained"
            lines.append(f"  {row['file']}:{row['line']}: {row['code']}  ->  {row['changed']}")
            lines.append(f"    {why}")
    return "\n".join(lines)


def sample(patterns: tuple[str, ...], seed: int) -> Iterator[Mutant]:
    """Mutants of some files, less those for a GPU or a benchmark, in a random order."""
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    files = sorted(str(path.relative_to(ROOT)) for path in paths)
    wanted = [file for file in files if not re.search("cuda|bandwidth", file)]
    found = [mutant for file in wanted for mutant in mutants_of(ROOT, file)]
    return iter(chosen(found, seed))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="mutants, half of them native")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--again", action="store_true", help="those that survived, once more")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{options.seed}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = {key(row): row for row in map(json.loads, lines)}  # the last of a mutant counts
    if options.again:
        rows = {at: row for at, row in rows.items() if row["result"] != "survived"}
    tree = Tree.made(folder)
    queues = [sample(patterns, options.seed) for patterns in (NATIVE, PYTHON)]
    done = [0, 0]
    with path.open("a", encoding="utf-8") as out:
        while min(done) * 2 < options.count:
            kind = done.index(min(done))
            mutant = next(queues[kind])
            row = described(mutant)
            if key(row) not in rows:
                rows[key(row)] = row | tree.judge(mutant)
                out.write(json.dumps(rows[key(row)]) + "\n")
                out.flush()
            done[kind] += rows[key(row)]["result"] in ("caught", "survived")
    print(summary(rows))


if __name__ == "__main__":
    main()
