"""Passes a memory that came from elsewhere through the gate, before anything of it is put in place.

An archive may be older than a rule of the redactor, or than what was forgotten here since; it may be somebody else's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from holdfast.core import files
from holdfast.core.files import Held
from holdfast.flows.forget import forget_again
from holdfast.memory.read import known_projects
from holdfast.memory.store import MemoryStore
from holdfast.sessions.store import CaptureForgetting
from holdfast.store.bundle import canonical_files
from holdfast.store.denied import NAME as DENIED
from holdfast.store.denied import Denied
from holdfast.store.gate import gate, pass_file, pass_value
from holdfast.store.machine import Machine
from holdfast.store.memory_files import CAPTURE
from holdfast.store.project import Project
from holdfast.store.versions import Versions

Clean = Callable[[str], str]


def receive(machine: Machine, here: Project, there: Project, shared: Path) -> None:
    """Cleans the unpacked memory `there` and the ledger `shared`; what was forgotten `here` stays forgotten in it."""
    with files.lock(there.lock("memory")) as held:
        _keep_denied(held, here, there)
    denied = Denied(there.memory)
    if not there.memory.is_dir():
        return
    forget_again(there, denied.sessions, denied.ids)
    clean_memory(there, gate(machine, there), shared)


def clean_memory(project: Project, clean: Clean, *others: Path) -> None:
    """Passes every file of a memory, its versions and its records through `clean`, and `others` like ledgers."""
    with files.lock(project.lock("memory")) as held:
        for name in canonical_files(project.memory).files:
            if name not in (CAPTURE, DENIED) and not name.startswith("history/contents/"):
                _clean_file(held, project.memory / name, name, clean)
        for path in others:
            if path.exists():
                _clean_file(held, path, path.name, clean)
        Versions(project.memory / "history").rewrite(held, lambda name, data: _cleaned(data, name, clean))
        for name in known_projects(project):
            MemoryStore(project, name).accept_entries(held=held)
    if project.capture.exists():
        with closing(CaptureForgetting(project.capture)) as store:
            store.rewrite(lambda value: pass_value(value, clean))


def _keep_denied(held: Held, here: Project, there: Project) -> None:
    """The list of what was forgotten is never replaced by another one: lines are added."""
    known = set(files.read_lines(there.memory / DENIED)) if (there.memory / DENIED).exists() else set()
    ours = files.read_lines(here.memory / DENIED) if (here.memory / DENIED).exists() else []
    missing = [line for line in ours if line.endswith(b"\n") and line not in known]
    if missing:
        files.append_held(held, there.memory / DENIED, b"".join(missing))


def _clean_file(held: Held, path: Path, name: str, clean: Clean) -> None:
    before = files.read(path)
    if before and (after := _cleaned(before, name, clean)) != before:
        files.replace_held(held, path, after, files.ANYTHING)


def _cleaned(data: bytes, name: str, clean: Clean) -> bytes:
    """The content of a file without what the gate keeps out; values are looked at without the escapes of JSON."""
    if name.endswith(".jsonl"):
        return b"".join(_cleaned_json(line, clean, None) for line in data.splitlines(keepends=True))
    if name.endswith(".json"):
        return _cleaned_json(data, clean, 2)
    text = data.decode("utf-8", "surrogateescape")
    if name.endswith("ledger.md"):  # a row is a line: nothing of ours goes on in the next one
        lines = [clean(line) for line in text.split("\n")]
        return "\n".join(lines).encode("utf-8", "surrogateescape")
    return pass_file(text, clean).encode("utf-8", "surrogateescape")


def _cleaned_json(data: bytes, clean: Clean, indent: int | None) -> bytes:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return clean(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    after = pass_value(value, clean)
    if after == value:
        return data
    return json.dumps(after, ensure_ascii=False, indent=indent).encode("utf-8", "replace") + b"\n"
