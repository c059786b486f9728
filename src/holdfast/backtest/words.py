"""The figures of a backtest in words: its first sentence, how each figure was counted, and the lines of its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from holdfast.backtest.known import NeedKind
from holdfast.backtest.report import BacktestReport, NeedSum, Tally, TestedSession
from holdfast.backtest.rival import BUDGET

_FEWEST_LINES = 20  # of a stretch, to say how its share differs
_WORTH_SAYING = 0.05
HOW = (
    "Each session faced a memory of only the sessions that had ended, and the commits made, before it began. The lines "
    "are the hooks' own answers: at its start, at each prompt, command and file.",
    "Used: afterwards the session opened the file, ran the command or the remedy, or half of what was new in the line "
    "came up in one place. It may have done so anyway: it did not see the line.",
    "Wrong: a remedy or a command that failed when the session ran it, a warning of what works, a file that was not "
    "there, an answer that was given otherwise, or a statement that this session or an earlier one had replaced.",
    "Solved before: a call failed for a reason for which an earlier session had found a remedy. Calls and tokens are "
    "those from the failure until something worked, ten calls at most.",
    "Files and commands: those that an earlier session had used and that no prompt had named. In time: a line named "
    "them before the session first used them.",
)


def sentences(report: BacktestReport) -> list[str]:
    """What a reader should know first, in a few plain sentences."""
    memory = report.memory
    if not memory.spoke:
        return [f"In your {_last(report)} memory would have shown nothing."]
    first = (
        f"In your {_last(report)} memory would have shown something in {memory.spoke}, "
        f"with {memory.tokens_each or 0:.0f} tokens on average."
    )
    met = [text for text in (_remedies(memory), *_settled(memory)) if text]
    needed = f"In time it would have shown {_listed(met)}." if met else ""
    return [
        text
        for text in (
            first,
            lines_used(report),
            needed,
            _named(memory),
            _against_list(report),
            _over_time(report),
        )
        if text
    ]


def lines_used(report: BacktestReport) -> str:
    """How many of the lines were of use; '' if there were none."""
    memory = report.memory
    if not memory.lines:
        return ""
    used = f"{share(memory.used, memory.lines)}{_by_chance(report)}"
    return (
        f"Of its {counted(memory.lines, 'line')} {memory.used:,} were used afterwards ({used}), "
        f"and {memory.wrong:,} {'was' if memory.wrong == 1 else 'were'} wrong."
    )


def _by_chance(report: BacktestReport) -> str:
    other = report.shuffled
    return f"; given to other sessions here, {share(other.used, other.lines)}" if other.lines else ""


def _last(report: BacktestReport) -> str:
    if report.found > report.sessions:
        return f"newest {report.sessions:,} of {counted(report.found, 'session')}"
    return f"last {counted(report.sessions, 'session')}" if report.sessions > 1 else "only session"


def _remedies(tally: Tally) -> str:
    need = tally.of("remedy")
    if not need.known:
        return ""
    return (
        f"the fix for {need.told:,} of {counted(need.known, 'failure')} that an earlier session had solved "
        f"({counted(need.calls, 'call')}, {amount(need.tokens)} tokens)"
    )


def _settled(tally: Tally) -> Iterator[str]:
    question, decision = tally.of("question"), tally.of("decision")
    if question.known:
        yield f"the answer to {question.told:,} of {counted(question.known, 'question')} asked again"
    if decision.known:
        yield f"{decision.told:,} of {counted(decision.known, 'decision')} made again"


def _named(tally: Tally) -> str:
    """Files and commands: what the sessions came to use, and what of that memory named before."""
    file, command = tally.of("file"), tally.of("command")
    parts = [
        (f"Of {counted(need.known, kind)}", f"{need.told:,}")
        for kind, need in (("file", file), ("command", command))
        if need.known
    ]
    if not parts:
        return ""
    (of, told), *rest = parts
    more = "".join(f", and {of[0].lower()}{of[1:]} {number}" for of, number in rest)
    return (
        f"{of} that a session later needed and an earlier one had used, memory named {told} beforehand{more}."
    )


def _against_list(report: BacktestReport) -> str:
    """Whether a plain list of recent files and commands would have named more of what was needed."""
    kinds: tuple[NeedKind, ...] = ("file", "command")
    pairs = [(kind, report.memory.of(kind), report.rival.of(kind)) for kind in kinds]
    ahead = [(kind, listed) for kind, own, listed in pairs if listed.told > own.told]
    if not ahead:
        return ""
    named = " and ".join(f"{listed.told:,} of the {counted(listed.known, kind)}" for kind, listed in ahead)
    return f"A plain list of the latest commands and files does better there: it names {named}."


def _over_time(report: BacktestReport) -> str:
    """Whether lines were used more, or less, as memory grew."""
    if not report.stretches:
        return ""
    ends = [one for one in report.stretches if one.tally.lines >= _FEWEST_LINES]
    if len(ends) < 2:
        return ""
    first, last = ends[0], ends[-1]
    before, after = first.tally.share_used or 0.0, last.tally.share_used or 0.0
    if abs(after - before) < _WORTH_SAYING:
        return ""
    moved = "rose" if after > before else "fell"
    return (
        f"The share of lines that were used {moved} as memory grew, from {before:.0%} in sessions {first.first} to "
        f"{first.last} to {after:.0%} in {last.first} to {last.last}."
    )


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def cost_line(report: BacktestReport) -> str:
    """What telling would have cost."""
    if not report.memory.spoke:
        return "Showing them would have cost nothing."
    read = f"{amount(report.carried)} tokens"
    if report.cost_usd is None:
        return f"The lines would have cost {read}; the models' prices are not known."
    unpriced = (
        f" {counted(report.unpriced, 'session')} of unknown price not included." if report.unpriced else ""
    )
    return (
        f"All lines together would have cost ${report.cost_usd:.2f}: a line is read again from the cache at each later "
        f"answer of its session, {read} in all.{unpriced}"
    )


def sides(report: BacktestReport) -> list[tuple[str, Tally]]:
    """Memory and what it is compared with, each with its name."""
    named = [("this memory", report.memory)]
    if report.control_sessions:
        of = f"{report.control_of}, {counted(report.control_sessions, 'session')}"
        named.append((f"another project's memory ({of})", report.control))
    named.append(("the same lines, each given to another session", report.shuffled))
    named.append((f"a list of the latest commands and files, {BUDGET} tokens", report.rival))
    return named


def in_time(need: NeedSum | None) -> str:
    return "–" if need is None or not need.known else f"{need.told}/{need.known}"


def share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def name_of(one: TestedSession) -> str:
    day = datetime.fromtimestamp(one.started, UTC).strftime("%Y-%m-%d")
    return f"{one.number}. {day} {one.title or one.session[:8]}"


def counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def amount(count: int) -> str:
    """Tokens for people: 812, 14.2k, 3.1M."""
    for size, unit in ((10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
