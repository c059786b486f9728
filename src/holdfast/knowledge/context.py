"""Sources of live context: their interface, loading them in parallel, and the changes between two loads.

A source that fails or takes too long gives an error; its last report stays.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from threading import Thread

    # The report of a source: named texts in order. Empty: nothing to report.
    Value = dict[str, str]

REST_S = 300.0  # a slow source is not loaded again for this long, unless a person asks
LONGEST_LINE = 300
FORMAT = 1
LIMIT_S = 5.0
MOST_NAMES = 60
LONGEST_TEXT = 32_000
LONGEST_VALUE = 250_000
ADDED, UPDATED, REMOVED = "added", "updated", "removed"


class Here:
    """The place and time that sources report on; they read neither the clock nor the environment themselves."""

    __slots__ = ("cwd", "env", "home", "knowledge", "memory", "now", "root")

    def __init__(
        self,
        *,
        cwd: str,
        root: str,
        home: str,
        now: float,
        env: Mapping[str, str],
        memory: str = "",
        knowledge: Callable[[], object] | None = None,
    ) -> None:
        self.cwd = cwd
        self.root = root  # the top of the work tree, or the directory outside git
        self.home = home
        self.now = now
        self.env = env
        self.memory = memory  # the project's memory; '' if nothing was ever stored
        self.knowledge = knowledge  # reads the stored knowledge about the repository, on demand


class ContextSource:
    """One kind of context. A source defines `key` and `load`; the other methods have defaults."""

    key = ""
    rest = 0.0
    whole = True  # whether the last `load` was complete; if not, the next one ignores the stamp

    def stamp(self, here: Here) -> str:
        """A cheap value that changes when the result of `load` would change. '' is never equal."""
        return ""

    def load(self, here: Here) -> Value:
        raise NotImplementedError

    def summary(self, value: Value) -> str:
        """The value in one line."""
        return "; ".join(f"{name} {text}" if text else name for name, text in value.items())

    def render(self, value: Value) -> str:
        """The whole value."""
        return "\n".join(f"{name}: {text}" for name, text in value.items())

    def render_update(self, old: Value, new: Value) -> str:
        """The changes in one line."""
        return "; ".join(differences(old, new))

    def render_removal(self, old: Value) -> str:
        """The removal in one line."""
        return f"gone: {self.summary(old)}"


def differences(old: Value, new: Value) -> list[str]:
    """`name: was → is` for each text that differs."""
    changes = []
    for name in [*new, *(name for name in old if name not in new)]:
        was, now = old.get(name, ""), new.get(name, "")
        if was != now:
            changes.append(f"{name}: {one_line(was, 80) or 'none'} → {one_line(now, 80) or 'none'}")
    return changes


def one_line(text: str, limit: int = LONGEST_LINE) -> str:
    flat = " ".join(text[: 4 * limit].split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class ContextEntry:
    """The value of one source, the stamp it is valid for, and when it was loaded."""

    __slots__ = ("at", "stamp", "value")

    def __init__(self, value: Value, stamp: str = "", at: float = 0.0) -> None:
        self.value = value
        self.stamp = stamp
        self.at = at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ContextEntry) and (self.value, self.stamp) == (other.value, other.stamp)

    __hash__ = None  # type: ignore[assignment]


class Snapshot:
    """The entries of one directory, including those of sources with nothing to report."""

    __slots__ = ("at", "entries", "place")

    def __init__(self, place: str, at: float, entries: dict[str, ContextEntry]) -> None:
        self.place = place
        self.at = at
        self.entries = entries


def file_name(place: str) -> str:
    """The snapshot file of a directory: worktrees share a memory, so each directory has its own file."""
    from binascii import crc32

    return f"context-{crc32(place.encode('utf-8', 'surrogatepass')):08x}.json"


def encode(snapshot: Snapshot) -> bytes:
    import json

    entries = {
        key: {"value": entry.value, "stamp": entry.stamp, "at": entry.at}
        for key, entry in snapshot.entries.items()
    }
    document = {"format": FORMAT, "place": snapshot.place, "at": snapshot.at, "entries": entries}
    return json.dumps(document, separators=(",", ":")).encode()


def decode(data: bytes, place: str) -> Snapshot | None:
    """The snapshot; None for anything that is not a snapshot of this place. It is derived, and will be rebuilt."""
    import json

    try:
        document = json.loads(data)
        if document["format"] != FORMAT or document["place"] != place:
            return None
        entries = {str(key): _entry(entry) for key, entry in document["entries"].items()}
        return Snapshot(place, float(document["at"]), entries)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _entry(kept: dict[str, object]) -> ContextEntry:
    value, at = kept["value"], kept["at"]
    if not isinstance(at, float | int) or not isinstance(value, dict) or {*map(type, value.values())} - {str}:
        raise TypeError("no entry")
    return ContextEntry(value, str(kept["stamp"]), float(at))


class ContextChange:
    """One source's context was added, updated or removed; `text` is the source's own line about it."""

    __slots__ = ("key", "kind", "text", "value")

    def __init__(self, kind: str, key: str, text: str, value: Value | None) -> None:
        self.kind = kind
        self.key = key
        self.text = text
        self.value = value  # the new value; None if it was removed


class Loaded:
    """The current values of all sources, in their order, and the errors of those that failed."""

    __slots__ = ("entries", "errors")

    def __init__(self, entries: dict[str, ContextEntry], errors: dict[str, str]) -> None:
        self.entries = entries
        self.errors = errors


class Registry:
    """Sources by key, in the order in which they were registered."""

    def __init__(self, sources: Iterable[ContextSource] = ()) -> None:
        self._sources: dict[str, ContextSource] = {}
        self._busy: dict[str, Thread] = {}
        self._loaded_at: dict[str, float] = {}  # by the monotonic clock
        for source in sources:
            self.register(source)

    def register(self, source: ContextSource) -> None:
        key = source.key
        if not key or not key.isascii() or not key.replace("/", "").replace("-", "").isalnum():
            raise ValueError(f"a source's key is letters, digits, - and /, not {key!r}")
        if key in self._sources:
            raise ValueError(f"there is a source {key!r} already")
        self._sources[key] = source

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._sources)

    def source(self, key: str) -> ContextSource:
        return self._sources[key]

    def load_all(
        self,
        here: Here,
        previous: Snapshot | None = None,
        *,
        clean: Callable[[str], str] | None = None,
        limit: float = LIMIT_S,
        patient: bool = False,
    ) -> Loaded:
        """Loads all sources in parallel. `patient`: no person asked, so slow sources are not loaded too often."""
        from threading import Thread

        old_entries = previous.entries if previous else {}
        # An entry or an error. A thread that finishes too late appends to a list that is no longer read.
        answers: dict[str, list[ContextEntry | str]] = {key: [] for key in self._sources}
        threads: dict[str, Thread] = {}
        deadline = time.monotonic() + limit
        for key, source in self._sources.items():
            old_entry = old_entries.get(key)
            if patient and old_entry is not None and self._rests(source, old_entry, here.now):
                answers[key] = [old_entry]
            elif (busy := self._busy.get(key)) is not None and busy.is_alive():
                answers[key] = ["is still busy from the last time"]
            else:
                threads[key] = Thread(target=_ask, args=(source, here, old_entry, answers[key]), daemon=True)
                threads[key].start()
        for key, thread in threads.items():
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                self._busy[key] = thread
                answers[key] = [f"took longer than {limit:g} s"]
            else:
                self._busy.pop(key, None)
        return self._gathered(answers, old_entries, clean)

    def _gathered(
        self,
        answers: Mapping[str, list[ContextEntry | str]],
        before: Mapping[str, ContextEntry],
        clean: Callable[[str], str] | None,
    ) -> Loaded:
        entries: dict[str, ContextEntry] = {}
        errors: dict[str, str] = {}
        for key, entry_answers in answers.items():
            old_entry = before.get(key)
            answer: ContextEntry | str | None = entry_answers[0] if entry_answers else "gave no answer"
            if isinstance(answer, str):
                errors[key] = clean(one_line(answer)) if clean is not None else one_line(answer)
                answer = old_entry
            elif answer is not None and answer is not old_entry:
                self._loaded_at[key] = time.monotonic()
                if clean is not None:
                    answer = ContextEntry(_cleaned(answer.value, clean, old_entry), answer.stamp, answer.at)
            if answer is not None:
                entries[key] = answer
        return Loaded(entries, errors)

    def _rests(self, source: ContextSource, known: ContextEntry, now: float) -> bool:
        if key_at := self._loaded_at.get(source.key):
            return time.monotonic() - key_at < source.rest
        return 0 <= now - known.at < source.rest  # a clock that was set back must not prevent a refresh

    def reconcile(self, previous: Snapshot | None, loaded: Loaded) -> list[ContextChange]:
        """The changes, in the order of the sources; those of unregistered sources come last."""
        old_entries = previous.entries if previous else {}
        old_values = {key: entry.value for key, entry in old_entries.items() if entry.value}
        changes: list[ContextChange] = []
        for key, source in self._sources.items():
            entry, old = loaded.entries.get(key), old_values.get(key)
            new = entry.value if entry else None
            if new and old is None:
                changes.append(ContextChange(ADDED, key, _said(source.summary, new), new))
            elif new and old is not None and new != old:
                changes.append(ContextChange(UPDATED, key, _said(source.render_update, old, new), new))
            elif not new and old is not None:
                changes.append(ContextChange(REMOVED, key, _said(source.render_removal, old), None))
        for key in sorted(set(old_values) - set(self._sources)):
            changes.append(ContextChange(REMOVED, key, "no longer a source", None))
        return changes


def _ask(
    source: ContextSource, here: Here, known: ContextEntry | None, answer: list[ContextEntry | str]
) -> None:
    """Runs in its own thread, so that a failing source does not affect the others."""
    try:
        stamp = source.stamp(here)
        if not isinstance(stamp, str):
            raise TypeError(f"its stamp is of type {type(stamp).__name__}")
        stamp = _hashed(stamp)
        if known is not None and stamp and stamp == known.stamp:
            answer.append(known)
        else:
            value = _checked(source.load(here))
            answer.append(ContextEntry(value, stamp if source.whole else "", here.now))
    except BaseException as error:
        text = str(error) if isinstance(error, OSError | TypeError) else f"{type(error).__name__}: {error}"
        answer.append(text or type(error).__name__)


def _hashed(stamp: str) -> str:
    """Hashes a stamp: stamps are stored, and may contain uncleaned names of branches and files."""
    from holdfast.core.hashes import blake2b

    return blake2b(stamp.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() if stamp else ""


def _checked(value: object) -> Value:
    """The value of a source, cut to the limits. Raises TypeError if it is not a dict of texts."""
    if not isinstance(value, dict):
        raise TypeError(f"gave {type(value).__name__} where named texts belong")
    texts: Value = {}
    room = LONGEST_VALUE
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError("gave something that is not text")
        if len(texts) == MOST_NAMES or room <= 0:
            texts["…"] = f"{len(value) - len(texts)} more are left out"
            break
        limit = min(LONGEST_TEXT, room)
        texts[one_line(name)] = text if len(text) <= limit else text[:limit] + "\n… (the rest is left out)"
        room -= len(text)
    return texts


def _cleaned(value: Value, clean: Callable[[str], str], known: ContextEntry | None) -> Value:
    """Each text cleaned for storage. Stored texts are already clean, and skipping them avoids loading the rules."""
    cleaned = {*known.value, *known.value.values()} if known else set()
    return {
        name if name in cleaned else clean(name): text if text in cleaned or text.isdigit() else clean(text)
        for name, text in value.items()
    }


def _said(render: Callable[..., str], *values: Value) -> str:
    """The source's own line; a source that cannot render it still reports the change."""
    try:
        text = render(*values)
        return one_line(text) if isinstance(text, str) else "changed"
    except Exception as error:
        return f"changed (its source cannot say how: {one_line(type(error).__name__, LONGEST_LINE // 2)})"
