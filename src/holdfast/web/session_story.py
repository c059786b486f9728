"""One session as its screen tells it: turns with their calls in groups, and what memory told it, judged.

Reading a long transcript takes a while, so the last few stories are kept until one of their files changes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import TypeVar

from msgspec import Struct, field

from holdfast.backtest.injected import InjectedMoment, judged, walk_of, without_steps
from holdfast.backtest.walk import Notebook
from holdfast.briefing.explain import injections
from holdfast.core.wording import counted
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.transcripts.as_text import changed, duration, failed_how
from holdfast.transcripts.find import Recorded, events_of
from holdfast.transcripts.keep import place_of
from holdfast.transcripts.scenes import is_gone, scenes_of
from holdfast.transcripts.story import Answer, Call, Edit, Note, Prompt, Scene, Sum, Told

T = TypeVar("T")
MOST_KEPT = 4
MOST_JUDGED = 64
MOST_ON_PAGE = 240  # scenes; a longer session has pages
MOST_IN_GROUP = 60
_FEW = 12  # calls in a row that need no fold
_VERBS = {
    "shell": "ran",
    "read": "read",
    "search": "searched",
    "web": "web",
    "edit": "edited",
    "agent": "subagent",
}


class Row(Struct, frozen=True):
    """A call or an edit as one line, with what is folded under it."""

    mark: str
    tone: str
    name: str
    target: str
    margin: str = ""
    result: str = ""
    diff: str = ""
    left_out: int = 0


class Item(Struct):
    """A part of a turn: `kind` says which of the fields it has."""

    kind: str  # answer, calls, note, told
    at: float | None = None
    text: str = ""
    failure: bool = False
    rows: list[Row] = field(default_factory=list)
    summary: str = ""
    failed: int = 0
    moment: InjectedMoment | None = None

    @property
    def folded(self) -> bool:
        return len(self.rows) > _FEW


class Turn(Struct):
    """A prompt and what followed. `continued` is the rest of a long one on the next page."""

    number: int
    prompt: Prompt | None
    items: list[Item] = field(default_factory=list)
    sum: Sum | None = None
    continued: bool = False

    @property
    def size(self) -> int:
        return 1 + sum(max(len(item.rows), 1) for item in self.items)


class Story(Struct, frozen=True):
    pages: Sequence[Sequence[Turn]]
    prompts: int
    moments: Sequence[InjectedMoment]
    sums: Sequence[Sum]
    gone: bool

    def page_of(self, prompt: int) -> int:
        found = (n for n, page in enumerate(self.pages, 1) for turn in page if turn.number == prompt)
        return next(found, 1)


Key = tuple[Path, str]  # a project's memory, and a session
_kept: OrderedDict[Key, tuple[object, Story]] = OrderedDict()
_judged: OrderedDict[Key, tuple[object, Sequence[InjectedMoment]]] = OrderedDict()
_lock = Lock()
_reading = Lock()  # one transcript at a time: a page asks for several at once, right after the start


def story_of(machine: Machine, project: Project, found: Recorded) -> Story:
    def read() -> Story:
        return _read(machine, project, found)

    return _remembered(_kept, MOST_KEPT, project, found, read)


def moments_of(machine: Machine, project: Project, found: Recorded) -> Sequence[InjectedMoment]:
    """What memory told a session, judged: the steps are read, and nothing else of the transcript."""

    def read() -> Sequence[InjectedMoment]:
        entries = [entry for entry in injections(project) if entry.session == found.session and entry.lines]
        if not entries:
            return ()
        walk = walk_of(events_of(project, found))
        return judged(walk, project.root, found.session, entries) if walk.steps else without_steps(entries)

    return _remembered(_judged, MOST_JUDGED, project, found, read)


def _remembered(
    kept: OrderedDict[Key, tuple[object, T]],
    most: int,
    project: Project,
    found: Recorded,
    read: Callable[[], T],
) -> T:
    key, stamp = (project.memory, found.session), _stamp(project, found)
    with _lock:
        known = kept.get(key)
        if known is not None and known[0] == stamp:
            kept.move_to_end(key)
            return known[1]
    with _reading:
        value = read()
    with _lock:
        kept[key] = stamp, value
        while len(kept) > most:
            kept.popitem(last=False)
    return value


def _stamp(project: Project, found: Recorded) -> object:
    paths = [place_of(key)[0] for _, key in found.sources]
    paths += [
        project.memory / name
        for name in ("why.jsonl", "kept.db", "capture.db", "capture.db-wal", "denied.json")
    ]
    return tuple(_stat(path) for path in paths)


def _stat(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def _read(machine: Machine, project: Project, found: Recorded) -> Story:
    notebook = Notebook()
    scenes = list(scenes_of(machine, project, found, results=True, follow=notebook.follow))
    entries = [entry for entry in injections(project) if entry.session == found.session]
    gone = is_gone(project, found)
    walk = notebook.walk
    moments = judged(walk, project.root, found.session, entries) if walk.steps else without_steps(entries)
    turns = _turns(scenes, moments)
    return Story(
        pages=_pages(turns),
        prompts=sum(isinstance(scene, Prompt) for scene in scenes),
        moments=moments,
        sums=[scene for scene in scenes if isinstance(scene, Sum)],
        gone=gone,
    )


def _turns(scenes: Iterable[Scene], moments: Sequence[InjectedMoment]) -> list[Turn]:
    told = {(moment.at, moment.entry.tokens): moment for moment in moments}
    turns: list[Turn] = []
    for scene in scenes:
        if isinstance(scene, Prompt):
            turns.append(Turn(scene.number, scene))
            continue
        if not turns:
            turns.append(Turn(0, None))
        turn = turns[-1]
        if isinstance(scene, Sum):
            turn.sum = scene
        elif isinstance(scene, Call | Edit):
            last = turn.items[-1] if turn.items else None
            if last is None or last.kind != "calls" or len(last.rows) >= MOST_IN_GROUP:
                last = Item("calls", scene.at)
                turn.items.append(last)
            last.rows.append(_row(scene))
        elif isinstance(scene, Told):
            moment = told.get((scene.at, scene.tokens))
            turn.items.append(Item("told", scene.at, "\n".join(scene.lines), moment=moment))
        elif isinstance(scene, Answer):
            if scene.text.strip():
                turn.items.append(Item("answer", scene.at, scene.text))
        elif isinstance(scene, Note):
            turn.items.append(Item("note", scene.at, scene.text, scene.failure))
    for turn in turns:
        for item in turn.items:
            if item.kind == "calls":
                item.failed = sum(row.tone == "bad" for row in item.rows)
                item.summary = _summary(item.rows)
    return turns


def _row(scene: Call | Edit) -> Row:
    tone = {True: "good", False: "bad", None: "plain"}[scene.ok]
    mark = {True: "✓", False: "✗", None: "·"}[scene.ok]
    if isinstance(scene, Edit):
        return Row(
            mark="✗" if scene.ok is False else "✎",
            tone="bad" if scene.ok is False else "good",
            name="edited",
            target=scene.path,
            margin="failed" if scene.ok is False else changed(scene).strip(),
            result=scene.result,
            diff="\n".join(scene.diff),
            left_out=scene.left_out,
        )
    name = "$" if scene.action == "shell" else _VERBS.get(scene.action, scene.tool)
    margin = " · ".join(filter(None, (failed_how(scene), duration(scene.seconds))))
    target = " ".join(scene.target.split())
    return Row(mark, "plain" if scene.rejected else tone, name, target, margin, scene.result)


def _summary(rows: Sequence[Row]) -> str:
    names = Counter("ran" if row.name == "$" else row.name for row in rows)
    parts = [f"{count} {name}" for name, count in names.most_common(4)]
    return f"{counted(len(rows), 'call')}: {', '.join(parts)}{', …' if len(names) > 4 else ''}"


def _pages(turns: Sequence[Turn]) -> list[list[Turn]]:
    pages: list[list[Turn]] = [[]]
    room = MOST_ON_PAGE
    for turn in turns:
        for part in _parts(turn):
            if part.size > room and pages[-1]:
                pages.append([])
                room = MOST_ON_PAGE
            pages[-1].append(part)
            room -= part.size
    return pages


def _parts(turn: Turn) -> list[Turn]:
    """A turn that is longer than a page, in parts that fit."""
    if turn.size <= MOST_ON_PAGE:
        return [turn]
    parts = [Turn(turn.number, turn.prompt)]
    for item in turn.items:
        if parts[-1].items and parts[-1].size + max(len(item.rows), 1) > MOST_ON_PAGE:
            parts.append(Turn(turn.number, None, continued=True))
        parts[-1].items.append(item)
    parts[-1].sum = turn.sum
    return parts
