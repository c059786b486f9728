"""Turns what ssh and git print when they fail into one line: what is wrong, and what to do."""

from __future__ import annotations

import re

from holdfast.guard.hidden_text import visible
from holdfast.sync.transport import SyncError

_LONGEST = 200
_LATER = "Nothing is lost; run holdfast sync again later"
_SPACE = "Free some space there; nothing here is lost"

# The first that fits says why: what is most specific comes first.
_CAUSES = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed",
        "the key of this host has changed",
        "Find out why before you connect: it may be another machine. Then run ssh-keygen -R HOST, and ssh HOST once",
    ),
    (
        r"Host key verification failed|No .* host key is known",
        "the key of this host is unknown",
        "Connect once with ssh and accept the key, then run holdfast sync again",
    ),
    (
        r"Could not resolve host|Name or service not known|nodename nor servname|Temporary failure in name",
        "no host with this name",
        "Check the name and the network",
    ),
    (
        r"Connection refused|No route to host|Network is unreachable|Host is down|Failed to connect"
        r"|Couldn't connect to server|unable to connect",
        "the host cannot be reached",
        _LATER,
    ),
    (r"timed out|Timeout", "the host does not answer", _LATER),
    (
        r"transport '[^']*' not allowed|Unsupported protocol|Unable to find remote helper",
        "holdfast does not support this kind of remote address",
        "Use https, ssh, git or a path",
    ),
    (r"No space left on device|Disk quota exceeded|out of disk", "there is no room left", _SPACE),
    (r"Read-only file system", "it cannot be written: the file system is read-only", _LATER),
    (
        r"deny updating a hidden ref|hidden ref|funny refname",
        "the remote refuses refs outside branches and tags",
        "Sync through a folder or ssh, or ask the remote's administrator to allow refs/holdfast/",
    ),
    (
        r"hook declined|protected|prohibited|GH0|remote rejected\] \((?!.*(?:lock|fetch first|stale))",
        "the remote refuses what holdfast pushes",
        "Sync through a folder or ssh, or ask the remote's administrator to allow refs/holdfast/",
    ),
    (
        r"Permission denied \(|Too many authentication failures|no matching host key|Authentication failed"
        r"|could not read (?:Username|Password)|terminal prompts disabled|\b40[13]\b|access denied|not authori[sz]ed",
        "access denied",
        "Check your key or password: ssh or git must be able to log in without holdfast too",
    ),
    (
        r"does not appear to be a git repository|[Rr]epository .*not found|not found: did you run"
        r"|repository '.*' (?:does not exist|not found)|No such repository|not exported",
        "there is no such repository, or you have no access to it",
        "Check the address with git remote -v",
    ),
    (r"dubious ownership", "git does not trust the owner of this repository", "See git's safe.directory"),
    (r"Permission denied|Operation not permitted|insufficient permission", "permission denied", "Check who owns it"),
    (
        r"Connection (?:closed|reset|to .* closed)|Broken pipe|hung up|early EOF|unexpected disconnect"
        r"|RPC failed|EOF|invalid index-pack output|curl \d+|premature|bad pack header|pack has bad|inflate",
        "the connection was cut",
        "Nothing is lost; run holdfast sync again",
    ),
    (r"command not found|not found", "a program is missing there", "holdfast needs sh and tar on that machine"),
)  # fmt: skip


def cause_of(complaint: str, where: str, fallback: str) -> SyncError:
    """The error for what a program printed; its own last line where none of the known causes fits."""
    for pattern, problem, fix in _CAUSES:
        if found := re.search(pattern, complaint, re.IGNORECASE):
            line = next(line for line in complaint[found.start() :].splitlines() if line.strip())
            return SyncError(f"{problem} ({shown(line)})", where=where, fix=fix)
    lines = [line for line in complaint.splitlines() if line.strip()]
    if not lines:
        return SyncError(fallback, where=where, fix=_LATER)
    return SyncError(f"{fallback} ({shown(lines[-1])})", where=where, fix=_LATER)


def too_quiet(where: str) -> SyncError:
    return SyncError("the other side stopped answering", where=where, fix=_LATER)


def shown(line: str) -> str:
    """A line from elsewhere, fit to be printed."""
    text = visible(" ".join(line.split())).rstrip(".")
    if text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1]  # the line began before what was found in it
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
