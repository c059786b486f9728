"""What the sources said at one moment, as it is kept until the next."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.context.contract import Value

FORMAT = 1


class Entry:
    """What one source said, the stamp it was valid for, and when that was."""

    __slots__ = ("at", "stamp", "value")

    def __init__(self, value: Value, stamp: str = "", at: float = 0.0) -> None:
        self.value = value
        self.stamp = stamp
        self.at = at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and (self.value, self.stamp) == (other.value, other.stamp)

    __hash__ = None  # type: ignore[assignment]


class Snapshot:
    """The entries of one directory. Sources that had nothing to say are in it too, with their stamps."""

    __slots__ = ("at", "entries", "place")

    def __init__(self, place: str, at: float, entries: dict[str, Entry]) -> None:
        self.place = place
        self.at = at
        self.entries = entries

    def values(self) -> dict[str, Value]:
        return {key: entry.value for key, entry in self.entries.items() if entry.value}


def file_name(place: str) -> str:
    """Worktrees share a memory, and each directory has its own context; the file itself says which one it is of."""
    from binascii import crc32

    return f"context-{crc32(place.encode('utf-8', 'surrogatepass')):08x}.json"


def encode(snapshot: Snapshot) -> bytes:
    import json

    entries = {
        key: {"value": entry.value, "stamp": entry.stamp, "at": entry.at}
        for key, entry in snapshot.entries.items()
    }
    kept = {"format": FORMAT, "place": snapshot.place, "at": snapshot.at, "entries": entries}
    return json.dumps(kept, separators=(",", ":")).encode()


def decode(data: bytes, place: str) -> Snapshot | None:
    """None for anything that is not a snapshot of this place: it is derived, and made again."""
    import json

    try:
        kept = json.loads(data)
        if kept["format"] != FORMAT or kept["place"] != place:
            return None
        entries = {str(key): _entry(entry) for key, entry in kept["entries"].items()}
        return Snapshot(place, float(kept["at"]), entries)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _entry(kept: dict[str, object]) -> Entry:
    value, at = kept["value"], kept["at"]
    if not isinstance(value, dict) or not isinstance(at, float | int):
        raise TypeError("no entry")
    if not all(isinstance(text, str) for text in value.values()):
        raise TypeError("no texts")
    return Entry(value, str(kept["stamp"]), float(at))
