"""Cline and Roo: VS Code's global storage, one folder `tasks/<id>/` per session, three JSON files in it.

What was on screen (`ui_messages.json`) has times, tokens and costs; what was sent to the model
(`api_conversation_history.json`) has the results of calls. Both are rewritten whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.errors import TranscriptError
from holdfast.model.session import Began, Event
from holdfast.transcripts.cline_events import Screen, conversation_events
from holdfast.transcripts.cline_history import History
from holdfast.transcripts.contract import Claims, Glance, Places, ReadAnew, Warned
from holdfast.transcripts.jsonl import seconds, text_in
from holdfast.transcripts.loose import Document, Record, object_in, record, records

SCREEN = "ui_messages.json"
CONVERSATION = "api_conversation_history.json"
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (
    ".vscode-server",
    ".vscode-server-insiders",
    ".vscodium-server",
    ".cursor-server",
    ".windsurf-server",
)
_SCREEN_START = re.compile(rb'\A[\xef\xbb\xbf\s]*\[\s*\{[^{}]{0,400}?"(?:ts|type|say|ask)"\s*:')
_SCREEN_WORD = re.compile(rb'"type"\s*:\s*"(?:say|ask)"')
_CONVERSATION_START = re.compile(rb'\A[\xef\xbb\xbf\s]*\[\s*\{\s*"(?:role|ts|id)"\s*:')
_TALK = re.compile(rb'"role"\s*:\s*"(?:user|assistant)"')
_CWD = re.compile(rb"# Current (?:Working|Workspace) Directory \((.+?)\) Files")
_ROO_WORDS = (b'\\"apiProtocol\\"', b"# Current Workspace Directory", b"<slug>")
_STAMP = re.compile(rb'"ts"\s*:\s*(\d{10,14})')
_GLANCED = 256 * 1024


class TaskReading(ReadAnew):
    def __init__(self, folder: Path, claims: Claims) -> None:
        super().__init__(claims)
        self._folder = folder

    def events(self) -> Iterator[Event]:
        task = self._folder.name
        if self._claims.foreign(f"cline:{task}"):
            return  # the same folder, kept in two places
        history = History(records(self._load(CONVERSATION)))
        screen = records(self._load(SCREEN))
        item, metadata = self._side("history_item.json"), self._side("task_metadata.json")
        subtask = bool(text_in(item, "parentTaskId"))
        models = [
            (at, text_in(use, "model_id"))
            for use in records(metadata.get("model_usage"))
            if (at := seconds(use.get("ts"))) is not None
        ]
        first = next((at for entry in screen if (at := seconds(entry.get("ts"))) is not None), None)
        if screen or history.messages:
            yield Began(
                first or seconds(_number(task)),
                session=task,
                parent=text_in(item, "parentTaskId"),
                cwd=text_in(item, "workspace") or history.cwd,
                version=_version(metadata),
                provider=_provider(metadata),
            )
        walk = Screen(task, history, models, subtask)
        for message in screen:
            yield from walk.events(message)
        yield from walk.close()
        if not screen and not self._blank(SCREEN):
            yield from conversation_events(task, history, subtask)

    def _blank(self, name: str) -> bool:
        """Whether there is a file with nothing in it: a task that has not begun, not one of which half is lost."""
        path = self._folder / name
        return path.is_file() and not path.stat().st_size

    def _load(self, name: str) -> object:
        path = self._folder / name
        if not path.is_file() or self._blank(name):
            return []
        document = Document(path)
        try:
            value = document.load()
        except TranscriptError as error:
            self.warnings.append(Warned(str(path), 0, "unreadable", error.problem))
            return []
        self._size += document.size
        self.warnings += document.warnings
        return value

    def _side(self, name: str) -> Record:
        """A file that only adds to the picture; where it is missing or broken, the rest stands."""
        try:
            return object_in((self._folder / name).read_bytes())
        except OSError:
            return {}


class Cline:
    """One class for both: Roo is a fork that kept the files. `extension` is the folder of the extension."""

    appends = False
    copies = False

    def __init__(
        self, agent: str = "cline", title: str = "Cline", extension: str = "saoudrizwan.claude-dev"
    ) -> None:
        self.agent = agent
        self.title = title
        self._extension = extension

    def roots(self, places: Places) -> Iterable[Path]:
        for storage in _global_storages(places):
            yield storage / self._extension / "tasks"
        if self.agent == "cline":
            if data := places.env.get("CLINE_DATA_DIR"):
                yield Path(data) / "tasks"
            base = Path(places.env["CLINE_DIR"]) if places.env.get("CLINE_DIR") else places.home / ".cline"
            yield base / "data" / "tasks"
            yield base / "tasks"

    def candidates(self, root: Path) -> Iterable[Path]:
        for folder in sorted(
            {path.parent for name in (SCREEN, CONVERSATION) for path in root.glob(f"*/{name}")}
        ):
            screen = folder / SCREEN
            yield screen if screen.is_file() else folder / CONVERSATION

    def recognise(self, path: Path, head: bytes) -> bool:
        if not (_is_screen(head) or _is_conversation(path, head)):
            return False
        return _is_roo(path, head) == (self.agent == "roo")

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        folder = path.parent
        if _is_conversation(path, head) and (folder / SCREEN).is_file():
            return ()  # the folder is one session, and the other file stands for it
        files = [
            file.stat()
            for name in (SCREEN, CONVERSATION, "task_metadata.json")
            if (file := folder / name).is_file()
        ]
        stamp = _STAMP.search(head)
        return (
            Glance(
                cwd=_cwd_of(folder, head),
                started=seconds(int(stamp[1])) if stamp else seconds(_number(folder.name)),
                size=sum(file.st_size for file in files) or path.stat().st_size,
                changed=max((file.st_mtime_ns for file in files), default=path.stat().st_mtime_ns),
            ),
        )

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> TaskReading:
        return TaskReading(path.parent, claims)


def _is_screen(head: bytes) -> bool:
    return bool(_SCREEN_START.match(head) and _SCREEN_WORD.search(head[:8192]))


def _is_conversation(path: Path, head: bytes) -> bool:
    """Messages in a list are many programs' format: the name, or words that only these prompts have, decide."""
    if not (_CONVERSATION_START.match(head) and _TALK.search(head[:4096])):
        return False
    return path.name == CONVERSATION or b"<environment_details>" in head


def _is_roo(path: Path, head: bytes) -> bool:
    for folder in path.parts:
        if folder.startswith("rooveterinaryinc."):
            return True
        if folder.startswith("saoudrizwan.") or folder == ".cline":
            return False
    return (path.parent / "history_item.json").is_file() or any(word in head for word in _ROO_WORDS)


def _global_storages(places: Places) -> Iterator[Path]:
    home, env = places.home, places.env
    config = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    bases = [config, home / "Library" / "Application Support"]
    if roaming := env.get("APPDATA"):
        bases.append(Path(roaming))
    for base in bases:
        for editor in _EDITORS:
            yield base / editor / "User" / "globalStorage"
    for server in _SERVERS:
        yield home / server / "data" / "User" / "globalStorage"


def _cwd_of(folder: Path, head: bytes) -> str:
    try:
        if workspace := text_in(object_in((folder / "history_item.json").read_bytes()), "workspace"):
            return workspace
    except OSError:
        pass
    if found := _CWD.search(head):
        return found[1].decode("utf-8", "replace")
    try:
        with open(folder / CONVERSATION, "rb") as file:
            found = _CWD.search(file.read(_GLANCED))
    except OSError:
        return ""
    return found[1].decode("utf-8", "replace") if found else ""


def _number(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdigit() and len(name) < 15 else None


def _version(metadata: Record) -> str:
    seen = records(metadata.get("environment_history"))
    return text_in(seen[-1], "cline_version") if seen else ""


def _provider(metadata: Record) -> str:
    used = records(metadata.get("model_usage"))
    return text_in(record(used[-1]), "model_provider_id") if used else ""


CLINE = Cline()
ROO = Cline("roo", "Roo Code", "rooveterinaryinc.roo-cline")
