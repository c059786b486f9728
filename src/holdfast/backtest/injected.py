"""What came of the lines that hooks put into a recorded session: used, not used, or not to be known.

The rules are those of the backtest (`judging.py`), with one difference. There a line that nothing followed counts as
unused, because a control is judged beside it. Here a person reads about one session, so a line counts as `not used`
only where something shows it: the file was not opened, none of the commands was run, the call that fails was made
again. Whether a decision, a rule or a next step was heeded without a trace is `unknown`. docs/ui.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.backtest.judging import Judge, ids_in
from holdfast.backtest.telling import ToldLine, When, commands_in
from holdfast.backtest.walk import Notebook, Walk
from holdfast.briefing.explain import FOLDER, Injection, is_heading
from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import simple_commands, unquoted
from holdfast.core.tokens import count_tokens
from holdfast.hooks.host_protocol import PROMPT, READ, START
from holdfast.model.events import Event
from holdfast.model.line import Line
from holdfast.transcripts.scenes import seconds

Use = Literal["used", "not used", "unknown", ""]
_SLACK_S = 2.0  # a trace has whole seconds
_PATH = lazy_regex(r"[\w.@+-]+(?:/[\w.@+-]+)*\.\w{1,8}|[\w.@+-]+(?:/[\w.@+-]+)+")
_FAILS = lazy_regex(r"`([^`]+)` (?:fails|failed|is not found|does not)")
_UNKNOWN = "the transcript does not show whether it was followed"


class InjectedLine(Struct, frozen=True, kw_only=True):
    """A line, and what came of it. '' for `use` is a heading, which says nothing that could be used."""

    line: Line
    tokens: int
    use: Use
    how: str


class InjectedMoment(Struct, frozen=True, kw_only=True):
    """One answer of a hook, line by line."""

    at: float | None
    entry: Injection
    lines: tuple[InjectedLine, ...]


def walk_of(events: Iterable[Event]) -> Walk:
    notebook = Notebook()
    for _ in notebook.follow(events):
        pass
    return notebook.walk


def judged(walk: Walk, root: Path, session: str, entries: Sequence[Injection]) -> list[InjectedMoment]:
    """Every line of these injections with what came of it in the session that `walk` has the steps of."""
    judge = Judge(walk, root, session, 0.0, {}, prompts_say=False)
    moments = []
    prompts = 0
    for entry in entries:
        prompts += entry.event == PROMPT
        at = seconds(entry.time)
        step = _step_at(walk, at)
        lines, folder = [], ""
        for line in entry.lines:
            if heading := FOLDER.match(line.text):
                folder = heading[1]
            told = _told(entry, line, step, folder, prompts)
            lines.append(_judged(judge, walk, line, told))
        moments.append(InjectedMoment(at=at, entry=entry, lines=tuple(lines)))
    return moments


def without_steps(entries: Sequence[Injection]) -> list[InjectedMoment]:
    """The same where no transcript is left to look at."""
    return [
        InjectedMoment(
            at=seconds(entry.time),
            entry=entry,
            lines=tuple(
                InjectedLine(
                    line=line,
                    tokens=count_tokens(line.text),
                    use="" if is_heading(line) else "unknown",
                    how="" if is_heading(line) else "the transcript is gone",
                )
                for line in entry.lines
            ),
        )
        for entry in entries
    ]


def _step_at(walk: Walk, at: float | None) -> int:
    """The first step that may have come after this moment."""
    if at is None:
        return 0
    later = (
        number for number, step in enumerate(walk.steps) if step.at is not None and step.at >= at - _SLACK_S
    )
    return next(later, len(walk.steps))


def _told(entry: Injection, line: Line, step: int, folder: str, prompts: int) -> ToldLine:
    path = line.text.strip() if _PATH.fullmatch(line.text.strip()) else ""
    indented = folder if line.text.startswith("  ") else ""
    return ToldLine(
        text=line.text,
        reason=line.reason,
        when=_when(entry, prompts),
        step=step,
        tokens=count_tokens(line.text),
        path=f"{indented}/{path}" if path and indented else path,
        shown=not is_heading(line),
    )


def _when(entry: Injection, prompts: int) -> When:
    if entry.event == START:
        return "start"
    if entry.event == PROMPT:
        return "first prompt" if prompts <= 1 else "later prompt"
    return "file" if entry.tool == READ else "command"


def _judged(judge: Judge, walk: Walk, line: Line, told: ToldLine) -> InjectedLine:
    found = judge.judge([told], ())
    use: Use = ""
    how = ""
    if found:
        use, how = _use(walk, told, found[0].verdict, found[0].why, found[0].kind)
    return InjectedLine(line=line, tokens=told.tokens, use=use, how=how)


def _use(walk: Walk, told: ToldLine, verdict: str, why: str, kind: str) -> tuple[Use, str]:
    if verdict == "used":
        return "used", why
    if kind == "commands" and (ran := _ran(walk, told)):
        return "used", f"`{ran}` was run afterwards"
    if kind in ("file", "commands"):
        return "not used", why
    if kind == "remedy":
        return _of_remedy(walk, told, why, wrong=verdict == "wrong")
    if quoted := next((id for id in ids_in(told) if _says(walk, told.step, id)), ""):
        return "used", f"its id {quoted} was named afterwards"
    return "unknown", _UNKNOWN


def _of_remedy(walk: Walk, told: ToldLine, why: str, *, wrong: bool) -> tuple[Use, str]:
    """Told just before the call that fails, and the call was not made as it was: heeded. Told at the start: unknown."""
    failing = _FAILS.search(told.text)
    if wrong:
        return "not used", why
    if failing and _made(walk, told.step + (told.when == "command"), failing[1]):
        return "not used", f"`{failing[1]}` was run again"
    if failing and told.when == "command":
        return "used", f"`{failing[1]}` was not run again"
    return "unknown", "the call it warns of was not made; perhaps it was not needed"


def _ran(walk: Walk, told: ToldLine) -> str:
    """A command of a line that lists them, as it stands there."""
    return next((command for command in commands_in(told.text) if _made(walk, told.step, command)), "")


def _says(walk: Walk, step: int, words: str) -> bool:
    return any(words in said.text for said in walk.steps[step:] if said.did == "said")


def _made(walk: Walk, step: int, command: str) -> bool:
    wanted = command.split()
    return any(
        [unquoted(word) for word in part.words][: len(wanted)] == wanted
        for made in walk.steps[step:]
        if made.did == "shell"
        for part in simple_commands(made.text)
    )
