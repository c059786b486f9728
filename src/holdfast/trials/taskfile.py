"""Reads the file of an A/B experiment: its tasks, the client, and what it may do and spend. docs/ab.md describes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core.errors import ConfigError
from holdfast.core.files import read
from holdfast.trials.clients import CLIENTS

MOST_BYTES = 1_000_000
MOST_TASKS, MOST_RUNS = 200, 100
LONGEST_S = 6 * 3600
CLASSES = ("test", "pattern", "bugfix", "change", "investigation", "planning")
COLDS = ("empty", "without")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Task(Struct, frozen=True, kw_only=True):
    """One task. `check` decides whether it was done; `setup` prepares the work tree before either arm."""

    name: str
    kind: str
    prompt: str
    check: str
    setup: str = ""
    statements: bool = True
    lessons: bool = True


class Experiment(Struct, frozen=True, kw_only=True):
    """`cold` is what the arm without memory has: holdfast with an `empty` memory, or the client `without` holdfast."""

    path: str
    repository: str
    commit: str
    agent: str
    model: str
    runs: int
    tasks: tuple[Task, ...]
    budget_usd: float
    session_usd: float | None = None
    seconds: int = 1800
    check_seconds: int = 300
    cold: str = "empty"
    program: str = ""
    arguments: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    home_files: tuple[str, ...] = ()
    seed: int = 0


class TaskFileError(ConfigError):
    """All that is wrong with a task file, a line each."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.problems = [f"{path}: {problem}." for problem in problems]
        count = f"{len(problems)} errors" if len(problems) > 1 else "1 error"
        super().__init__(
            f"{count} in the tasks", where=str(path), fix="Nothing was started. Correct the file"
        )


def load(path: Path) -> Experiment:
    """The experiment in a file. Raises TaskFileError, which has every problem."""
    import tomllib

    data = read(path)
    if data is None:
        raise ConfigError("there is no such file", where=str(path), fix="Name a file of tasks (docs/ab.md)")
    if len(data) > MOST_BYTES:
        raise TaskFileError(path, [f"it has more than {MOST_BYTES:,} bytes"])
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TaskFileError(path, [f"it is not valid TOML: {' '.join(str(error).split())}"]) from error
    reader = _Reader(table, "")
    experiment = _experiment(reader, path)
    if reader.problems:
        raise TaskFileError(path, reader.problems)
    return experiment


class _Reader:
    """Takes typed values out of a table, and collects what is wrong instead of stopping at the first."""

    def __init__(self, table: Mapping[str, Any], place: str, problems: list[str] | None = None) -> None:
        self._table, self._place = table, place
        self.problems: list[str] = [] if problems is None else problems
        self._seen: set[str] = set()

    def wrong(self, name: str, problem: str) -> None:
        self.problems.append(f"{self._place}{name} {problem}")

    def text(self, name: str, default: str | None = None, fits: Callable[[str], str] | None = None) -> str:
        value = self._value(name, default)
        if value is None:
            return ""
        if not isinstance(value, str) or "\0" in value or (default is None and not value.strip()):
            self.wrong(name, "must be a string" if not isinstance(value, str) else "must not be empty")
            return ""
        if fits is not None and (problem := fits(value)):
            self.wrong(name, problem)
        return value

    def number(
        self, name: str, default: float | None, least: float, most: float, *, whole: bool = False
    ) -> float:
        value = self._value(name, default)
        if value is None:
            return least
        is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not is_number or not least <= float(value) <= most:
            what = "a whole number" if whole else "a number"
            self.wrong(name, f"must be {what} from {least:,g} to {most:,g}")
            return least
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._value(name, default)
        if not isinstance(value, bool):
            self.wrong(name, "must be true or false")
        return bool(value)

    def texts(self, name: str, fits: Callable[[str], str] | None = None) -> tuple[str, ...]:
        value = self._value(name, [])
        if not isinstance(value, list) or not all(
            isinstance(item, str) and "\0" not in item for item in value
        ):
            self.wrong(name, "must be a list of strings")
            return ()
        for item in value if fits is not None else ():
            if problem := fits(item):  # type: ignore[misc]
                self.wrong(name, f"{item[:60]!r} {problem}")
        return tuple(value)

    def tables(self, name: str) -> list[Mapping[str, Any]]:
        value = self._value(name, None)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            if value is not None:
                self.wrong(name, "must be written as [[task]]")
            return []
        return value

    def table(self, name: str) -> Mapping[str, Any]:
        value = self._value(name, {})
        if not isinstance(value, dict):
            self.wrong(name, "must be a table")
            return {}
        return value

    def below(self, table: Mapping[str, Any], place: str) -> _Reader:
        return _Reader(table, place, self.problems)

    def end(self) -> None:
        """Names that mean nothing: most are misspelt."""
        for name in self._table:
            if name not in self._seen:
                self.wrong(str(name)[:60], "is not known")

    def _value(self, name: str, default: Any) -> Any:
        self._seen.add(name)
        if name not in self._table and default is None:
            self.wrong(name, "is missing")
        return self._table.get(name, default)


def _experiment(reader: _Reader, path: Path) -> Experiment:
    agent = reader.text("agent", None, _one_of((*CLIENTS, "command")))
    program = reader.text("program", "")
    if agent == "command" and not program:
        reader.wrong("program", "is missing: the agent is a command")
    classes = {name: _class(reader, name, table) for name, table in reader.table("class").items()}
    tasks = [
        _task(reader.below(table, f"task {place}: "), classes)
        for place, table in enumerate(reader.tables("task"), 1)
    ]
    if len(tasks) > MOST_TASKS:
        reader.wrong("task", f"appears more than {MOST_TASKS} times")
    names = [task.name for task in tasks]
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        reader.wrong("task", f"{name!r} appears twice")
    session_usd = reader.number("session_usd", 0.0, 0, 10_000)
    experiment = Experiment(
        path=str(path),
        repository=str((path.parent / Path(reader.text("repository", ".")).expanduser()).resolve()),
        commit=reader.text("commit", "HEAD"),
        agent=agent,
        model=reader.text("model"),
        runs=int(reader.number("runs", 3, 1, MOST_RUNS, whole=True)),
        tasks=tuple(tasks),
        budget_usd=reader.number("budget_usd", None, 0, 100_000),
        session_usd=session_usd or None,
        seconds=int(reader.number("seconds", 1800, 1, LONGEST_S, whole=True)),
        check_seconds=int(reader.number("check_seconds", 300, 1, LONGEST_S, whole=True)),
        cold=reader.text("cold", "empty", _one_of(COLDS)),
        program=program,
        arguments=reader.texts("arguments"),
        env=reader.texts("env", lambda name: "" if _VARIABLE.fullmatch(name) else "is not a variable name"),
        home_files=reader.texts("home_files", _below_home),
        seed=int(reader.number("seed", 0, 0, 2**31, whole=True)),
    )
    reader.end()
    return experiment


def _class(reader: _Reader, name: str, table: Any) -> tuple[bool, bool]:
    if name not in CLASSES:
        reader.wrong(f"class.{name[:40]}", f"is not one of {', '.join(CLASSES)}")
    if not isinstance(table, dict):
        reader.wrong(f"class.{name[:40]}", "must be a table")
        return True, True
    below = reader.below(table, f"class.{name[:40]}: ")
    switches = below.flag("statements", True), below.flag("lessons", True)
    below.end()
    return switches


def _task(reader: _Reader, classes: Mapping[str, tuple[bool, bool]]) -> Task:
    kind = reader.text("class", None, _one_of(CLASSES))
    statements, lessons = classes.get(kind, (True, True))
    task = Task(
        name=reader.text(
            "name", None, lambda name: "" if _NAME.fullmatch(name) else "must be a short plain name"
        ),
        kind=kind,
        prompt=reader.text("prompt"),
        check=reader.text("check"),
        setup=reader.text("setup", ""),
        statements=reader.flag("statements", statements),
        lessons=reader.flag("lessons", lessons),
    )
    reader.end()
    return task


def _one_of(names: tuple[str, ...]) -> Callable[[str], str]:
    return lambda value: "" if value in names else f"must be one of {', '.join(names)}"


def _below_home(name: str) -> str:
    parts = Path(name).parts
    return "" if name.startswith("~/") and ".." not in parts else "must be a path below ~/"
