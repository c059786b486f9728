"""Whether a fact still holds: its command is run again and must show what it showed, numbers that vary aside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from holdfast.app.facts import read_facts, wanted_fact
from holdfast.app.running import run_command
from holdfast.app.wiring import Machine
from holdfast.errors import UsageError
from holdfast.guard.finding import mark_pattern
from holdfast.model.memory import Fact

NO_OUTPUT = "exit code 0, no output"  # the evidence of a check that is silent when all is well
_MOST_LINES = 3
_LINE = 200
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
_NUMBER = re.compile(
    r"(?<![\w.])(?P<number>\d+(?:[.,:]\d+)*)(?P<unit>(?:ms|µs|us|ns|s|m|min|h)?(?:\d+(?:\.\d+)?s)?)(?![A-Za-z_])"
)
# What changes something beyond a build's own files, by its name: a guess that errs on the side of asking.
_CHANGES = re.compile(
    r"\b(?:rm|mv|dd|kill|pkill|truncate|shred|chmod|chown|sudo|ssh|scp|rsync|tee|eval)\s"
    r"|\bgit\s+(?:\S+\s+)*?(?:push|commit|reset|clean|checkout|switch|rebase|merge|tag|stash|rm|pull)\b"
    r"|\b(?:create|delete|apply|destroy|publish|deploy|upload|migrate|release|merge|close|drop|insert|update|push)\b"
    r"|\b(?:un)?install\b|\bcurl\b.*\s(?:-X|--request|-d|--data\S*|-F|-T|--json)\b|\b(?:POST|PUT|PATCH|DELETE)\b",
    re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(r"[^\W\d_]{2,}")


class Verdict(Struct, frozen=True):
    """`failed` ended with an error, `changed` ended well and showed something else. `lines` are what came instead."""

    fact: Fact
    status: Literal[
        "holds", "changed", "failed", "timeout", "declined", "no command", "incomplete", "not named"
    ]
    exit_code: int | None = None
    lines: tuple[str, ...] = ()


def to_verify(machine: Machine, wanted: Sequence[str]) -> list[Fact]:
    """The facts with these ids, or all that stand and have a command."""
    facts = read_facts(machine).reference.facts
    if not wanted:
        return [kept.fact for kept in facts if kept.retired_at is None and kept.fact.command]
    chosen = [wanted_fact(facts, name) for name in wanted]
    for kept in chosen:
        if kept.retired_at is not None:
            raise UsageError(
                f"{kept.fact.id} is retired", fix="holdfast fact add with its text and evidence revives it"
            )
    return list(dict.fromkeys(kept.fact for kept in chosen))


def obstacle(fact: Fact, *, named: bool) -> Verdict | None:
    """Why this fact is not verified by running something; None when it may be.

    A command may have opened a pull request. Whoever says yes to all at once does not mean to open it again.
    """
    if not fact.command:
        return Verdict(fact, "no command")
    if mark_pattern().search(fact.command) or fact.command.endswith("…"):
        return Verdict(fact, "incomplete")
    return None if named or not _CHANGES.search(fact.command) else Verdict(fact, "not named")


def verify(machine: Machine, fact: Fact, timeout: float) -> Verdict:
    """Run the fact's command in the project and compare. The caller has asked for consent."""
    ran = run_command(fact.command, machine.project().root, machine.env, timeout)
    output = machine.clean(_ESCAPES.sub("", ran.output))
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    if ran.exit_code is None:
        return Verdict(fact, "timeout", None, tuple(_shown(lines[-_MOST_LINES:])))
    if ran.exit_code != 0:
        return Verdict(fact, "failed", ran.exit_code, tuple(_shown(lines[-_MOST_LINES:])))
    if _shows(fact, lines):
        return Verdict(fact, "holds", 0)
    return Verdict(fact, "changed", 0, tuple(_shown(_instead(fact.evidence, lines))))


def _shows(fact: Fact, lines: Sequence[str]) -> bool:
    """Whether every line of the evidence is in a line of the output."""
    if fact.evidence.strip() == NO_OUTPUT:
        return not lines
    fixed = _numbers_said(fact)
    now = [_masked(line, fixed) for line in lines]
    expected = [_masked(" ".join(line.split()), fixed) for line in fact.evidence.splitlines() if line.strip()]
    return all(any(_within(line, other) for other in now) for line in expected)


def _within(line: str, other: str) -> bool:
    """Whole words only: `ok` is not in `token`."""
    return line in other and re.search(rf"(?<!\w){re.escape(line)}(?!\w)", other) is not None


def _numbers_said(fact: Fact) -> frozenset[str] | None:
    """The numbers that the fact itself states, which must come again; None where the evidence is all numbers."""
    if not _WORD.search(_NUMBER.sub("", fact.evidence)):
        return None
    return frozenset(match["number"] for match in _NUMBER.finditer(fact.text))


def _masked(line: str, fixed: frozenset[str] | None) -> str:
    """The line without the numbers that vary: counts, durations, and Go's word for a duration of nothing."""
    if fixed is None:
        return line

    def mask(match: re.Match[str]) -> str:
        parts = match["number"].split(".")
        # A fact may say 3.11 where its evidence says 3.11.4.
        for count in range(len(parts), 0, -1):
            if (beginning := ".".join(parts[:count])) in fixed:
                return beginning + match["unit"]
        return "#"

    return _NUMBER.sub(mask, line.replace("(cached)", "0s"))


def _instead(evidence: str, lines: Sequence[str]) -> list[str]:
    """The line that is most like the evidence, else the last ones."""
    words = set(_WORD.findall(evidence.casefold()))
    if words and lines:
        best = max(lines, key=lambda line: len(words & set(_WORD.findall(line.casefold()))))
        if 2 * len(words & set(_WORD.findall(best.casefold()))) >= len(words):
            return [best]
    return list(lines[-_MOST_LINES:])


def _shown(lines: Sequence[str]) -> list[str]:
    return [line if len(line) <= _LINE else f"{line[: _LINE - 1]}…" for line in lines]
