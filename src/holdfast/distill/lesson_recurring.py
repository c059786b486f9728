"""A stumble that several sessions met, as it is merged and told."""

from __future__ import annotations

from msgspec import Struct

from holdfast.model.experience import Stumble


class Seen(Struct, frozen=True):
    """One stumble in one session."""

    session: str
    at: float | None
    stumble: Stumble
    agent: str = ""


class Recurring(Struct, frozen=True, kw_only=True):
    """A cause, every session that met it (oldest first), and the remedy that most of them found."""

    cause: str
    subject: str
    tokens: tuple[str, ...]
    tried: str
    failed: str
    instead: str
    seen: tuple[Seen, ...]
    others: tuple[str, ...] = ()  # what helped as well, in other places
    only: str = ""  # the agent whose sessions met it, where others did not

    @property
    def sessions(self) -> int:
        return len({one.session for one in self.seen})

    @property
    def agents(self) -> frozenset[str]:
        return frozenset(one.agent for one in self.seen)

    @property
    def at(self) -> float | None:
        return max((one.at for one in self.seen if one.at is not None), default=None)

    @property
    def key(self) -> str:
        return f"{self.cause}|{self.subject}|{','.join(self.tokens)}"
