"""A machine on which holdfast 0.1.0 was used, before and after the package was replaced in its place.

Nothing here imports a module of holdfast: what is tested is what people and hosts have in their hands, the command
line, the commands that stand in hosts' files, and the files of the memory.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.old_home import CommandLine, OldHome, Said, build
from tests.patience import PATIENCE_S, wait_until

CURRENT = Path(__file__).parents[2] / "src" / "holdfast"
FENCE = re.compile(r"\[(/?)holdfast [a-z0-9]{6}(:[^\]]*)?\]")
LIVING = ("home", "shop", "shop-hotfix", "notes", "clients")  # what a command may change
_CLIENT = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1], shell=True).returncode)"
TRIES = 10  # of a hook, which gives up after 3 seconds whoever else keeps the machine busy


class Machine(OldHome):
    """A home of 0.1.0 that is put back to how it was built for every test, at the same place: paths are written into it."""

    _now: CommandLine | None = None

    @classmethod
    def make(cls, folder: Path) -> Machine:
        folder = folder.resolve()
        build(folder / "machine")
        made = cls.at(folder / "machine")
        for name in LIVING:
            shutil.copytree(made.folder / name, folder / "kept" / name, symlinks=True)
        shutil.copytree(CURRENT, folder / "new" / "holdfast")
        (folder / "old").mkdir()
        return made

    @property
    def spare(self) -> Path:
        return self.folder.parent

    def put_back(self) -> None:
        for name in LIVING:
            shutil.rmtree(self.folder / name)
            shutil.copytree(self.spare / "kept" / name, self.folder / name, symlinks=True)
        self._switch("old")

    def upgrade(self) -> None:
        """What `pip install --upgrade` does: other files at the same place."""
        self._switch("new")

    def _switch(self, wanted: str) -> None:
        """Each lies in `old/` and `new/` unless it is the one installed."""
        source = self.spare / wanted / "holdfast"
        if source.exists():
            other = "new" if wanted == "old" else "old"
            if self.installation.package.exists():
                self.installation.package.rename(self.spare / other / "holdfast")
            source.rename(self.installation.package)

    # --- the command line --------------------------------------------------------------------------------

    def holdfast(self, *words: str | Path, cwd: Path | None = None, check: int | None = 0) -> Said:
        """The current code, which is installed by now. `check` is the exit code to expect; None allows any."""
        assert not (self.spare / "new" / "holdfast").exists(), "0.1.0 is installed"
        if self._now is None:
            self._now = CommandLine(self.installation, self.env, self.repo)
        said = self._now(*words, cwd=cwd, check=False)
        assert check in (None, said.code), f"holdfast {words}\n{said.out}{said.err}"
        return said

    def sessions(self) -> list[str]:
        return [row["session"] for row in self.holdfast("ledger", "list", "--json").json()]

    # --- hosts -------------------------------------------------------------------------------------------

    def run(
        self, command: str, payload: Any, env: Mapping[str, str] | None = None, *, leaves: bool = False
    ) -> str:
        """A command out of a host's file, as the host runs it: by a shell, with the event on standard input.

        The host is this process, which stays; or one that leaves when it was answered.
        """
        done = subprocess.run(
            [*([sys.executable, "-I", "-S", "-c", _CLIENT] if leaves else ["/bin/sh", "-c"]), command],
            cwd=self.repo,
            env={**self.env, **(env or {})},
            input=json.dumps(payload, separators=(",", ":")),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), command
        return done.stdout

    def hear(self, command: str, payload: Any, env: Mapping[str, str] | None = None) -> str:
        """What a hook says that has something to say: on a machine with other things to do it may need another try."""
        for _ in range(TRIES):
            if said := self.run(command, payload, env):
                return FENCE.sub(r"[\1holdfast ******\2]", said)
            time.sleep(3.1)  # what another hook was about to say is held back that long
        raise AssertionError(f"{command} says nothing\n{self.confessed()}")

    def confessed(self) -> str:
        log = self.memory / "hook.log"
        return log.read_text(encoding="utf-8") if log.exists() else ""

    def rows(self) -> str:
        """The ledger as its file has it: no command is run that would capture what a child has not."""
        return (self.memory / "ledger.md").read_text(encoding="utf-8")

    def processes(self) -> list[str]:
        """Processes of ours that still run on this machine, by their command lines."""
        python, waiting = str(self.installation.python), self._now.process if self._now else 0
        if not Path("/proc/self").exists():
            listed = subprocess.run(
                ["ps", "-axww", "-o", "command="], capture_output=True, check=False
            ).stdout
            return [
                line for line in listed.decode("utf-8", "replace").splitlines() if line.startswith(python)
            ]
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if words.startswith(python) and int(folder.name) != waiting:
                found.append(words)
        return found

    def close(self) -> None:
        if self._now is not None:
            self._now.close()

    def settle(self) -> None:
        """Waits for whoever hooks left behind: files must not change below the next test."""
        assert wait_until(lambda: not self.processes()), self.processes()


def settings(path: Path) -> Any:
    """A host's file with its remarks left out."""
    lines = path.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.strip().startswith("//"))
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def contents(*folders: Path, leave: tuple[str, ...] = ()) -> dict[str, bytes | str]:
    """Every file and link below, with what it holds."""
    found: dict[str, bytes | str] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder.parent)
            if not set(leave).intersection(name.parts):
                if path.is_symlink():
                    found[str(name)] = f"-> {path.readlink()}"
                elif path.is_file():
                    found[str(name)] = path.read_bytes()
    return found
