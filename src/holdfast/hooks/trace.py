"""Everything that a hook writes, all in the project's memory: envelopes, the injection trace, the error log."""

from __future__ import annotations

import os
import time

from holdfast.core.reading import bytes_of, json_of, open_regular
from holdfast.hooks import host_protocol

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call

MOST_LOG = 64 * 1024
MOST_WHY = 256 * 1024
MOST_ENVELOPES = 512
MOST_LINE = 64 * 1024
MOST_LISTED = 64 * 1024  # bytes of the list of files that a session was told about
MOST_QUIET = 40  # entries without lines: they only repeat the total
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL

# An agent's hooks in both scopes run at the same time, and neither can read what the other is about to inject.
CLAIMS = "claims"  # a folder of the memory, with an empty file for each text that a hook is injecting
HELD_S = 3.0  # no hook lives longer: a later one has read the trace
CLAIMED = "another hook of this agent says it at this moment"
SAID = "said"  # a folder of the memory: what was shown already
SEEN = "seen"  # a folder of the memory: the state when each session began
REST_S = 300.0  # seconds between two checks for changes


class Full(Exception):
    """The inbox has so many envelopes that no child can be emptying it."""


def log(memory: str, text: str) -> None:
    """Logs one line for `holdfast doctor`."""
    line = f"{_now()} {' '.join(text.split())[:500]}\n"
    append(os.path.join(memory, "hook.log"), line.encode("utf-8", "replace"), MOST_LOG)


def explain(memory: str, entry: dict[str, object]) -> None:
    """Appends one entry for `holdfast why`."""
    from holdfast.core.bare_json import dumps

    session, tokens = entry.get("session"), entry.get("tokens")
    if isinstance(session, str) and (
        total := spent(memory, session) + (tokens if isinstance(tokens, int) else 0)
    ):
        entry = {**entry, "total": total}  # so that it outlives older entries
    line = dumps({"time": _now(), **entry}, ensure_ascii=False) + "\n"
    append(os.path.join(memory, "why.jsonl"), line.encode("utf-8", "replace"), MOST_WHY)


def record(
    memory: str,
    about: dict[str, object],
    lines: Iterable[tuple[str, str]] = (),
    tokens: int = 0,
    **more: object,
) -> None:
    """Appends the entry for an injection: `about` is its `entry`, `lines` are texts with their reasons."""
    explain(memory, {**about, "tokens": tokens, "lines": with_reasons(lines), **more})


def with_reasons(lines: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"text": text, "reason": reason} for text, reason in lines]


def heard(memory: str, session: str, until: float | None = None, agent: str = "") -> set[str]:
    """The lines injected into a session since its last compaction, and before a time; ignores torn or foreign entries.

    A subagent (`agent`) has its own context, so the others have not seen its lines.
    """
    last = "~" if until is None else moment(until)
    texts: set[str] = set()
    for entry in told_to(memory, session):
        try:
            if entry.get("agent", "") != agent:
                continue
            if entry["time"] <= last:
                texts.update(line["text"] for line in entry["lines"])
            if entry["source"] == "compact":
                break
        except (LookupError, TypeError):
            continue
    return texts


def spent(memory: str, session: str) -> int:
    """The tokens injected into a session and its subagents, which limit further injections.

    Each entry has the total so far, which outlives older entries. Concurrent hooks may not have seen each other, so the
    sum of the entries counts if it is larger.
    """
    largest_total = added = 0
    for entry in told_to(memory, session):
        total, tokens = entry.get("total"), entry.get("tokens")
        if isinstance(total, int) and total > largest_total:
            largest_total = total
        if isinstance(tokens, int) and tokens > 0:
            added += tokens
    return max(largest_total, added)


def lines_told(memory: str, session: str) -> int:
    """How many lines were injected into a session, as far as the trace goes back."""
    return sum(
        len(lines) for entry in told_to(memory, session) if isinstance(lines := entry.get("lines"), list)
    )


_read: dict[
    tuple[str, str], tuple[object, list[dict[str, Any]]]
] = {}  # a cache of the last read, until the file changes


def told_to(memory: str, session: str) -> list[dict[str, Any]]:
    """A session's trace entries, newest first; of many without lines only the newest are read."""
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
    entries: list[dict[str, Any]] = []
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
            entries.append(entry)
    return entries


def _whole(path: str) -> bytes:
    """A trace with its rotated predecessor: at most twice `MOST_WHY` bytes."""
    data = b""
    for name in (path, f"{path}.1"):
        data = (bytes_of(name, MOST_WHY + MOST_LINE) or b"") + data
    return data


def post(memory: str, envelope: dict[str, object]) -> None:
    """Writes an envelope atomically. Its name begins with the session, which `waiting` relies on."""
    from holdfast.core.bare_json import dumps

    inbox = os.path.join(memory, "inbox")
    if len(envelopes(memory)) >= MOST_ENVELOPES:
        raise Full(f"{MOST_ENVELOPES} envelopes in {inbox}")
    name = f"{session_name(envelope.get('session'))}.{time.time_ns()}-{os.getpid()}"
    make_folder(inbox)
    letter = dumps({"format": 1, "time": time.time(), **envelope}, ensure_ascii=False)
    # A lone surrogate, from a folder name in another encoding, would make it unreadable.
    replace(os.path.join(inbox, f"{name}.json"), letter.encode("utf-8", "replace"))


def envelopes(memory: str) -> list[str]:
    try:
        return [name for name in os.listdir(os.path.join(memory, "inbox")) if name.endswith(".json")]
    except OSError:
        return []


def waiting(memory: str, session: object) -> bool:
    """Whether another session's envelope is in the inbox: the session or its child process was killed."""
    prefix = session_name(session) + "."
    return any(not name.startswith(prefix) for name in envelopes(memory))


def ended(memory: str, session: object = None) -> bool:
    """Whether another session has ended and is not captured yet: it reported its end, or its process is gone."""
    prefix = session_name(session) + "." if session is not None else "\n"
    last: dict[str, str] = {}
    for name in sorted(envelopes(memory), key=lambda name: name.partition(".")[2]):
        if not name.startswith(prefix):
            last[name.partition(".")[0]] = name
    return any(_is_over(os.path.join(memory, "inbox", name)) for name in last.values())


def _is_over(path: str) -> bool:

    try:
        letter = json_of(path, 64 * 1024)
        process = letter["process"]
        if letter["event"] == "SessionEnd":
            return True
        if (
            not isinstance(process, int) or process < 1 or os.name == "nt"
        ):  # on Windows signal 0 would kill it
            return False
        from holdfast.core.processes import runs

        return not runs(process)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return False


def session_name(session: object) -> str:
    """A session's id, made safe for a file name: payloads are untrusted."""
    text = session if isinstance(session, str) else ""
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text[:64]) or "unknown"


def make_folder(path: str) -> None:
    """Creates a folder that only this user can read, unless it exists."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass


def append(path: str, line: bytes, most: int) -> None:
    """Appends a line to a file; a full one is renamed first."""
    try:
        if os.stat(path).st_size + len(line) > most:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass
    _write(path, line, _APPEND)


def _write(path: str, data: bytes, flags: int) -> None:
    descriptor = open_regular(path, flags, follow=False)
    try:
        # One write: lines of concurrent hooks stay whole.
        if os.write(descriptor, data) != len(data):
            raise OSError(f"{path}: the disk took only a part")
    finally:
        os.close(descriptor)


def replace(path: str, data: bytes) -> None:
    """Writes a file beside another and puts it in its place."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        _write(temporary, data, _NEW)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def create(path: str) -> None:
    """Creates an empty file; FileExistsError if there is one: of several hooks only one creates it."""
    os.close(open_regular(path, _NEW, follow=False))


def moment(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _now() -> str:
    return moment(time.time())


def is_first(lines: list[tuple[str, str]], call: Call, found: Place) -> bool:
    """Whether no other hook is injecting these lines into this session now. The first hook that asks injects them."""
    claim_parts = [call.text("agent_id"), call.event]
    if call.event == host_protocol.START:  # a run may end and resume in another process within a second
        claim_parts.append(str(host_protocol.process_of(call.host, os.environ)))
    claimed = "\n".join([*claim_parts, *(line for line, _ in lines)]).encode("utf-8", "replace")
    # Unlike the hash of a str, this is the same in every process, and it needs no import.
    name = f"{session_name(call.text('session_id'))}.{hash(int.from_bytes(claimed, 'big')):x}"
    folder = os.path.join(found.memory, CLAIMS)
    try:
        if not _claim(os.path.join(folder, name)):
            return False
        if call.text("source") == "compact":  # earlier lines are lost, and may be injected again at once
            _release(folder, name)
    except OSError:
        pass  # twice is better than never
    return True


def _release(folder: str, mine: str) -> None:
    for name in os.listdir(folder):
        if name.startswith(mine.partition(".")[0] + ".") and name != mine:
            os.unlink(os.path.join(folder, name))


def _claim(path: str) -> bool:
    for _ in range(3):
        try:
            create(path)
            return True
        except FileNotFoundError:
            make_folder(os.path.dirname(path))
        except FileExistsError:
            if not _cleared(path):
                break
    return False


def _cleared(path: str) -> bool:
    """Removes an expired claim. Concurrent hooks never remove a new one."""
    aside = f"{path}.{os.getpid()}"
    try:
        if _is_held(path):
            return False
        os.rename(path, aside)
        if _is_held(aside):
            os.rename(aside, path)
            return False
        os.unlink(aside)
    except FileNotFoundError:
        pass  # another hook has removed it
    return True


def _is_held(path: str) -> bool:
    return abs(time.time() - os.stat(path).st_mtime) < HELD_S


def files_told(memory: str, session: object) -> str:
    """The list of files that a session was told about, for `hooks/prefilter.py`."""
    return os.path.join(memory, SAID, session_name(session) + ".files")


def list_of_files(memory: str, session: object) -> list[bytes]:
    return (bytes_of(files_told(memory, session), MOST_LISTED + MOST_LINE) or b"").split(b"\n")


def seen(memory: str, call: Call) -> str:
    return os.path.join(memory, SEEN, f"{session_name(call.text('session_id'))}.json")


def left_by(memory: str, call: Call) -> str:
    return os.path.join(memory, SEEN, f"{session_name(call.text('session_id'))}.left")


def leave(call: Call, found: Place) -> None:
    """Records the branch and the commit that a session leaves, which its own commits have moved."""
    if call.text("session_id") and found.checkout is not None:
        make_folder(os.path.join(found.memory, SEEN))
        left = f"{found.branch()}\n{found.checkout.commit()}\n"
        replace(left_by(found.memory, call), left.encode("utf-8", "replace"))


def is_time(path: str) -> bool:
    """Whether the last check was long enough ago."""
    try:
        return not 0 <= time.time() - os.stat(path).st_mtime < REST_S
    except OSError:
        return False


def entry(call: Call, found: Place) -> dict[str, object]:
    return {
        "time": moment(call.now),
        "host": call.host,
        "event": call.event,
        "session": call.text("session_id"),
        "source": call.text("source"),
        "branch": found.branch(),
    }
