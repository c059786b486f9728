"""The result of a backtest as plain values, and how its sums are made."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.backtest.judging import Judged
from holdfast.backtest.known import Need, NeedKind

NEEDS: tuple[NeedKind, ...] = ("remedy", "question", "decision", "file", "command")
STRETCHES = 5  # parts of the history, to see whether memory pays more when it knows more
FEWEST_OF_A_STRETCH = 4


class TestedLine(Struct, frozen=True, kw_only=True):
    """A line that a session would have been told, and what came of it; after prompt number `prompt`, 0 at the start."""

    text: str
    when: str
    kind: str
    tokens: int
    verdict: str
    why: str
    reason: str = ""
    prompt: int = 0
    path: str = ""
    met: tuple[str, ...] = ()


class TestedNeed(Struct, frozen=True, kw_only=True):
    """Something that was known and that the session needed; `told` if a line said it in time."""

    kind: str
    what: str
    told: bool
    calls: int = 0
    tokens: int = 0


class NeedSum(Struct, kw_only=True):
    """Needs of one kind: known before, and told in time. `calls` and `tokens` are what failures cost."""

    known: int = 0
    told: int = 0
    calls: int = 0
    tokens: int = 0
    told_calls: int = 0
    told_tokens: int = 0

    def add(self, need: Need | TestedNeed, told: bool) -> None:
        self.known += 1
        self.calls += need.calls
        self.tokens += need.tokens
        if told:
            self.told += 1
            self.told_calls += need.calls
            self.told_tokens += need.tokens


class Tally(Struct, kw_only=True):
    """What one memory would have told, and what came of it. `tokens` are those of all its lines."""

    spoke: int = 0
    tokens: int = 0
    lines: int = 0
    used: int = 0
    unused: int = 0
    wrong: int = 0
    needs: dict[str, NeedSum] = {}
    kinds: dict[str, dict[str, int]] = {}

    def add(self, judged: Sequence[Judged | TestedLine], tokens: int) -> None:
        self.spoke += bool(tokens)
        self.tokens += tokens
        for one in judged:
            self.lines += 1
            setattr(self, one.verdict, getattr(self, one.verdict) + 1)
            kind = self.kinds.setdefault(one.kind, {"used": 0, "unused": 0, "wrong": 0})
            kind[one.verdict] += 1

    def meet(self, need: Need | TestedNeed, told: bool) -> None:
        self.needs.setdefault(need.kind, NeedSum()).add(need, told)

    def of(self, kind: NeedKind) -> NeedSum:
        return self.needs.get(kind) or NeedSum()

    @property
    def tokens_each(self) -> float | None:
        """Tokens of a session that was told something."""
        return self.tokens / self.spoke if self.spoke else None

    @property
    def share_used(self) -> float | None:
        return self.used / self.lines if self.lines else None


class TestedSession(Struct, frozen=True, kw_only=True):
    """One session as it would have been. `carried` is how many tokens the model would have read again for the lines."""

    session: str
    number: int
    agent: str = ""
    title: str = ""
    branch: str = ""
    started: float
    past: int
    tokens: int = 0
    carried: int = 0
    cost_usd: float | None = None
    lines: tuple[TestedLine, ...] = ()
    needs: tuple[TestedNeed, ...] = ()


class Stretch(Struct, frozen=True, kw_only=True):
    """Sessions `first` to `last` by number, oldest first."""

    first: int
    last: int
    tally: Tally


class BacktestReport(Struct, frozen=True, kw_only=True):
    """What memory would have shown the past sessions of a project, and what came of it.

    `control` is the memory of another project, `shuffled` what another session of this one was told, `rival` a list of
    the latest commands and files.
    """

    project: str
    made: float
    version: str
    sessions: int
    found: int = 0  # recorded sessions in all, where only the newest were tested
    first: float | None = None
    last: float | None = None
    undated: int = 0
    memory: Tally
    control: Tally
    control_of: str = ""
    control_sessions: int = 0
    shuffled: Tally
    rival: Tally
    cost_usd: float | None = None
    carried: int = 0
    unpriced: int = 0
    replaced_later: int = 0
    stretches: tuple[Stretch, ...] = ()
    tested: tuple[TestedSession, ...] = ()
    seconds: float = 0.0
    key: str = ""

    @property
    def wrong_lines(self) -> list[tuple[TestedSession, TestedLine]]:
        return [(one, line) for one in self.tested for line in one.lines if line.verdict == "wrong"]


def stretches_of(tested: Sequence[TestedSession]) -> tuple[Stretch, ...]:
    """Equal parts of the history, by session number."""
    parts = min(STRETCHES, len(tested) // FEWEST_OF_A_STRETCH)
    if parts < 2:
        return ()
    bounds = [round(len(tested) * part / parts) for part in range(parts + 1)]
    return tuple(
        Stretch(first=start + 1, last=end, tally=tally_of(tested[start:end]))
        for start, end in itertools.pairwise(bounds)
    )


def tally_of(tested: Iterable[TestedSession]) -> Tally:
    tally = Tally()
    for one in tested:
        tally.add(one.lines, one.tokens)
        for need in one.needs:
            tally.meet(need, need.told)
    return tally
