"""What is asked, and of which chunks."""

from __future__ import annotations

from msgspec import Struct


class Scope(Struct, frozen=True):
    """Which chunks may answer."""

    kinds: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None
    before: float | None = None
    since: float | None = None

    @property
    def is_everything(self) -> bool:
        return self == Scope()

    def condition(self) -> tuple[str, list[object]]:
        """As SQL over `chunk`."""
        parts = ["1"]
        values: list[object] = []
        for column, allowed in (("kind", self.kinds), ("project", self.projects)):
            if allowed is not None:
                parts.append(f"chunk.{column} IN ({', '.join('?' * len(allowed))})")
                values.extend(allowed)
        if self.before is not None:
            parts.append("chunk.at < ?")
            values.append(self.before)
        if self.since is not None:
            parts.append("chunk.at >= ?")
            values.append(self.since)
        return " AND ".join(parts), values


class Question(Struct, frozen=True):
    """`least` is the cosine below which a text that shares no word with it does not fit; None where all do.

    `lift` is by how much the cosines of its embedder are smaller than those that the floors were set with.
    """

    text: str
    scope: Scope
    now: float | None
    vector: bytes | None
    least: float | None = None
    lift: float = 0.0
