"""An experiment whose client is a script: what a session does is decided by its prompt."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

# Prints nothing that matters. `edit NAME`: creates a file; `crash`, `hang`: as they say.
CLIENT = f"""#!{sys.executable}
import os, pathlib, sys, time
prompt = sys.argv[1]
with open(os.environ["SEEN"], "a", encoding="utf-8") as seen:
    memory = pathlib.Path.home() / ".holdfast" / "projects"
    names = sorted(path.name for path in memory.rglob("*.md")) if memory.exists() else ["none"]
    seen.write(f"{{os.getcwd()}}|{{os.environ['HOME']}}|{{prompt}}|{{','.join(names)}}|{{sorted(os.environ)}}\\n")
verb, _, name = prompt.partition(" ")
if verb == "edit":
    pathlib.Path(name).write_text("done", encoding="utf-8")
elif verb == "crash":
    sys.stdout.write("it broke\\n")
    sys.exit(7)
elif verb == "hang":
    time.sleep(600)
"""

TASK = '[[task]]\nname = "{name}"\nclass = "{kind}"\nprompt = "{prompt}"\ncheck = "{check}"\n'


class Tasks:
    """A repository, a client and a file of tasks."""

    def __init__(self, repo: Path, folder: Path) -> None:
        self.repo, self.folder = repo, folder
        self.seen = folder / "seen.txt"
        self.client = folder / "client"
        self.path = folder / "tasks.toml"
        self.client.write_text(CLIENT, encoding="utf-8")
        self.client.chmod(self.client.stat().st_mode | stat.S_IXUSR)
        (repo / "README.md").write_text("A shop.\n", encoding="utf-8")
        for words in (("add", "README.md"), ("commit", "-q", "-m", "A shop")):
            subprocess.run(["git", "-C", str(repo), *words], check=True, env={**os.environ, **AUTHOR})

    def write(self, *tasks: str, head: str = "", **changes: object) -> Path:
        values: dict[str, object] = {
            "repository": str(self.repo), "agent": "command", "program": str(self.client), "arguments": ["{prompt}"],
            "model": "none", "runs": 1, "budget_usd": 10, "session_usd": 0.5, "env": ["SEEN"], "check_seconds": 20,
            "seconds": 20, **changes,
        }  # fmt: skip
        lines = [f"{name} = {_toml(value)}" for name, value in values.items() if value is not None]
        self.path.write_text("\n".join([*lines, head, *tasks]), encoding="utf-8")
        return self.path

    def sessions(self) -> list[list[str]]:
        lines = self.seen.read_text(encoding="utf-8").splitlines() if self.seen.exists() else []
        return [line.split("|") for line in lines]


AUTHOR = {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def task(
    name: str = "write a file",
    kind: str = "test",
    prompt: str = "edit done.txt",
    check: str = "test -f done.txt",
) -> str:
    return TASK.format(name=name, kind=kind, prompt=prompt, check=check)
