"""Cursor's own database, `state.vscdb`: conversations under `composerData:<id>`, messages under `bubbleId:<id>:<…>`.

The window's folder is named by the conversation, or found through the workspaces that list it. Other keys hold
access tokens and are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Raw, Struct

from holdfast.agent_kit.contract import Glance
from holdfast.agent_kit.jsonl import ANYTHING, decoded, seconds, text_in
from holdfast.agent_kit.loose import object_in, record, records
from holdfast.agent_kit.sqlite_source import Database, opened
from holdfast.core.errors import TranscriptError

TABLES = {"cursorDiskKV": {"key", "value"}}
_PREFIX = "composerData:"


class TokenCount(Struct):
    inputTokens: int | None = None
    outputTokens: int | None = None


class Bubble(Struct):
    """One message: of a person (1) or of the agent (2), the latter with at most one call of a tool."""

    bubbleId: str | None = None
    type: int | None = None
    text: str | None = None
    createdAt: Raw = Raw(b"")
    timingInfo: Raw = Raw(b"")
    tokenCount: TokenCount | None = None
    toolFormerData: Raw = Raw(b"")
    isThought: bool | None = None
    errorDetails: Raw = Raw(b"")


class Composer(Struct):
    composerId: str | None = None
    createdAt: Raw = Raw(b"")
    lastUpdatedAt: Raw = Raw(b"")
    createdOnBranch: str | None = None
    name: str | None = None
    status: str | None = None
    modelConfig: Raw = Raw(b"")
    workspaceIdentifier: Raw = Raw(b"")
    subagentInfo: Raw = Raw(b"")
    todos: Raw = Raw(b"")
    fullConversationHeadersOnly: list[Bubble] | None = None
    conversation: list[Bubble] | None = None

    @property
    def started(self) -> float | None:
        return moment(self.createdAt)

    @property
    def changed(self) -> float | None:
        return moment(self.lastUpdatedAt) or self.started

    @property
    def messages(self) -> int:
        return len(self.fullConversationHeadersOnly or self.conversation or ())


_composers = msgspec.json.Decoder(Composer)
_bubbles = msgspec.json.Decoder(Bubble)


def moment(raw: Raw) -> float | None:
    """A time as Cursor writes it: milliseconds or ISO text."""
    return seconds(decoded(ANYTHING, raw, None)) if bytes(raw) else None


def conversations(path: Path) -> Iterator[Glance]:
    """Those with messages; a composer that was opened and closed again is no session."""
    folders: dict[str, str] | None = None
    with opened(path) as database:
        rows = database.rows(
            "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ?", _PREFIX, "composerData;"
        )
    for row in rows:
        composer = _composer(row["value"])
        identity = str(row["key"]).removeprefix(_PREFIX)
        if composer is None or not composer.messages:
            continue
        folder = named_folder(composer)
        if not folder:
            folders = _listed(path) if folders is None else folders
            folder = folders.get(identity) or folders.get(
                text_in(object_in(composer.workspaceIdentifier), "id"), ""
            )
        changed = composer.changed
        size = len(row["value"])
        yield Glance(folder, composer.started, identity, size, round(changed * 1000) if changed else 0)


def conversation(path: Path, identity: str) -> tuple[Composer, str, list[Bubble]]:
    """One conversation with its folder and its messages in order."""
    with opened(path) as database:
        rows = database.rows("SELECT value FROM cursorDiskKV WHERE key = ?", _PREFIX + identity)
        composer = _composer(rows[0]["value"]) if rows else None
        if composer is None:
            raise TranscriptError(
                "the conversation is not there any more", where=f"{path}#{identity}", fix="Import again"
            )
        bubbles = composer.conversation or _stored_bubbles(database, identity, composer)
    folders = {} if (folder := named_folder(composer)) else _listed(path)
    workspace = text_in(object_in(composer.workspaceIdentifier), "id")
    return composer, folder or folders.get(identity) or folders.get(workspace, ""), bubbles


def named_folder(composer: Composer) -> str:
    """The folder that the conversation itself names."""
    uri = record(object_in(composer.workspaceIdentifier), "uri")
    return text_in(uri, "fsPath", "path")


def _stored_bubbles(database: Database, identity: str, composer: Composer) -> list[Bubble]:
    start = f"bubbleId:{identity}:"
    rows = database.rows(
        "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ?", start, start[:-1] + ";"
    )
    values = {str(row["key"]).removeprefix(start): row["value"] for row in rows}
    ordered: list[Bubble] = []
    for header in composer.fullConversationHeadersOnly or ():
        value = values.get(header.bubbleId or "")
        if value is not None:
            bubble = decoded(_bubbles, Raw(_bytes(value)), Bubble())
            bubble.bubbleId, bubble.type = header.bubbleId, bubble.type or header.type
            ordered.append(bubble)
    return ordered


def _composer(value: object) -> Composer | None:
    raw = _bytes(value)
    return decoded(_composers, Raw(raw), Composer()) if raw.startswith(b"{") else None


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "replace") if isinstance(value, str) else b""


def _listed(path: Path) -> dict[str, str]:
    """Folders by workspace id and by the conversations that each workspace lists."""
    folders: dict[str, str] = {}
    for workspace in path.parent.parent.glob("workspaceStorage/*/workspace.json"):
        try:
            folder = _local(text_in(object_in(Raw(workspace.read_bytes())), "folder"))
        except OSError:
            continue
        if folder:
            folders[workspace.parent.name] = folder
            folders.update(dict.fromkeys(_members(workspace.with_name("state.vscdb")), folder))
    return folders


def _members(path: Path) -> list[str]:
    try:
        with opened(path) as database:
            rows = database.rows("SELECT value FROM ItemTable WHERE key = 'composer.composerData'")
    except TranscriptError:
        return []  # a workspace that cannot be asked leaves the folder unknown, nothing more
    listed = object_in(Raw(_bytes(rows[0]["value"]))) if rows else {}
    return [
        identity for item in records(listed.get("allComposers")) if (identity := text_in(item, "composerId"))
    ]


def _local(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme != "file":
        return ""
    path = unquote(parts.path)
    return path[1:] if len(path) > 2 and path[2] == ":" else path  # /c:/Users/… on Windows
