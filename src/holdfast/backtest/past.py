"""A scratch memory that is told of sessions in the order in which they ended, and a clock that stands in the past."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from holdfast.backtest.checkout import PastCheckout
from holdfast.backtest.scratch import make
from holdfast.backtest.sessions import PastStore
from holdfast.briefing.prepare import prepare
from holdfast.core.place import Place
from holdfast.core.reuse import Reuse
from holdfast.flows.remember import remember
from holdfast.model.events import DistilledSession
from holdfast.sessions.cursor import SourceCursor
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import enable

RENEWED_AFTER = 100  # sessions; lessons and file pointers lag by one in so many
_DAY_S = 86_400.0


class Relocation:
    """Where sessions worked, mapped to the scratch work tree: the project's own work trees, else each one's folder."""

    def __init__(self, root: Path, own: Iterable[Path], folders: Mapping[str, int]) -> None:
        self._root = str(root)
        tops = [str(top) for top in own]
        counts = Counter({_plain(folder): count for folder, count in folders.items() if folder})
        for folder, count in counts.items():
            if not any(_is_below(folder, top) for top in tops):
                above = (top for top, often in counts.items() if often >= count and _is_below(folder, top))
                tops.append(min(above, key=len))
        longest = sorted({top for top in tops if len(top) > 1}, key=len, reverse=True)
        inside = "|".join(re.escape(top) for top in longest)
        # Not the beginning of another name: `/work/shop` is not `/work/shop2`.
        self._top = re.compile(rf"(?<![\w.-])(?:{inside})(?![\w.-]*[\w-])") if longest else None

    def text(self, text: str) -> str:
        return text if self._top is None else self._top.sub(lambda _: self._root, text)

    def record(self, record: DistilledSession) -> DistilledSession:
        encoded = msgspec.json.encode(record).decode()
        moved = self.text(encoded)
        return record if moved == encoded else msgspec.json.decode(moved, type=DistilledSession)


def _plain(folder: str) -> str:
    return folder.rstrip("/\\") or folder


def _is_below(folder: str, top: str) -> bool:
    return folder == top or folder.startswith((f"{top}/", f"{top}\\"))


class Past:
    """The memory of one project at a moment that only moves forward. Everything is written below `folder`."""

    def __init__(
        self,
        folder: Path,
        name: str,
        real: Path | None,
        env: Mapping[str, str],
        begins: float,
        reuse: Reuse,
    ) -> None:
        self._at = begins
        root = folder / name
        self.checkout = PastCheckout(real, root) if real is not None else None
        if self.checkout is not None and not self.checkout.is_there:
            self.checkout = None
        make(root)
        home = make(folder / "home")
        kept = {key: value for key, value in env.items() if key in ("PATH", "TZ", "LANG", "LC_ALL")}
        self.machine = Machine(env={**kept, "HOME": str(home)}, cwd=root)
        self.machine.now = lambda: datetime.fromtimestamp(self._at, UTC)
        self.project: Project = self.machine.project()
        enable(self.project)
        self._reuse = reuse
        CaptureStore(self.project.capture).close()  # makes the file, which `kept_open` needs
        self._opened = ExitStack()
        # Only one store can be shared: the memory that is asked first opens first.
        shared = self._opened.enter_context(PastStore.kept_open(self.project.capture))
        self._store = shared or self._opened.enter_context(closing(CaptureStore(self.project.capture)))
        self.sessions: list[DistilledSession] = []
        self._behind = 0
        self._prepared = 0.0
        self._is_stale = True

    @property
    def at(self) -> float:
        return self._at

    def learn(self, ended: Sequence[tuple[DistilledSession, Sequence[SourceCursor]]], at: float) -> None:
        """Takes in sessions that had ended by a moment, as an import at that moment would."""
        if not ended:
            return
        self._at = max(self._at, at)
        with self._store.transaction():
            for record, cursors in ended:
                self._store.put_record(record)
                for cursor in cursors:
                    self._store.put(cursor)
        records = [record for record, _ in ended]
        self.sessions += records
        self._reuse.changed()
        self._behind += len(records)
        is_due = self._behind > len(self.sessions) // RENEWED_AFTER
        if is_due:
            self._reuse.renew()
            self._behind = 0
        remember(self.machine, self.project, records, learns=is_due)
        self._is_stale = True

    def prepare(self, at: float, branch: str) -> Place:
        """Prepares what hooks read, as of a moment, on a branch."""
        self._at = max(self._at, at)
        moved = self.checkout.at(at, branch) if self.checkout is not None else False
        if moved:
            self._reuse.changed()
            self._reuse.renew()
        # A new day prepares again, because lines say how old they are.
        if moved or self._is_stale or int(at // _DAY_S) != int(self._prepared // _DAY_S):
            prepare(self.machine, self.project, resumes=False)
            self._prepared, self._is_stale = at, False
        return self.place(branch)

    def place(self, branch: str) -> Place:
        found = self.project.place()
        assert found is not None  # `enable` has registered it
        return _OnBranch(found, branch)

    def close(self) -> None:
        self._opened.close()


class _OnBranch(Place):
    """A place on the branch that a session was on, also where there is no checkout."""

    def __init__(self, found: Place, branch: str) -> None:
        super().__init__(found.root, found.memory, found.identity_file, found.checkout)
        self._branch = branch

    def branch(self) -> str:
        return self._branch
