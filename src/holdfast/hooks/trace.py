"""The little that a hook writes, all of it in the project's memory: envelopes, what was injected, what went wrong."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import Any

MOST_LOG = 64 * 1024
MOST_WHY = 256 * 1024
MOST_ENVELOPES = 512
MOST_LINE = 64 * 1024
MOST_QUIET = 40  # lines that told nothing: they only repeat the total
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class Full(Exception):
    """The inbox holds so many envelopes that nobody can be emptying it."""


def log(memory: str, text: str) -> None:
    """One line for `holdfast doctor`."""
    line = f"{_now()} {' '.join(text.split())[:500]}\n"
    _append(os.path.join(memory, "hook.log"), line.encode("utf-8", "replace"), MOST_LOG)


def explain(memory: str, entry: dict[str, object]) -> None:
    """One line for `holdfast why`."""
    from holdfast.core.bare_json import dumps

    session, tokens = entry.get("session"), entry.get("tokens")
    if isinstance(session, str) and (
        total := spent(memory, session) + (tokens if isinstance(tokens, int) else 0)
    ):
        entry = {**entry, "total": total}  # so that it is known when older lines are gone
    line = dumps({"time": _now(), **entry}, ensure_ascii=False) + "\n"
    _append(os.path.join(memory, "why.jsonl"), line.encode("utf-8", "replace"), MOST_WHY)


def heard(memory: str, session: str, until: float | None = None, agent: str = "") -> set[str]:
    """What a session was told since its last compaction, and before a time; a torn or foreign line says nothing.

    A subagent (`agent`) has a context of its own, so what was told to it the others have not heard.
    """
    last = "~" if until is None else moment(until)
    texts: set[str] = set()
    for entry in told_to(memory, session):
        try:
            if entry.get("agent", "") != agent:
                continue
            if entry["time"] <= last:
                texts.update(told["text"] for told in entry["lines"])
            if entry["source"] == "compact":
                break
        except (LookupError, TypeError):
            continue
    return texts


def spent(memory: str, session: str) -> int:
    """The tokens of all that a session was told, with its subagents: what it may still be told depends on it.

    Each line has the total so far, which outlives older lines; hooks that ran at once may not have seen each other, so
    what the lines themselves add up to counts where it is more.
    """
    known = added = 0
    for entry in told_to(memory, session):
        total, tokens = entry.get("total"), entry.get("tokens")
        if isinstance(total, int) and total > known:
            known = total
        if isinstance(tokens, int) and tokens > 0:
            added += tokens
    return max(known, added)


def lines_told(memory: str, session: str) -> int:
    """How many lines a session was told, as far as the trace goes back."""
    return sum(
        len(lines) for entry in told_to(memory, session) if isinstance(lines := entry.get("lines"), list)
    )


_read: dict[
    tuple[str, str], tuple[object, list[dict[str, Any]]]
] = {}  # the last that was read, until somebody writes


def told_to(memory: str, session: str) -> list[dict[str, Any]]:
    """A session's lines of the trace, the newest first; of many that told nothing only the newest are read."""
    if not session:
        return []
    path = os.path.join(memory, "why.jsonl")
    stamp = (_stamp(path), _stamp(f"{path}.1"))
    if (memory, session) not in _read or _read[memory, session][0] != stamp:
        _read.clear()
        _read[memory, session] = stamp, _entries(path, session)
    return _read[memory, session][1]


def _stamp(path: str) -> object:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _entries(path: str, session: str) -> list[dict[str, Any]]:
    from holdfast.core.bare_json import dumps, loads

    mark = dumps(session, ensure_ascii=False).encode("utf-8", "replace")
    found: list[dict[str, Any]] = []
    quiet = 0
    for line in reversed(_whole(path).split(b"\n")):
        if mark not in line:
            continue
        if b'"tokens": 0' in line and b'"compact"' not in line:
            quiet += 1
            if quiet > MOST_QUIET:
                continue
        try:
            entry = loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and entry.get("session") == session:
            found.append(entry)
    return found


def _whole(path: str) -> bytes:
    """A trace, with the file that was moved aside when it was full: twice `MOST_WHY` at most."""
    data = b""
    for name in (path, f"{path}.1"):
        try:
            with open(name, "rb") as file:
                data = file.read(MOST_WHY + MOST_LINE) + data
        except OSError:
            continue
    return data


def post(memory: str, envelope: dict[str, object]) -> None:
    """An envelope, whole or not at all. Its name begins with the session, which `waiting` relies on."""
    from holdfast.core.bare_json import dumps

    inbox = os.path.join(memory, "inbox")
    if len(envelopes(memory)) >= MOST_ENVELOPES:
        raise Full(f"{MOST_ENVELOPES} envelopes in {inbox}")
    name = f"{session_name(envelope.get('session'))}.{time.time_ns()}-{os.getpid()}"
    temporary, final = os.path.join(inbox, f"{name}.tmp"), os.path.join(inbox, f"{name}.json")
    try:
        os.mkdir(inbox, 0o700)
    except FileExistsError:
        pass
    try:
        letter = dumps({"format": 1, "time": time.time(), **envelope}, ensure_ascii=False)
        # Half of a character pair, as a folder's name in another encoding becomes, would make it unreadable.
        _write(temporary, letter.encode("utf-8", "replace"), _NEW)
        os.replace(temporary, final)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def envelopes(memory: str) -> list[str]:
    try:
        return [name for name in os.listdir(os.path.join(memory, "inbox")) if name.endswith(".json")]
    except OSError:
        return []


def waiting(memory: str, session: object) -> bool:
    """Whether another session's envelope lies there: it was killed, or the child that worked for it was."""
    mine = session_name(session) + "."
    return any(not name.startswith(mine) for name in envelopes(memory))


def ended(memory: str, session: object = None) -> bool:
    """Whether another session is over and still to be read: it said so, or its process is gone."""
    mine = session_name(session) + "." if session is not None else "\n"
    last: dict[str, str] = {}
    for name in sorted(envelopes(memory), key=lambda name: name.partition(".")[2]):
        if not name.startswith(mine):
            last[name.partition(".")[0]] = name
    return any(_is_over(os.path.join(memory, "inbox", name)) for name in last.values())


def _is_over(path: str) -> bool:
    from holdfast.core.bare_json import loads

    try:
        with open(path, "rb") as file:
            letter = loads(file.read(64 * 1024))
        process = letter["process"]
        if letter["event"] == "SessionEnd":
            return True
        if not isinstance(process, int) or process < 1 or os.name == "nt":  # there a signal 0 would end it
            return False
        from holdfast.core.processes import runs

        return not runs(process)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return False


def session_name(session: object) -> str:
    """A session's id as part of a file name: a payload is not asked to be honest."""
    text = session if isinstance(session, str) else ""
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text[:64]) or "unknown"


def _append(path: str, line: bytes, most: int) -> None:
    try:
        if os.stat(path).st_size + len(line) > most:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass
    _write(path, line, _APPEND)


def _write(path: str, data: bytes, flags: int) -> None:
    descriptor = os.open(path, flags, 0o600)
    try:
        # One write: lines of hooks that run at the same time stay whole.
        if os.write(descriptor, data) != len(data):
            raise OSError(f"{path}: the disk took only a part")
    finally:
        os.close(descriptor)


def moment(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _now() -> str:
    return moment(time.time())
