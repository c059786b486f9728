"""Where a sync goes: the transport for what a person writes as a target, loaded when it is opened."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from holdfast.core.errors import UsageError
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.sync.transport import Transport

SCHEMES = ("postgres://", "postgresql://")  # of a team's server
FORMS = (
    "a folder (/path, ~/path, ./path), ssh://[USER@]HOST[:PORT]/PATH, USER@HOST:PATH, git, git:REMOTE "
    "or postgres://[USER@]HOST[:PORT]/DATABASE"
)
_PROJECT = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_SCP = re.compile(r"((?:[^@/\s]+@)?(?:[A-Za-z0-9._-]{2,}|\[[0-9A-Fa-f:.%]+\])):([^:].*)")
_PART = r"[A-Za-z0-9_][A-Za-z0-9._%+-]*"
_ADDRESS = re.compile(rf"(?:{_PART}(?:@{_PART})?@)?(?:{_PART}|[0-9A-Fa-f:.%]*:[0-9A-Fa-f:.%]*)")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def is_server(target: str) -> bool:
    return target.startswith(SCHEMES)


def open_transport(
    machine: Machine, project: Project, target: str, project_id: str, *, may_ask: bool = False
) -> Transport:
    """The transport to a target. `may_ask` says that a person is at the terminal, for a password.

    It looks at nothing yet: a target that is away is a SyncError of the first call.
    """
    if not _PROJECT.fullmatch(project_id):
        raise UsageError("the id of the project is none", where=project_id)
    if not target or any(ord(sign) < 32 or ord(sign) == 127 for sign in target):
        raise _unknown(target)
    if target == "git" or (target.startswith("git:") and not target.startswith("git://")):
        return _git(machine, project, target.partition(":")[2] or "origin", project_id, may_ask)
    if found := _SCHEME.match(target):
        opening = _SCHEMES.get(found[1].lower())
        if opening is None:
            raise _unknown(target)
        return opening(machine, project, target, project_id, may_ask)
    if target.startswith(("/", "~", "./", "../")) or target in (".", "..") or _DRIVE.match(target):
        from holdfast.sync.folder import Folder

        return Folder(_folder(machine, target), project_id)
    if found := _SCP.fullmatch(target):
        return _ssh(found[1], "", found[2], target, project_id, machine.env, may_ask)
    raise _unknown(target)


def _unknown(target: str) -> UsageError:
    return UsageError("this is not a sync target", where=target, fix=f"Name {FORMS}")


def _folder(machine: Machine, path: str) -> Path:
    if path == "~" or path.startswith(("~/", "~\\")):
        return machine.user_home / path[2:]
    if path.startswith("~"):
        raise UsageError(
            "other users' home folders are not supported", where=path, fix="Write the whole path"
        )
    return machine.cwd / path


def _file(machine: Machine, project: Project, target: str, project_id: str, may_ask: bool) -> Transport:
    from holdfast.sync.folder import Folder

    parts = urlsplit(target)
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or not path.startswith("/"):
        raise UsageError("this is not a folder on this machine", where=target, fix="Write file:///PATH")
    return Folder(Path(path[1:] if _DRIVE.match(path[1:]) else path), project_id)


def _ssh_address(
    machine: Machine, project: Project, target: str, project_id: str, may_ask: bool
) -> Transport:
    try:
        parts = urlsplit(target)
        port = str(parts.port or "")
    except ValueError:
        raise _unknown(target) from None
    if parts.query or parts.fragment or ":" in parts.netloc.rpartition("@")[0]:
        fix = "Leave out passwords, ? and #: ssh asks for a password itself"
        raise UsageError(
            "an ssh address has a user, a host, a port and a path", where=_masked(target), fix=fix
        )
    address = parts.netloc.removesuffix(f":{port}") if port else parts.netloc.removesuffix(":")
    path = unquote(parts.path)
    home = path.removeprefix("/~/") if path.startswith("/~/") else path
    return _ssh(address, port, home, target, project_id, machine.env, may_ask)


def _ssh(
    address: str, port: str, path: str, target: str, project_id: str, env: Mapping[str, str], may_ask: bool
) -> Transport:
    from holdfast.sync.ssh import Ssh

    path = path.removeprefix("~/")
    user, at, host = address.rpartition("@")
    address = f"{user}{at}{host.removeprefix('[').removesuffix(']')}"
    if not _ADDRESS.fullmatch(address):
        raise UsageError("this is not a host name", where=target, fix="Write ssh://[USER@]HOST[:PORT]/PATH")
    if not path or path == "/" or any(ord(sign) < 32 for sign in path):
        raise UsageError("the address has no folder", where=target, fix="Add its path")
    return Ssh(address, port, path, project_id, env, may_ask=may_ask)


def _git(machine: Machine, project: Project, remote: str, project_id: str, may_ask: bool) -> Transport:
    from holdfast.sync.git_refs import GitRefs
    from holdfast.sync.git_remote import remote_of

    return GitRefs(project, remote_of(project.root, remote), project_id, machine.env, may_ask=may_ask)


def _postgres(machine: Machine, project: Project, target: str, project_id: str, may_ask: bool) -> Transport:
    from holdfast.sync.postgres import Postgres

    return Postgres(target, project_id)


def _masked(target: str) -> str:
    """An address without the password that should not be in it."""
    return re.sub(r"(://[^/:@]*:)[^/]*@", r"\1…@", target)


_SCHEMES: dict[str, Callable[[Machine, Project, str, str, bool], Transport]] = {
    "file": _file,
    "ssh": _ssh_address,
    "postgres": _postgres,
    "postgresql": _postgres,
}
