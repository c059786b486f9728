"""A source that is a list of text files: each named text of its value is one of them."""

from __future__ import annotations

from holdfast.context.contract import Source, counted, one_line
from holdfast.context.reading import stamp_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.context.contract import Here, Value

MOST_FILES = 40
_SHOWN_LINES = 3
_NOT_READ = "(not read: "


class Found:
    """A file to be read; `reason` says why it is not."""

    __slots__ = ("path", "reason", "shown")

    def __init__(self, shown: str, path: str, reason: str = "") -> None:
        self.shown = shown
        self.path = path
        self.reason = reason


class TextFiles(Source):
    def files(self, here: Here) -> list[Found]:
        raise NotImplementedError

    def stamp(self, here: Here) -> str:
        parts = [f"{found.shown}={found.reason or stamp_of(found.path)}" for found in self.files(here)]
        return "\n".join(parts) or "none"

    def load(self, here: Here) -> Value:
        found = self.files(here)
        value = {one.shown: _text(one) for one in found[:MOST_FILES]}
        if len(found) > MOST_FILES:
            value["…"] = f"{_NOT_READ}{counted(len(found) - MOST_FILES, 'more file')})"
        return value

    def summary(self, value: Value) -> str:
        return ", ".join(f"{name} {_extent(text)}" for name, text in value.items())

    def render(self, value: Value) -> str:
        parts = []
        for name, text in value.items():
            body = "" if text.startswith(_NOT_READ) else text.strip()
            parts.append(f"--- {name} {_extent(text)}" + (f"\n{body}" if body else ""))
        return "\n\n".join(parts)

    def render_update(self, old: Value, new: Value) -> str:
        parts = [f"{name} is new, {_extent(new[name])}" for name in new if name not in old]
        for name in new:
            if name in old and old[name] != new[name]:
                parts.append(f"{name}: {_difference(old[name], new[name])}")
        parts += [f"{name} is gone" for name in old if name not in new]
        return "; ".join(parts) or "in another order"

    def render_removal(self, old: Value) -> str:
        return f"gone: {', '.join(old)}"


def _text(found: Found) -> str:
    if found.reason:
        return f"{_NOT_READ}{found.reason})"
    text = text_of(found.path)
    return f"{_NOT_READ}it is no file that can be read)" if text is None else text


def _extent(text: str) -> str:
    if text.startswith(_NOT_READ):
        return one_line(text, 80)
    return f"({counted(len(text.strip().splitlines()), 'line')})"


def _difference(old: str, new: str) -> str:
    """`2 lines new (Run make lint; …), 1 gone`: by what the lines say, wherever they stand."""
    was, now = old.splitlines(), new.splitlines()
    known, left = set(was), set(now)
    added = [line for line in now if line.strip() and line not in known]
    gone = [line for line in was if line.strip() and line not in left]
    parts = []
    if added:
        shown = "; ".join(one_line(line, 60) for line in added[:_SHOWN_LINES])
        parts.append(
            f"{counted(len(added), 'line')} new ({shown}{'; …' if len(added) > _SHOWN_LINES else ''})"
        )
    if gone:
        parts.append(f"{counted(len(gone), 'line')} gone")
    return ", ".join(parts) or "the same lines in another order"
