"""Reads the injection trace: what sessions saw, when and why; and explains why a session would see nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import NotFound
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import LOAD_FROM
from holdfast.hooks.offers import HEADING
from holdfast.model.line import Line
from holdfast.model.origin import Origin
from holdfast.store.json_files import read_json_lines
from holdfast.store.machine import Machine
from holdfast.store.origins import Origins
from holdfast.store.project import Project
from holdfast.store.switches import switches_of

FOLDER = lazy_regex(r"in (\S+)/\Z")  # the heading of lines that name files of one folder
_IDS = lazy_regex(r"\b[A-Z]-[0-9a-z]{4,12}\b")
_OF_GIT = lazy_regex(r"\bcommit [0-9a-f]{7,40}\b")


class Injection(Struct, frozen=True, kw_only=True):
    """One answer of a hook. `nothing` says why it was empty, `left_out` how many lines did not fit.

    `tool` is the tool whose call was answered, `agent` the subagent that made it. `shown` is a notice for the person
    that the model did not see.
    """

    time: str
    session: str | None = None
    host: str = ""
    event: str = ""
    source: str | None = None
    branch: str = ""
    tool: str = ""
    agent: str = ""
    tokens: int = 0
    lines: tuple[Line, ...] = ()
    left_out: int = 0
    nothing: str = ""
    shown: tuple[Line, ...] = ()

    def as_json(self, origins: Origins) -> dict[str, object]:
        lines = {
            name: [
                {**line.as_json(), "origin": origin_of_line(line, origins)} for line in getattr(self, name)
            ]
            for name in ("lines", "shown")
        }
        return msgspec.structs.asdict(self) | lines


def origin_of_line(line: Line, origins: Origins) -> Origin:
    """Where an injected line comes from. The id at its end says so where the trace has none."""
    ids = [line.id.removeprefix("lesson:"), line.session, *_IDS.findall(line.text)]
    archive = origins.archive_of(*ids)
    return archive.origin if archive is not None else "git" if _OF_GIT.search(line.text) else "session"


def is_heading(line: Line) -> bool:
    """Whether a line says nothing that could be used: it only leads to those below it, or to a folder."""
    return line.text == HEADING or line.text.startswith(LOAD_FROM) or bool(FOLDER.match(line.text))


def injections(project: Project) -> list[Injection]:
    """All injections, oldest first. Skips torn or foreign lines: this is a trace, not a record."""
    return [
        injection
        for name in ("why.jsonl.1", "why.jsonl")
        for injection in read_json_lines(project.memory / name, Injection)
    ]


def injections_of(project: Project, wanted: str = "last") -> list[Injection]:
    """The injections of one session, by its id or a prefix of it; `last` is the latest session."""
    every = injections(project)
    if wanted == "last":
        last = every[-1].session if every else None
        return [entry for entry in every if entry.session == last]
    chosen = [entry for entry in every if entry.session and entry.session.startswith(wanted)]
    if not chosen:
        raise NotFound(f"no session {wanted!r} has seen anything here", fix="holdfast why shows the last one")
    return chosen


def why_silent(machine: Machine, project: Project, directory: Path) -> str:
    """Why a session started here now would see nothing; '' when nothing prevents it."""
    switches = switches_of(project)
    if not switches.enabled:
        return "memory is not enabled for this project (run holdfast init)"
    if off := off_by_environment(machine):
        return off
    if machine.settings().excludes(str(directory), machine.user_home):
        return f"excluded by {machine.home / 'config.toml'}"
    uncaptured, untold = switches.at(directory)
    if untold:
        return f"switched off in this directory: holdfast agents on{'' if uncaptured else ' --inject'}"
    return ""


def why_uncaptured(project: Project, directory: Path) -> str:
    """Why a session here would see memory but not be captured; '' when nothing prevents it."""
    uncaptured, untold = switches_of(project).at(directory)
    return "switched off in this directory: holdfast agents on --capture" if uncaptured and not untold else ""


def off_by_environment(machine: Machine) -> str:
    """The environment variable that switches holdfast off; '' when none does."""
    if machine.env.get("HOLDFAST", "").lower() in ("off", "0", "false"):
        return "HOLDFAST=off"
    if machine.env.get("CI", "").lower() in ("true", "1"):
        return f"CI={machine.env['CI']}"
    return ""
