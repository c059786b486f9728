"""A session as markdown: for an issue, a wiki, or a file of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.guard.inert import inert
from holdfast.transcripts.as_text import changed, clock, duration, failed_how, flat, spent
from holdfast.transcripts.story import Answer, Call, Edit, Note, Prompt, Scene, Sum, Told

_MARKS = {True: "✓", False: "✗", None: "·"}


def markdown(heading: Sequence[str], scenes: Iterable[Scene]) -> Iterator[str]:
    for number, line in enumerate(heading):
        yield f"# {inert(line, 'md')}" if not number else inert(line, "md")
        yield ""
    in_list = False
    for scene in scenes:
        if in_list and isinstance(scene, Answer):
            yield ""  # else it would continue the list's last item
        yield from _lines(scene)
        in_list = isinstance(scene, Call | Edit | Told | Note)


def _lines(scene: Scene) -> Iterator[str]:
    if isinstance(scene, Prompt):
        yield f"## {scene.number}. {clock(scene.at)} {inert(scene.command, 'md')}".rstrip()
        yield ""
        yield from (f"> {line}".rstrip() for line in inert(scene.text, "md").split("\n"))
        yield ""
    elif isinstance(scene, Answer):
        yield inert(scene.text, "md")
        yield ""
    elif isinstance(scene, Call):
        name = "$" if scene.action == "shell" else scene.action if scene.action != "other" else scene.tool
        margin = ", ".join(filter(None, (duration(scene.seconds), failed_how(scene))))
        yield f"- {_MARKS[scene.ok]} {code(f'{name} {flat(scene.target)}'.rstrip())}{f' ({margin})' if margin else ''}"
        if scene.ok is False and scene.result:
            yield from fenced(scene.result, "text", indent="  ")
    elif isinstance(scene, Edit):
        yield f"- {'✗' if scene.ok is False else '✎'} {code(flat(scene.path))}{changed(scene)}"
        if scene.diff:
            more = [f"… {scene.left_out} more lines"] if scene.left_out else []
            yield from fenced("\n".join((*scene.diff, *more)), "diff", indent="  ")
    elif isinstance(scene, Told):
        yield f"- ◆ memory showed it {len(scene.lines)} lines, {scene.tokens} tokens"
        yield from (f"  - {inert(flat(line), 'md')}" for line in scene.lines)
    elif isinstance(scene, Note):
        yield f"- — {inert(flat(scene.text), 'md')}"
    elif isinstance(scene, Sum):
        yield ""
        yield f"*{spent(scene)}*"
        yield ""


def code(text: str) -> str:
    """A text as inline code, whatever backticks it holds."""
    fence = "`" * (longest_run(text) + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{fence}{space}{inert(text)}{space}{fence}"


def fenced(text: str, language: str, indent: str = "") -> Iterator[str]:
    """A block of code that its own content cannot end."""
    fence = "`" * max(longest_run(text) + 1, 3)
    yield f"{indent}{fence}{language}"
    yield from (f"{indent}{line}" for line in inert(text).split("\n"))
    yield f"{indent}{fence}"


def longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
