"""Adds a line to a tool call that reads or changes a file: what was decided about that file, once in a session."""

from __future__ import annotations

import os

from holdfast.hooks import trace
from holdfast.hooks.host_protocol import READ

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any

    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call as HostCall
    from holdfast.hooks.prepared import Prepared

    Line = tuple[str, str]  # text and reason

MOST_TOKENS = 300  # in a session; later prompts and failing commands keep their share


def lines_for(prepared: Prepared, paths: list[str], call: HostCall, found: Place) -> list[Line]:
    """The line for the first of these files that has one and was not told yet; the others wait."""
    for path in paths:
        key = _inside(path, found)
        rows = prepared.moments(READ, key, None) if key else []
        if not rows or _was_told(found.memory, call, path):
            continue
        line, is_settled = _chosen(prepared, rows, call, found)
        if line is not None or is_settled:
            _keep(found.memory, call, path)
        if line is not None:
            return [line]
    return []


def room(memory: str, session: str) -> int:
    """The tokens that are left for lines about files."""
    entries = [entry for entry in trace.told_to(memory, session) if entry.get("tool") == READ]
    return MOST_TOKENS - sum(tokens for entry in entries if isinstance(tokens := entry.get("tokens"), int))


def _inside(path: str, found: Place) -> str:
    """A path relative to the top of its work tree, if that belongs to this project; else ''."""
    from holdfast.core.place import find_checkout

    path = os.path.realpath(path)
    root = os.path.realpath(found.root)
    if found.checkout is not None:
        checkout = find_checkout(os.path.dirname(path))
        if checkout is None or os.path.realpath(checkout.common) != os.path.realpath(found.checkout.common):
            return ""
        root = os.path.realpath(checkout.root)
    return path[len(root) + 1 :].replace(os.sep, "/") if path.startswith(root + os.sep) else ""


def _chosen(
    prepared: Prepared, rows: list[dict[str, Any]], call: HostCall, found: Place
) -> tuple[Line | None, bool]:
    """The first line that holds here and is news; and whether nothing will change that in this session."""
    session, branch, now = call.text("session_id"), found.branch(), call.now
    project = prepared.project_of(session, branch)
    heard = "\n".join(trace.heard(found.memory, session, agent=call.text("agent_id")))
    is_settled = True
    for row in rows:
        if row["token"] == session or (row["project"] and project and row["project"] != project):
            continue
        own_branch, everywhere = row["needs"]
        if own_branch and own_branch != branch and not (everywhere and float(everywhere) <= now):
            is_settled = False  # another branch may be checked out
            continue
        if row["id"] in heard or row["text"].rpartition(" (")[0] in heard:
            continue
        return (row["text"], row["reason"]), True
    return None, is_settled


def _was_told(memory: str, call: HostCall, path: str) -> bool:
    return _told_line(call, path) in trace.list_of_files(memory, call.text("session_id"))


def _keep(memory: str, call: HostCall, path: str) -> None:
    """Notes a file, so that its next reading costs nothing."""
    name = trace.files_told(memory, call.text("session_id"))
    trace.make_folder(os.path.dirname(name))
    trace.append(name, _told_line(call, path) + b"\n", trace.MOST_LISTED)


def _told_line(call: HostCall, path: str) -> bytes:
    slashed = path.replace("\\", "/").lstrip("/").replace("\n", " ")
    return f"{call.text('agent_id')}\t/{slashed}".encode("utf-8", "replace")
