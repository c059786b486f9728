"""`sync.json` of a memory: what a person said about its targets and its team, on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from msgspec import Struct

from holdfast.core import files
from holdfast.core.git import git_text
from holdfast.core.hashes import sha256
from holdfast.store.after_session import SYNC_SETTINGS
from holdfast.store.json_files import decode_json, encode_json
from holdfast.store.project import Project
from holdfast.store.registration import root_commits

_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
_URL = re.compile(r"[a-z+]+://(?:[^@/]*@)?([^/:]+)(?::\d+)?/(.+)", re.IGNORECASE)


class Target(Struct, kw_only=True):
    """`plain` leaves packs in the clear; with `team_only` nothing of one's own goes there."""

    plain: bool = False
    team_only: bool = False
    seen: str = ""  # what a person has agreed to send there: a digest of who can read it
    index: str = ""  # whether what they share may lie there in clear text, to be searched; '' was not asked


class Invitation(Struct, frozen=True):
    """An invitation that was given out: its secret, until when it holds, and whom it made a member."""

    secret: str
    until: float
    role: str = "member"
    used_by: str = ""


class TeamSettings(Struct, kw_only=True):
    """The team of this project. `id` is the entry that made it; the keys of who made it are known from there."""

    id: str = ""
    name: str = ""
    verify: str = ""
    seal: str = ""
    secret: str = ""  # of the invitation that this machine answered
    shared: list[str] = []
    private: list[str] = []
    ledger: bool = False
    invitations: list[Invitation] = []


class SyncSettings(Struct, kw_only=True):
    format: int = 1
    project: str = ""
    identity: str = ""
    default: str = ""
    after_session: bool = False
    targets: dict[str, Target] = {}
    team: TeamSettings | None = None
    trusted: dict[str, float] = {}
    declined: dict[str, float] = {}


def read_settings(project: Project) -> SyncSettings:
    path = project.memory / SYNC_SETTINGS
    return decode_json(files.read(path), SyncSettings, path, "Correct it, or delete it and set sync up again")


def change_settings(project: Project, change: Callable[[SyncSettings], None]) -> SyncSettings:
    path = project.memory / SYNC_SETTINGS
    with files.lock(project.lock("sync-settings")) as held:
        settings = read_settings(project)
        change(settings)
        files.replace_held(held, path, encode_json(settings), files.ANYTHING)
        os.chmod(path, 0o600)
    return settings


# --- which project this is, on every machine -----------------------------------------------------------------


def identity_of(project: Project) -> str:
    """What is the same on every machine: the root commit and the remote; outside git the folder's name."""
    roots = root_commits(str(project.root))
    remote = normal_remote(git_text(project.root, "config", "--get", "remote.origin.url").strip())
    if roots:
        return f"{remote or 'no remote'} {roots[0][:12]}"
    return remote or f"folder {project.title}"


def normal_remote(url: str) -> str:
    """The same for every way to write the address of a repository."""
    match = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if match is None:
        return ""
    return f"{match[1].lower()}/{match[2].strip('/').removesuffix('.git').lower()}"


def project_id(identity: str) -> str:
    return sha256(f"holdfast project {identity}".encode()).hexdigest()[:16]
