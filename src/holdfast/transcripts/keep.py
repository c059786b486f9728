"""Keeps redacted copies of transcripts, if the person asked for that, and reads them back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from holdfast.agent_kit.contract import BaseReader, Claims, Glance, Importer, Reading, Warned
from holdfast.agents.registry import importer_of
from holdfast.core.errors import HoldfastError
from holdfast.model.events import Began, Event
from holdfast.sessions import lookup
from holdfast.sessions.cursor import SourceCursor, SourceStamp
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.transcripts.kept import KEPT, KeptTranscript, KeptTranscripts, open_kept

DAY = 86_400
CLAUDE_DAYS = 30  # after which Claude Code deletes a transcript, unless it was told otherwise
WARNED_DAYS = 10
MB = 1_000_000


class _CountedClaims:
    """Whether another transcript counted a line, as the import decided it. Claims nothing."""

    def __init__(self, owner: Callable[[str], int | None], source: int) -> None:
        self._owner = owner
        self._source = source
        self._seen: set[str] = set()

    def repeated(self, key: str) -> bool:
        if key in self._seen:
            return True
        self._seen.add(key)
        return self.foreign(key)

    def foreign(self, key: str) -> bool:
        owner = self._owner(key)
        return owner is not None and owner != self._source


def keep_sessions(
    machine: Machine,
    project: Project,
    store: CaptureStore,
    sessions: Iterable[str],
    owner: Callable[[str], int | None],
    clean: Callable[[str], str],
) -> int:
    """Keeps the transcripts of these sessions as they are now; returns how many it wrote."""
    opened = open_kept(project.memory, make=True)
    assert opened is not None
    written = 0
    with opened as kept:
        known = {one.key: (one.size, one.mtime_ns) for one in kept.all()}
        for session in sorted(sessions):
            for cursor in store.cursors_of(session):
                stamp = (cursor.stamp.size, cursor.stamp.mtime_ns)
                if cursor.digest and known.get(cursor.path) != stamp:
                    with suppress(
                        HoldfastError, OSError
                    ):  # a file that is gone now has been kept before, or never
                        written += _keep(machine, kept, cursor, _CountedClaims(owner, cursor.id), clean)
    _let_go(machine)
    return written


def _keep(
    machine: Machine, kept: KeptTranscripts, cursor: SourceCursor, claims: Claims, clean: Callable[[str], str]
) -> bool:
    path, part = place_of(cursor.path)
    reader = importer_of(cursor.agent)
    if reader is None or not path.exists():
        return False
    events = list(reader.open(path, 0, b"", claims, part).events())
    times = [event.at for event in events if event.at is not None]
    if not times:
        return False
    cwd = next((event.cwd for event in events if isinstance(event, Began) and event.cwd), "")
    about = KeptTranscript(
        key=cursor.path,
        agent=cursor.agent,
        session=cursor.session,
        part=part,
        cwd=cwd,
        started=min(times),
        ended=max(times),
        size=cursor.stamp.size,
        mtime_ns=cursor.stamp.mtime_ns,
    )
    kept.put(about, events, clean)
    return True


def _let_go(machine: Machine) -> None:
    """Removes what may not stay, in all projects, and then the oldest copies above the cap of the machine."""
    held = [(one, path) for path in machine.home.glob(f"projects/*/{KEPT}") for one in _listed(path)]
    gone = [(one, path) for one, path in held if _may_not_stay(machine, one)]
    total = sum(one.stored for one, _ in held) - sum(one.stored for one, _ in gone)
    most = machine.settings().keep_transcripts_mb * MB
    for one, path in sorted(held, key=lambda pair: pair[0].started or 0.0):
        if total <= most:
            break
        if (one, path) not in gone:
            gone.append((one, path))
            total -= one.stored
    for path in {path for _, path in gone}:
        with suppress(HoldfastError), closing(KeptTranscripts(path)) as kept:
            kept.drop(one.key for one, place in gone if place == path)


def _listed(path: Path) -> list[KeptTranscript]:
    """The copies in a file; none if it cannot be read: `doctor` and the commands of its project say so."""
    with suppress(HoldfastError), closing(KeptTranscripts(path)) as kept:
        return kept.all()
    return []


def _may_not_stay(machine: Machine, one: KeptTranscript) -> bool:
    """Whether its directory is excluded, or it is older than the agent itself was told to keep."""
    if machine.settings().excludes(one.cwd, machine.user_home):
        return True
    days = claude_retention_days(machine) if one.agent == "claude-code" else None
    now = time.time()
    return days is not None and now - (one.ended or now) > days * DAY


def leaving_soon(machine: Machine, project: Project) -> tuple[str, ...]:
    """The sessions whose transcripts Claude Code deletes within days; none where copies are kept or a time was set."""
    if machine.settings().keep_transcripts or claude_retention_days(machine) is not None:
        return ()
    none: dict[str, tuple[SourceStamp, str]] = {}
    stamps = CaptureStore.glimpse(project.capture, CaptureStore.stamps, none)
    oldest = (time.time() - (CLAUDE_DAYS - WARNED_DAYS) * DAY) * 1e9
    folder = str(_claude_folder(machine) / "projects")
    old = {
        session: path
        for path, (stamp, session) in stamps.items()
        if path.startswith(folder) and stamp.mtime_ns < oldest and Path(path).exists()
    }
    titles: dict[str, str] = CaptureStore.glimpse(
        project.capture, lambda store: lookup.titles(store, list(old)), {}
    )
    return tuple(titles.get(session) or session for session in old)


def _claude_folder(machine: Machine) -> Path:
    folder = machine.env.get("CLAUDE_CONFIG_DIR")
    return Path(folder) if folder else machine.user_home / ".claude"


def claude_retention_days(machine: Machine) -> int | None:
    """How long Claude Code was explicitly told to keep its transcripts; None if nobody said."""
    import msgspec

    try:
        days = msgspec.json.decode((_claude_folder(machine) / "settings.json").read_bytes()).get(
            "cleanupPeriodDays"
        )
    except (OSError, msgspec.MsgspecError, AttributeError):
        return None
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else None


def place_of(key: str) -> tuple[Path, str]:
    """The file and the part of it that a source's key names: a `#` may also stand in the name of a file."""
    path = Path(key)
    if path.exists() or "#" not in key:
        return path, ""
    name, _, part = key.rpartition("#")
    return Path(name), part


class KeptReading(Reading):
    """A kept transcript, read like the agent's own file."""

    def __init__(self, kept: KeptTranscripts, about: KeptTranscript, claims: Claims) -> None:
        self._kept = kept
        self._about = about
        self._claims = claims
        self.warnings: list[Warned] = []

    def events(self) -> Iterator[Event]:
        return self._kept.events(self._about.key)

    def position(self) -> int:
        return self._about.size

    def state(self) -> bytes:
        return b""


class KeptImporter(BaseReader):
    """Stands for the agent's reader where the transcript is gone. Lines were told apart when they were kept."""

    def __init__(self, kept: KeptTranscripts, about: KeptTranscript) -> None:
        self.agent = about.agent
        self.title = about.agent
        self._kept = kept
        self._about = about
        original = importer_of(about.agent)
        self.copies = original is not None and original.copies

    def roots(self, places: object) -> Iterable[Path]:
        return ()

    def candidates(self, root: Path) -> Iterable[Path]:
        return ()

    def recognise(self, path: Path, head: bytes) -> bool:
        return False

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        return ()

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> Reading:
        return KeptReading(self._kept, self._about, claims)


_AS_IMPORTER: type[Importer] = KeptImporter
