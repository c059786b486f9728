"""What came of the lines that a session would have been told: used, unused or wrong, and which needs they met in time.

Whether a session would have obeyed cannot be known from its transcript. `used` means that the session came to the same
thing by itself afterwards: it opened the file, ran the command or the remedy, or half of what is new in the line, by
weight of its words, came up again in one place. The control shows how often that happens by chance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.backtest.known import Need, call_of, commands_of, paths_of
from holdfast.backtest.telling import ToldLine, commands_in
from holdfast.backtest.walk import Step, Walk
from holdfast.briefing.file_pointers import prompt_words
from holdfast.briefing.told_index import weight_of
from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import simple_commands
from holdfast.flows.payback import came_of
from holdfast.hooks.moment import folded
from holdfast.language.failure_wording import excerpt
from holdfast.sessions.failing_calls import slip_of

Verdict = Literal["used", "unused", "wrong"]
LineKind = Literal["file", "commands", "remedy", "answer", "state", "statement"]
SHARE = 0.5  # of the weight of a line's new words that must come up in one place
FEWEST = 3  # of them
_ID = lazy_regex(r"\b[A-Z]-[0-9a-z]{6}\b")
_MARK = lazy_regex(r" \((?:[^()]*, )?(?:\d\d\d\d-)?(?:\d\d-\d\d|undated), [^()]*\)$|\s*\[[A-Z]-[^\]]*\]$")
_REMEDY = lazy_regex(
    r"`[^`]+` (?:fails|failed|does not) .*→|→ `[^`]+` worked|^`[^`]+` is not found here|^there is no (?:folder )?`"
)
_NO_PROGRAM = lazy_regex(r"`([^`\s]+)` is not found here")
_NO_PATH = lazy_regex(r"(?:there is no (?:folder )?`([^`]+)`|`([^`]+)` does not exist here)")
_STATE = lazy_regex(r"(?:Next|To do|Open|Done|Last|Left|Handoff|Decided|In progress)\b[^:]{0,60}:")
_GONE = lazy_regex(r"(?i)no such file|does not exist|not found|cannot find")


class Judged(Struct, frozen=True, kw_only=True):
    line: ToldLine
    kind: LineKind
    verdict: Verdict
    why: str
    met: tuple[str, ...] = ()  # the needs that it met in time


class Replaced(Struct, frozen=True):
    """What took the place of a statement, and when the session that said so began and ended."""

    session: str
    ended: float


def kind_of(line: ToldLine) -> LineKind:
    if line.path:
        return "file"
    if commands_in(line.text):
        return "commands"
    if line.when == "question" or line.text.startswith("Answered before: "):
        return "answer"
    if _REMEDY.search(line.text):
        return "remedy"
    return "state" if _STATE.match(line.text) else "statement"


def ids_in(line: ToldLine) -> list[str]:
    return _ID.findall(line.text)


class Judge:
    """Judges the lines of one session."""

    def __init__(
        self,
        walk: Walk,
        root: Path,
        session: str,
        began: float,
        replaced: Mapping[str, Replaced],
        *,
        prompts_say: bool = True,
    ) -> None:
        """Without `prompts_say` a word of a prompt shows nothing: a person brought it, and not the line."""
        self._prompts_say = prompts_say
        self._walk, self._root = walk, root
        self._session, self._began, self._replaced = session, began, replaced
        self._words: list[frozenset[str]] | None = None

    def judge(self, lines: Sequence[ToldLine], needs: Sequence[Need]) -> list[Judged]:
        met: dict[int, list[str]] = {}
        for need in needs:
            for number in self.meeting(need, lines):
                met.setdefault(number, []).append(need.what)
        judged = []
        for number, line in enumerate(lines):
            if line.shown:
                kind = kind_of(line)
                verdict, why = self._verdict(line, kind)
                if verdict == "unused" and number in met:
                    verdict, why = "used", f"it says what was needed: {met[number][0][:80]}"
                judged.append(
                    Judged(line=line, kind=kind, verdict=verdict, why=why, met=tuple(met.get(number, ())))
                )
        return judged

    def meeting(self, need: Need, lines: Sequence[ToldLine]) -> list[int]:
        """The lines that the session had before it came to need this, and that say it."""
        return [
            number
            for number, line in enumerate(lines)
            if line.shown and line.step <= need.step and says(line, need)
        ]

    def _verdict(self, line: ToldLine, kind: LineKind) -> tuple[Verdict, str]:
        if why := self._outdated(line):
            return "wrong", why
        after = self._walk.steps[line.step :]
        match kind:
            case "file":
                return self._of_file(line.path, after)
            case "commands":
                return self._of_commands(commands_in(line.text), after)
            case "remedy":
                return self._of_remedy(line, after)
            case "answer" if line.when == "question":
                return self._of_answer(line)
        return self._of_words(line)

    def _outdated(self, line: ToldLine) -> str:
        for id in ids_in(line):
            by = self._replaced.get(id)
            if by is not None and by.session == self._session:
                return f"this session decided otherwise ({id})"
            if by is not None and by.ended <= self._began:
                return f"session {by.session[:8]} had decided otherwise before ({id})"
        return ""

    def _of_file(self, path: str, after: Sequence[Step]) -> tuple[Verdict, str]:
        missed = False
        for step in after:
            if path in paths_of(step, self._root):
                return "used", "it was read or changed afterwards"
            missed |= step.ok is False and bool(_GONE.search(step.output)) and self._names(step, path)
        return ("wrong", "it was not there") if missed else ("unused", "it was not opened afterwards")

    def _names(self, step: Step, path: str) -> bool:
        """Whether a failed call looked for just this file."""
        return any(given == path or given.endswith(f"/{path}") for given in step.paths)

    def _of_commands(self, commands: Collection[str], after: Sequence[Step]) -> tuple[Verdict, str]:
        failed = ""
        for step in after:
            if step.did != "shell":
                continue
            ran = [command for command in commands_of(step) if command in commands]
            if ran and step.ok is not False:
                return "used", f"`{ran[0]}` was run afterwards"
            if ran and not failed and (slip := slip_of(step.text, excerpt(step.output), step.at)):
                failed = f"`{ran[0]}` failed: {slip.cause}"
        return ("wrong", failed) if failed else ("unused", "none of them was run afterwards")

    def _of_remedy(self, line: ToldLine, after: Sequence[Step]) -> tuple[Verdict, str]:
        rule = _MARK.sub("", line.text)
        if why := self._is_there(rule, after):
            return "wrong", why
        calls = [
            call_of(step) for step in after if step.did in ("shell", "read", "edit") and step.ok is not None
        ]
        came = came_of(rule, "stumble", calls)
        if came == "contradicted":
            return "wrong", "its remedy failed, or what it warns of works"
        return ("used", "its remedy was run afterwards") if came else ("unused", "its call was not made")

    def _is_there(self, rule: str, after: Sequence[Step]) -> str:
        """What a rule says is missing, and was found."""
        if program := _NO_PROGRAM.match(rule):
            ran = any(_only_program(step) == program[1] for step in after if step.ok)
            return f"`{program[1]}` ran" if ran else ""
        if path := _NO_PATH.match(rule):
            missing = path[1] or path[2]
            if any(missing in paths_of(step, self._root) for step in after):
                return f"`{missing}` was read or changed"
        return ""

    def _of_answer(self, line: ToldLine) -> tuple[Verdict, str]:
        """Whether the person answered as before."""
        answer = folded(self._walk.steps[line.step].answer)
        if not answer:
            return "unused", "it was not answered this time"
        if answer in folded(line.text):
            return "used", "it was answered so again"
        return "wrong", f"it was answered otherwise this time: {self._walk.steps[line.step].answer[:80]}"

    def _of_words(self, line: ToldLine) -> tuple[Verdict, str]:
        words = set(prompt_words(_ID.sub("", _MARK.sub("", line.text))))
        start = line.step + (line.when != "start")
        by_step = self._said()
        new = words.difference(*by_step[:start], *self._asked())
        whole = sum(map(weight_of, new))
        best: frozenset[str] = frozenset()
        for place in range(start, len(by_step)):
            near = new & by_step[place].union(*by_step[place + 1 : place + 2])
            if len(near) >= FEWEST and sum(map(weight_of, near)) > sum(map(weight_of, best)):
                best = frozenset(near)
        if best and sum(map(weight_of, best)) >= SHARE * whole:
            named = ", ".join(sorted(best, key=lambda word: (-weight_of(word), word))[:4])
            return "used", f"{len(best)} of its {len(new)} new words came up together: {named}"
        return "unused", f"{len(best)} of its {len(new)} new words came up together"

    def _asked(self) -> list[frozenset[str]]:
        if self._prompts_say:
            return []
        return [
            said for said, step in zip(self._said(), self._walk.steps, strict=True) if step.did == "prompt"
        ]

    def _said(self) -> list[frozenset[str]]:
        if self._words is None:
            self._words = [
                frozenset(prompt_words(" ".join((step.text, step.answer, *step.paths))))
                for step in self._walk.steps
            ]
        return self._words


def _only_program(step: Step) -> str:
    """The program of a command that runs one; '' of a longer line, whose success does not show that each of it ran."""
    if step.did != "shell":
        return ""
    programs = [part.program for part in simple_commands(step.text) if part.program != "cd"]
    return programs[0] if len(programs) == 1 else ""


def says(line: ToldLine, need: Need) -> bool:
    """Whether a line says what was needed."""
    match need.kind:
        case "file":
            return line.path == need.what or (not line.path and _has(line.text, need.what))
        case "command":
            return need.what in commands_in(line.text) or f"`{need.what}`" in line.text
        case "remedy":
            has_remedy = any(answer in line.text for answer in need.answers)
            return has_remedy and any(_has(line.text, tried) for tried in need.tried)
    return any(id in line.text for id in need.answers)


def _has(text: str, words: str) -> bool:
    """Whether a text has these words, and not only as a part of others."""
    at = text.find(words)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(words) : at + len(words) + 1]
        if not (before.isalnum() or before in ("/", "-", "_") or after.isalnum() or after in ("/", "-", "_")):
            return True
        at = text.find(words, at + 1)
    return False


def wrong_lines(judged: Sequence[Judged]) -> Iterator[Judged]:
    return (one for one in judged if one.verdict == "wrong")
