"""Every help has examples, and every example runs: on the demonstration's sessions, in a project of their own."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from unittest import mock

import msgspec
import pytest

import holdfast as package
from holdfast.cli.main import COMMANDS, main
from holdfast.terminal.run import parser_for

DEMO = Path(package.__file__).parent / "demo_sessions"
pytestmark = [
    pytest.mark.promise("U4"),
    pytest.mark.skipif(os.name == "nt", reason="the examples speak to a POSIX shell"),
]

# What cannot be run here, with the tests that run it.
ELSEWHERE = {
    "holdfast ui": "tests/web: it serves until its terminal is closed",
    "holdfast context --watch": "tests/cli/test_context_command.py: it ends with Ctrl-C",
    "holdfast init --join": "tests/store: it needs a copy, or a project whose folder is gone",
    "holdfast init --new": "tests/store: it needs a copy",
    "holdfast sync ssh": "tests/sync: it needs another machine",
    "holdfast sync git": "tests/sync: it needs a remote",
    "holdfast sync --keep": "tests/sync: it needs a conflict",
    "holdfast sync --dry-run": "tests/sync: it needs a target",
    "holdfast sync": "tests/sync: it needs a target",
    "holdfast sync postgres": "tests/sync: it needs a server",
    "holdfast team server": "tests/postgres: it needs a server",
    "holdfast team join": "tests/sync: it needs another machine",
    "holdfast team trust": "tests/sync: it needs a second member",
    "holdfast team distrust": "tests/sync: it needs a second member",
    "holdfast team doctor": "tests/postgres: it needs a server",
    "holdfast team remove": "tests/sync: it needs a second member",
    "holdfast trust 1f4a9c02": "tests/cli/test_portability.py: it needs an archive of another machine",
    "holdfast trust go-generate": "tests/cli/test_lessons_command.py: it needs a clone with lessons",
    "holdfast trust D-k3f9ab": "tests/flows: it needs a clone with decisions",
    "holdfast lessons promote": "tests/cli/test_lessons_command.py: it needs a proposal",
    "holdfast lessons export": "tests/flows: it needs a lesson whose command fails",
    "holdfast ledger query": "tests/ledger: it needs the extra analytics",
}
IN_A_ROW = ("keys", "team", "share")  # one example builds on the one before
FIRST = {  # what an example undoes or builds on
    "holdfast lessons unmute": "holdfast lessons mute testing",
    "holdfast ledger commit": "holdfast ledger share",
}
# What says by its exit code that something needs a person, or what is not there in the demonstration.
MAY_BE_1 = (
    "holdfast audit",
    "holdfast doctor",
    "holdfast ledger alerts",
    "holdfast note fact verify",
    "holdfast show 1a2b3c4",
    "holdfast show --pr",
    "holdfast keys restore",
    "holdfast restore",
    "holdfast init --join",
    "holdfast undo --personal",
    "holdfast lessons extract",
    "holdfast why 847ff7d2",
    "holdfast todo --project billing",
    "holdfast sync",
)


def examples_of(name: str) -> list[str]:
    """The commands of a help's examples and of its verbs' ones, each once, without the words beside them."""
    module, about = COMMANDS[name]
    parser = parser_for(name, import_module(module), about)
    below = [
        verb
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for verb in action.choices.values()
    ]
    lines = [line.strip() for one in (parser, *below) for line in (one.epilog or "").splitlines()[1:]]
    return list(dict.fromkeys(without_words(line) for line in lines if line))


def without_words(line: str) -> str:
    """The line up to the first two spaces that no quotation marks hold."""
    mark = ""
    for place, sign in enumerate(line):
        if mark:
            mark = "" if sign == mark else mark
        elif sign in "\"'":
            mark = sign
        elif line.startswith("  ", place):
            return line[:place]
    return line


@pytest.mark.promise("U11")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_of_its_own_name(name: str) -> None:
    first, *_ = name.split()
    assert examples_of(name), f"holdfast {name} --help has no example"
    assert (
        any(f"holdfast {first}" in line or "$(holdfast" in line for line in examples_of(name))
        or name == "status"
    )


class World(msgspec.Struct):
    """The demonstration as a project of its own, kept as a copy that each help begins with."""

    base: Path
    kept: Path
    environment: dict[str, str]
    ids: dict[str, str]

    @property
    def repo(self) -> Path:
        return self.base / "shop"

    def again(self) -> None:
        self.base.rename(self.kept.with_name(f"used-{len(list(self.kept.parent.iterdir()))}"))
        shutil.copytree(self.kept, self.base, symlinks=True, dirs_exist_ok=True)


class _Terminal(io.TextIOWrapper):
    """Standard input of a person who says yes to everything."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(b"y\n" * 40), encoding="utf-8")

    def isatty(self) -> bool:
        return True


def run(world: World, *words: str, cwd: Path | None = None) -> tuple[int, str]:
    """A command in this process; its exit code and all that it printed."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    with (
        mock.patch.dict(os.environ, world.environment),
        contextlib.chdir(cwd or world.repo),
        mock.patch.multiple(sys, stdin=_Terminal(), stdout=out, stderr=out),
    ):
        try:
            code = main(words)
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 1
    out.flush()
    raw = out.buffer
    assert isinstance(raw, io.BytesIO)
    return code, raw.getvalue().decode()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("examples")
    world = World(root / "world", root / "kept", {}, {})
    home, tools = world.base / "home", world.base / "bin"
    (home / ".claude" / "projects").mkdir(parents=True)
    tools.mkdir()
    for name in ("claude", "codex", "notify-send"):
        (tools / name).write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    (tools / "holdfast").symlink_to(Path(sys.executable).parent / "holdfast")
    world.environment = {
        **{f"GIT_{role}_NAME": "Ada Example" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")},
        "HOME": str(home),
        "USERPROFILE": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOLDFAST_PASSPHRASE": "four words of mine",
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "TZ": "UTC",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CI", "HOLDFAST", "HOLDFAST_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "CLAUDECODE"):
            patch.delenv(name, raising=False)
        _furnish(world, home)
        shutil.copytree(world.base, world.kept, symlinks=True)
        yield world


def _furnish(world: World, home: Path) -> None:
    """Files, notes and archives that examples speak of, under ids of our own."""
    for name in ("shop", "api", "web"):
        place = world.base / "shop" if name == "shop" else home / "work" / name
        place.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(place)], check=True)
        if name != "shop":
            run(world, "ledger", "add", "--session", f"of-{name}", "--goal", "auth refactor", cwd=place)
    (world.repo / "src").mkdir()
    for path in ("src/rate.py", "notes:3"):
        (world.repo / path).write_text("rates = []\n" * 60, encoding="utf-8")
    (world.repo / "Makefile").write_text("test:\n\techo listening on :8080\n", encoding="utf-8")
    (world.repo / "notes.txt").write_text("go on with the client\n", encoding="utf-8")
    with mock.patch.dict(os.environ, world.environment):
        subprocess.run(["git", "add", "-A"], cwd=world.repo, check=True)
        subprocess.run(["git", "commit", "--quiet", "-m", "rates"], cwd=world.repo, check=True)
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=world.repo, encoding="utf-8").strip()
        subprocess.run(["git", "switch", "--quiet", "-c", "feat/jwt"], cwd=world.repo, check=True)
    tasks = (Path(__file__).parents[2] / "docs" / "ab-starter.toml").read_text(encoding="utf-8")
    for key, value in (("repository", world.repo), ("commit", head)):
        tasks = re.sub(rf"(?m)^{key} = .*", f'{key} = "{value}"', tasks)
    (world.repo / "tasks.toml").write_text(tasks, encoding="utf-8")
    for folder in (home / "old-sessions", home / ".claude" / "projects" / "-my-repo"):
        shutil.copytree(DEMO / "claude-code", folder)
    for folder in (home / "backups", home / ".config" / "fish" / "completions", world.base / "usb"):
        folder.mkdir(parents=True)
    shutil.copytree(DEMO / "claude-code", home / ".claude" / "projects" / "-shop")
    shutil.copytree(DEMO / "codex", home / ".codex" / "sessions")
    for path in home.rglob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("/home/dev/tidepool", str(world.repo)), encoding="utf-8")
    assert run(world, "init", "--yes", "--no-scan")[0] == 0
    done = [
        run(
            world,
            "note",
            "fact",
            "add",
            "The API listens on port 8081",
            "--evidence",
            "listening on :8081",
            "--command",
            "make test",
            "--json",
        ),
        run(
            world,
            "note",
            "decision",
            "Retry uploads five times",
            "--because",
            "the gateway drops them",
            "--by",
            "agent",
            "--json",
        ),
        run(world, "ask", "--keep", "Who may purge the queue?", "--json"),
        run(world, "todo", "add", "Rotate the key", "--json"),
        run(world, "todo", "add", "Write the changelog", "--json"),
        run(world, "ledger", "--json"),
        run(world, "lessons", "add", "testing", "--rule", "run make test", "--json"),
        run(world, "project", "use", "payments"),
        run(world, "project", "use", "--default"),
    ]
    assert [code for code, _ in done] == [0] * len(done), done
    fact, decision, question, first, second = (msgspec.json.decode(said)["id"] for _, said in done[:5])
    sessions = [row["session"] for row in msgspec.json.decode(done[5][1])]
    run(world, "handoff", "Go on with the client")
    change = min(one["n"] for one in msgspec.json.decode(run(world, "history", "current.md", "--json")[1]))
    assert run(world, "export", "holdfast-shop-2026-11-15.tar.gz")[0] == 0
    world.ids = {
        "F-k3f9ab": fact,
        "D-k3f9ab": decision,
        "F-k3": fact,
        "D-k3": decision,
        "Q-k3": question,
        "T-k3": first,
        "T-9a": second,
        "847ff7d2": sessions[0],
        "48f428f9": sessions[-1],
        "1a2b3c4": head[:7],
        "/media/usb/memory": str(world.base / "usb"),
        "current.md --to 12": f"current.md --to {change}",
        "current.md --diff 12": f"current.md --diff {change}",
        "--at 3": "--at 1",
    }


def ran(world: World, line: str) -> tuple[int, str]:
    for old, new in world.ids.items():
        line = line.replace(old, new)
    if re.search(r"[|<>`]|\$\(", re.sub(r"'[^']*'", "", line)) or not line.startswith("holdfast"):
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=world.repo,
            env={**os.environ, **world.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout
    home = world.environment["HOME"]
    words = [f"{home}{word[1:]}" if word.startswith("~/") else word for word in shlex.split(line)[1:]]
    return run(world, *words)


def wrong_with(line: str, code: int, said: str) -> str:
    most = 1 if line.startswith(MAY_BE_1) else 0
    if "Traceback" in said or "bug in holdfast" in said or code > most:
        return f"{line}\nexit code {code}\n{said}"
    return ""


@pytest.mark.promise("U11")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_of_a_help_runs(built: World, name: str) -> None:
    left = {line: why for line in examples_of(name) if (why := _elsewhere(line))}
    wrong: list[str] = []
    for number, line in enumerate(line for line in examples_of(name) if line not in left):
        if number == 0 or name not in IN_A_ROW:
            built.again()
        if name == "note write":
            _with_a_writer(built)
        wrong += [
            wrong_with(first, *ran(built, first)) for start, first in FIRST.items() if line.startswith(start)
        ]
        wrong.append(wrong_with(line, *ran(built, line)))
    assert list(filter(None, wrong)) == []


def _with_a_writer(world: World) -> None:
    """A configured writer, and a client that finds nothing worth keeping."""
    config = world.base / "home" / ".holdfast" / "config.toml"
    with config.open("a", encoding="utf-8") as file:
        file.write('writer = "claude"\n')
    client = world.base / "bin" / "claude"
    client.write_text("""#!/bin/sh\necho '{"result": "{\\"statements\\": []}"}'\n""", encoding="utf-8")


def _elsewhere(line: str) -> str:
    exact: Mapping[str, str] = {"holdfast sync": ELSEWHERE["holdfast sync"]}
    return exact.get(line, "") or next(
        (why for start, why in ELSEWHERE.items() if start not in exact and line.startswith(start)), ""
    )
