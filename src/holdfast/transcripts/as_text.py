"""A session for a terminal: one line for a call, diffs for edits, time and cost in the margin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from textwrap import wrap

from holdfast.guard.inert import inert
from holdfast.transcripts.story import Answer, Call, Edit, Note, Prompt, Scene, Sum, Told

INDENT = "    "
LEAST_WIDTH = 40
MOST_FOLDED = 6  # paths in a line
_FOLDED = ("read", "search", "web")
_STYLES = {
    "prompt": "1;36",
    "good": "32",
    "bad": "31",
    "faint": "2",
    "added": "32",
    "removed": "31",
    "memory": "35",
}
_MARKS = {True: ("✓", "good"), False: ("✗", "bad"), None: ("·", "faint")}


class TextPage:
    """Writes scenes as lines of at most `width` columns."""

    def __init__(self, width: int = 100, *, colour: bool = False) -> None:
        self._width = max(width, LEAST_WIDTH)
        self._colour = colour

    def lines(self, scenes: Iterable[Scene]) -> Iterator[str]:
        folded: list[Call] = []
        after_call = False
        for scene in scenes:
            if isinstance(scene, Call) and scene.action in _FOLDED and scene.ok is not False:
                if folded and folded[-1].action != scene.action:
                    yield from self._fold(folded)
                    folded = []
                folded.append(scene)
                after_call = True
                continue
            yield from self._fold(folded)
            folded = []
            if after_call and isinstance(scene, Answer):
                yield ""  # else it would read like what the call answered
            yield from self._scene(scene)
            after_call = isinstance(scene, Call | Edit | Told | Note)
        yield from self._fold(folded)

    def _scene(self, scene: Scene) -> Iterator[str]:
        if isinstance(scene, Prompt):
            yield ""
            yield self._style("prompt", f"▸ {scene.number}  {clock(scene.at)}  {scene.command}".rstrip())
            yield from self._paragraphs(scene.text, INDENT, "prompt")
            yield ""
        elif isinstance(scene, Answer):
            yield from self._paragraphs(scene.text, INDENT)
            yield ""
        elif isinstance(scene, Call):
            yield from self._call(scene)
        elif isinstance(scene, Edit):
            yield from self._edit(scene)
        elif isinstance(scene, Told):
            yield self._style(
                "memory", f"  ◆ memory showed it {_counted(len(scene.lines), 'line')}, {scene.tokens} tokens"
            )
            for line in scene.lines:
                yield from (self._style("memory", part) for part in self._wrapped(line, f"{INDENT}  "))
        elif isinstance(scene, Note):
            yield self._style("bad" if scene.failure else "faint", self._cut(f"  — {flat(scene.text)}"))
        elif isinstance(scene, Sum):
            yield self._style("faint", f"  ── {spent(scene)}")

    def _call(self, call: Call) -> Iterator[str]:
        mark, style = _MARKS[call.ok]
        name = "$" if call.action == "shell" else call.action if call.action != "other" else call.tool
        margin = "  ".join(filter(None, (duration(call.seconds), failed_how(call))))
        first = f"  {mark} {name} {flat(call.target)}".rstrip()
        room = self._width - len(margin) - 2 if margin else self._width
        yield self._style(
            style if call.ok is False else "", f"{_clipped(first, room):<{room}}  {margin}".rstrip()
        )
        if call.ok is False and call.result:
            yield from self._quoted(call.result)

    def _fold(self, calls: list[Call]) -> Iterator[str]:
        if not calls:
            return
        targets = list(dict.fromkeys(flat(call.target) for call in calls if call.target))
        more = f" and {len(targets) - MOST_FOLDED} more" if len(targets) > MOST_FOLDED else ""
        yield self._cut(f"  ✓ {calls[0].action} {', '.join(targets[:MOST_FOLDED])}{more}")

    def _edit(self, edit: Edit) -> Iterator[str]:
        mark = "✗" if edit.ok is False else "✎"
        style = "bad" if edit.ok is False else "good"
        yield self._style(style, self._cut(f"  {mark} {flat(edit.path)}{changed(edit)}"))
        for line in edit.diff:
            kind = {"+": "added", "-": "removed"}.get(line[:1], "faint")
            yield self._style(kind, _clipped(f"{INDENT}{inert(line)}", self._width))
        if edit.left_out:
            yield self._style("faint", f"{INDENT}… {_counted(edit.left_out, 'more line')}")
        if edit.result:
            yield from self._quoted(edit.result)

    def _quoted(self, text: str) -> Iterator[str]:
        lines = [line for line in inert(text).splitlines() if line.strip()]
        for line in lines[:8]:
            yield self._style("faint", _clipped(f"{INDENT}│ {line}", self._width))

    def _paragraphs(self, text: str, indent: str, style: str = "") -> Iterator[str]:
        for line in inert(text).split("\n"):
            for part in self._wrapped(line, indent) if line.strip() else [""]:
                yield self._style(style, part)

    def _wrapped(self, line: str, indent: str) -> list[str]:
        lead = line[: len(line) - len(line.lstrip())]
        return wrap(
            flat(line),
            self._width,
            initial_indent=indent + lead,
            subsequent_indent=indent + lead,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]

    def _cut(self, text: str) -> str:
        return _clipped(text, self._width)

    def _style(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour and style and text else text


def clock(at: float | None) -> str:
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}" if at is not None else ""


def duration(seconds: float | None) -> str:
    """Only what took time is said."""
    if seconds is None or seconds < 1:
        return ""
    return f"{seconds:.0f}s" if seconds < 90 else f"{seconds / 60:.0f}min"


def failed_how(call: Call) -> str:
    if call.rejected:
        return "declined"
    return f"exit {call.exit_code}" if call.ok is False and call.exit_code else ""


def changed(edit: Edit) -> str:
    added = sum(line.startswith("+") for line in edit.diff)
    removed = sum(line.startswith("-") for line in edit.diff)
    if edit.ok is False or not (added or removed):
        return ""
    at_least = "at least " if edit.left_out else ""
    return f"  {at_least}+{added} −{removed}"


def spent(scene: Sum) -> str:
    parts = [_counted(scene.calls, "call"), duration(scene.seconds)]
    parts.append(f"${float(scene.cost_usd):.2f}" if scene.cost_usd is not None else "cost unknown")
    return f"prompt {scene.prompt}: {', '.join(part for part in parts if part)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def flat(text: str) -> str:
    return " ".join(inert(text).split())


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
