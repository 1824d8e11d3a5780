"""Writing commands, disturbed at the system calls that change a folder."""

import os
import re
import shutil
from pathlib import Path

from opelda.cli.commands.convert import COUNTS
from tests.cli.conftest import make_texts
from tests.cli.forking import Server

# as in the library
OPEN, CREATE, WRITE, SYNC, RENAME, REMOVE, CLOSE = (1 << n for n in range(7))
EVERY = OPEN | CREATE | WRITE | SYNC | RENAME | REMOVE | CLOSE
FAIL, SHORTEN, KILL, TEAR = range(4)

# with placeholders for inputs and outputs
COMMANDS = {
    "fit": "fit {texts} -k 2 --stop-words en -o {out}/model.opelda",
    "stream": "stream {texts} -k 2 --stop-words en --batch-size 20 --every 1 "
    "--checkpoint {out}/state -o {out}/model.opelda",
    "report": "report {model} {texts} -o {out}/page.html --no-stability",
    **{f"convert to {kind}": f"convert {{texts}} {{out}}/corpus --to {kind}" for kind in COUNTS},
    "convert to a compressed file": "convert {texts} {out}/corpus.mtx.gz",
    **{
        f"transform to {kind}": f"transform {{model}} {{texts}} -o {{out}}/mixtures.{kind}"
        for kind in ("parquet", "csv", "xlsx", "jsonl.gz", "npz")
    },
}
# in an empty folder, and in a folder with the output for other documents
ROWS = [(name, replaces) for name in COMMANDS for replaces in (False, True)]
CREATED = re.compile(rb'"created":"[^"]*"')  # a page says when it was made
LEFT_OVER = re.compile(r"\..*\.[0-9a-f]{16}\.(tmp|old)|\.opelda-.*")


class Case:
    """A command, and its output folder before and after an undisturbed run."""

    def __init__(self, server: Server, folder: Path, name: str, replaces: bool) -> None:
        self.server, self.name, self.folder = server, name, Path(os.path.realpath(folder))
        self.out, self.work = self.folder / "out", self.folder / "work"
        for place in (self.out, self.work):
            place.mkdir()
        new, old = ("".join(f"{line}\n" for line in make_texts(40, seed)) for seed in (1, 2))
        (self.folder / "new.txt").write_text(new)
        (self.folder / "old.txt").write_text(old.replace("star", "moon"))  # a different vocabulary
        if "{model}" in COMMANDS[name]:
            fit = "fit old.txt -k 3 --stop-words en -o model.opelda --quiet"
            assert server.run(args=fit.split(), folder=str(self.folder))[0] == 0
        if replaces:
            self.succeed("old.txt")
        self.before = self.found()
        self.succeed()
        self.after = self.found()
        assert self.after != self.before

    def run(self, *faults: int, texts: str = "new.txt", kill_after: float | None = None):
        """Run the command; return its exit status, seconds, and calls that could be struck.

        `faults` are the kinds of calls to count, the number of the one to strike, what to do to
        it, the error it fails with, and whether later ones are struck, too.
        """
        places = {"texts": self.folder / texts, "model": self.folder / "model.opelda"}
        args = [word.format(out=self.out, **places) for word in COMMANDS[self.name].split()]
        request = {"args": [*args, "--quiet"], "folder": str(self.work)}
        if faults:
            request["faults"] = [str(self.out), *faults]
        return self.server.run(kill_after, **request)

    def succeed(self, texts: str = "new.txt") -> None:
        """Run the command without faults."""
        assert self.run(texts=texts)[0] == 0, self.said()

    def said(self) -> str:
        """Return the messages of the last run."""
        return (self.work / "said").read_text()

    def found(self) -> dict[str, bytes]:
        """Return the files of the folder, without locks and times."""
        files = {str(path.relative_to(self.out)): path for path in self.out.rglob("*")}
        return {
            name: CREATED.sub(b"", path.read_bytes()) if path.is_file() else b""
            for name, path in files.items()
            if path.name not in (".lock", ".times", "state")
        }

    def finished(self) -> dict[str, bytes]:
        """Return the files of the folder, without leftovers of a killed process."""
        return {
            name: content
            for name, content in self.found().items()
            if not any(LEFT_OVER.fullmatch(part) for part in name.split("/"))
        }

    def restore(self) -> None:
        """Restore the files of `before`."""
        for place in (self.out, self.work):
            shutil.rmtree(place)
            place.mkdir()
        for name, content in self.before.items():
            (self.out / name).parent.mkdir(parents=True, exist_ok=True)
            (self.out / name).write_bytes(content)
