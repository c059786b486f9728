"""The figures of a backtest in words: its first sentence, how each figure was counted, and the lines of its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from holdfast.backtest.report import BacktestReport, NeedSum, Tally, TestedSession
from holdfast.backtest.rival import BUDGET

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
    met = [text for text in (_remedies(memory), *_met(memory)) if text]
    used = f"{share(memory.used, memory.lines)}{_by_chance(report)}"
    lines = (
        f"Of its {counted(memory.lines, 'line')} {memory.used:,} were used afterwards ({used}), "
        f"and {memory.wrong:,} {'was' if memory.wrong == 1 else 'were'} wrong."
    )
    second = f"In time it would have shown {_listed(met)}." if met else ""
    return [text for text in (first, second, lines) if text]


def _by_chance(report: BacktestReport) -> str:
    other = report.shuffled
    return f"; given to other sessions here, {share(other.used, other.lines)}" if other.lines else ""


def _last(report: BacktestReport) -> str:
    return f"last {counted(report.sessions, 'session')}" if report.sessions > 1 else "only session"


def _remedies(tally: Tally) -> str:
    need = tally.of("remedy")
    if not need.known:
        return ""
    return (
        f"the remedy for {need.told:,} of {counted(need.known, 'failure')} that an earlier session had solved "
        f"({counted(need.calls, 'call')}, {amount(need.tokens)} tokens)"
    )


def _met(tally: Tally) -> Iterator[str]:
    question, decision = tally.of("question"), tally.of("decision")
    if question.known:
        yield f"the answer to {question.told:,} of {counted(question.known, 'question')} asked again"
    if decision.known:
        yield f"{decision.told:,} of {counted(decision.known, 'decision')} made again"
    used = [
        f"{need.told:,} of {counted(need.known, kind)}"
        for kind in ("file", "command")
        if (need := tally.needs.get(kind)) is not None and need.known
    ]
    if used:
        yield f"{' and '.join(used)} that it knew and that no prompt had named"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def cost_line(report: BacktestReport) -> str:
    """What telling would have cost."""
    carried = f"{amount(report.carried)} tokens read again from the cache"
    if not report.memory.spoke:
        return "Showing them would have cost nothing."
    if report.cost_usd is None:
        return f"Telling would have cost {carried}; the models' prices are not known."
    unpriced = f", without {counted(report.unpriced, 'session')} of unknown price" if report.unpriced else ""
    return (
        f"Telling would have cost ${report.cost_usd:.2f}: {carried}, each line once for every later answer of its "
        f"session, at the cache-read price{unpriced}."
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
