"""Notices for the person that the model does not see: an unusual session, a budget used up, which model and which care
the ledger suggests, and changes to instruction files, branch or repository since the session began. Each is shown once.
The figures are prepared; files are compared.

Also compares them for the model, when a session starts or is resumed.
"""

from __future__ import annotations

import os

from holdfast.core.reading import bytes_of, json_of
from holdfast.hooks import host_protocol, trace
from holdfast.hooks.trace import entry, is_first, is_time, seen

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any

    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call
    from holdfast.hooks.prepared import Prepared

    Line = tuple[str, str]  # text and reason

MOST_NAMED = 4
MOST_LEFT = 10_000  # bytes of what a session left: a branch and a commit
MOST_SEEN = 1 << 20  # bytes of the state when a session began
LARGEST = 256 * 1024  # bytes of a file whose content is compared


def begun(prepared: Prepared, call: Call, found: Place) -> None:
    """Records the state at the start of a session; a compacted session keeps its first record."""
    if call.text("source") != "compact" and call.text("session_id") and call.host in host_protocol.SHOWS:
        _keep(seen(found.memory, call), _standing(prepared, found))


def since_it_worked(prepared: Prepared, call: Call, found: Place) -> list[Line]:
    """For the model of a resumed session: the branch, the commit and the instruction files that changed meanwhile."""
    changed = []
    left = bytes_of(trace.left_by(found.memory, call), MOST_LEFT)
    if left is not None:  # else it never stopped, or not with this version
        branch, commit = [*left.decode("utf-8", "replace").split("\n"), "", ""][:2]
        now = found.checkout.commit() if found.checkout is not None else ""
        if branch != found.branch():
            changed.append(f"branch {branch or 'none'} → {found.branch() or 'none'}")
        if commit and now and commit != now:
            changed.append(f"HEAD {commit[:8]} → {now[:8]}")
    changed += _files_changed(prepared, found, seen(found.memory, call))
    return _line("Since this session last worked", changed)


def since_the_last(prepared: Prepared, call: Call, found: Place) -> list[Line]:
    """For the model of a new session: the instruction files that changed since another session looked at them."""
    folder = os.path.join(found.memory, trace.SEEN)
    own = os.path.basename(seen(found.memory, call))
    try:
        with os.scandir(folder) as entries:
            others = [entry for entry in entries if entry.name.endswith(".json") and entry.name != own]
        last = max(others, key=lambda entry: entry.stat().st_mtime_ns)
    except (OSError, ValueError):
        return []
    return _line("Changed since the last session", _files_changed(prepared, found, last.path))


def _line(label: str, changed: list[str]) -> list[Line]:
    if not changed:
        return []
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    return [(f"{label}: {', '.join(changed[:MOST_NAMED])}{more}", "compared with what a session saw before")]


def _files_changed(prepared: Prepared, found: Place, path: str) -> list[str]:

    try:
        before = json_of(path, MOST_SEEN)
        now = _standing(prepared, found, before)
        return _named({**now, "files": before["files"]}, now)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def due(prepared: Prepared, call: Call, found: Place) -> list[Line]:
    """The notices to show now. The caller must show them: they are not returned again."""
    if call.host not in host_protocol.SHOWS or not call.text("session_id"):
        return []
    return _alerts(prepared, call, found) + _advice(prepared, call, found) + _changes(prepared, call, found)


def _alerts(prepared: Prepared, call: Call, found: Place) -> list[Line]:
    if not prepared.meta.get("alerts"):  # nearly always
        return []
    from holdfast.core.bare_json import loads

    session = call.text("session_id")
    lines: list[Line] = []
    beyond = []
    for alert in loads(prepared.meta["alerts"]):
        if alert["session"] == session:
            beyond.append(alert["text"])
        elif not alert["session"] and is_new(found, alert["key"]):
            lines.append((alert["text"], "a budget of the personal configuration is used up"))
    if beyond and is_new(found, f"{trace.session_name(session)}.beyond"):
        lines.insert(
            0, (f"this session: {'; '.join(beyond)}", "it is beyond nine of ten sessions of its like")
        )
    return lines


def _advice(prepared: Prepared, call: Call, found: Place) -> list[Line]:
    """What the ledger's evidence suggests: at the first prompt of a session, before the work begins."""
    if call.event != "UserPromptSubmit" or not prepared.meta.get("advice"):
        return []
    if not is_new(found, f"{trace.session_name(call.text('session_id'))}.advice"):
        return []
    from holdfast.core.bare_json import loads

    return [(str(text), str(reason)) for text, reason in loads(prepared.meta["advice"])]


def is_new(found: Place, name: str) -> bool:
    """Whether this notice is new. Of several concurrent hooks only one gets True."""
    folder = os.path.join(found.memory, trace.SAID)
    trace.make_folder(folder)
    safe = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in ".-") else "-" for sign in name[:120]
    )
    try:
        trace.create(os.path.join(folder, safe))
    except FileExistsError:
        return False
    return True


def _changes(prepared: Prepared, call: Call, found: Place) -> list[Line]:
    path = seen(found.memory, call)
    if not is_time(path):
        return []

    try:
        before = json_of(path, MOST_SEEN)
        now = _standing(prepared, found, before)
        changed = _named(before, now)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []  # no snapshot was taken at the start, or the file is torn
    _keep(path, now)
    if not changed:
        return []
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    text = f"changed since this session began: {', '.join(changed[:MOST_NAMED])}{more}"
    lines = [(text, "files around this session have changed (see holdfast context)")]
    return lines if is_first(lines, call, found) else []


def _standing(prepared: Prepared, found: Place, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """The instruction files by name, the branch, and the stamp of the repository knowledge."""
    from holdfast.core.bare_json import loads

    earlier_marks = before["files"] if before is not None else {}
    files = {}
    for name, path in loads(prepared.meta.get("watched") or "[]"):
        mark = _mark(os.path.join(found.root, path), earlier_marks.get(name))
        if mark is not None:
            files[name] = mark
    return {"branch": found.branch(), "knowledge": prepared.meta.get("knowledge", ""), "files": files}


def _mark(path: str, before: list[Any] | None) -> list[Any] | None:
    """Size, time and a checksum of the content: a checkout may write the same content again."""
    try:
        status = os.stat(path)
        if before is not None and before[:2] == [status.st_size, status.st_mtime_ns]:
            return before
    except (OSError, ValueError):
        return None
    data = bytes_of(path, LARGEST)
    if data is None:
        return None
    from binascii import crc32

    return [status.st_size, status.st_mtime_ns, crc32(data)]


def _named(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    old, new = before["files"], now["files"]
    changed = []
    for name in [*new, *(name for name in old if name not in new)]:
        if name not in old:
            changed.append(f"{name} is new")
        elif name not in new:
            changed.append(f"{name} is gone")
        elif old[name][2] != new[name][2] or old[name][0] != new[name][0]:
            changed.append(name)
    if before["branch"] != now["branch"]:
        changed.insert(0, f"branch {before['branch'] or 'none'} → {now['branch'] or 'none'}")
    if before["knowledge"] != now["knowledge"] and before["knowledge"]:
        changed.append("what is known of the repository")
    return changed


def _keep(path: str, standing: dict[str, Any]) -> None:
    from holdfast.core.bare_json import dumps

    trace.make_folder(os.path.dirname(path))
    trace.replace(path, dumps(standing).encode())


def said(answer: bytes, lines: list[Line], call: Call, found: Place) -> bytes:
    """Adds lines for the person to a hook's answer, after recording them in the trace."""
    trace.record(found.memory, entry(call, found), shown=trace.with_reasons(lines))
    return host_protocol.with_notice(answer, "\n".join(f"holdfast: {text}" for text, _ in lines))
