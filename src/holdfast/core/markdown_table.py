"""Markdown table lines: cells that hold any text on one visible line, and rows split where a pipe is a pipe.

One level of backslash escapes: `\\\\`, `\\|`, `\\n`, `\\r`, `\\t`, `\\uXXXX`, `\\UXXXXXXXX`. A cell that is
nothing but `\\e` is the empty text, where an empty cell would mean "unknown".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdfast.core.patterns import lazy_regex

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import re

EMPTY = "\\e"
BLANKS = " \t"

# Characters that would break the line, the row or the encoding, or that a reader would not see.
_SPECIAL = lazy_regex(
    "["
    r"\\|"
    r"\x00-\x1f\x7f-\x9f"  # controls, U+0085 among them
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0"  # invisible fillers and joiners
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, line separators, bidi
    r"\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # musical controls, tags, variation selectors
    "]"
)
_SHORT = {"\\": "\\\\", "|": "\\|", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONG = {"\\": "\\", "|": "|", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = lazy_regex(r"(?s)\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_RULE = lazy_regex(r":?-+:?")
_TRAILING_BACKSLASHES = lazy_regex(r"\\*\Z")


def _escape(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    point = ord(char)
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _unescape(match: re.Match[str]) -> str:
    four, eight, single = match.groups()
    if single is not None:
        # A person typed an escape that we do not know: leave it.
        return _LONG.get(single, match[0])
    point = int(four or eight, 16)
    return chr(point) if point <= 0x10FFFF else match[0]


def encode_cell(text: str) -> str:
    """Encodes any text as one line that survives trimming and cannot be mistaken for a pipe or a separator."""
    cell = _SPECIAL.sub(lambda match: _escape(match[0]), text)
    if not cell:
        return cell
    if cell[0].isspace() or _RULE.fullmatch(cell):
        cell = f"\\u{ord(cell[0]):04x}{cell[1:]}"
    if cell[-1].isspace():
        cell = f"{cell[:-1]}\\u{ord(cell[-1]):04x}"
    return cell


def decode_cell(cell: str) -> str:
    """The text of a cell that `encode_cell` wrote; unknown escapes stay as they are."""
    cell = cell.strip(BLANKS)
    if "\\" not in cell:
        return cell
    return "" if cell == EMPTY else _ESCAPE.sub(_unescape, cell)


def decode_foreign_cell(cell: str) -> str:
    """The text of a cell in a table that is not ours, where `\\|` is the only escape."""
    return cell.strip(BLANKS).replace("\\|", "|")


def encode_list(items: Iterable[str], sep: str = " ") -> str:
    """Joins items in one cell with `sep`, which is escaped inside an item."""
    marks = sep.strip() or sep
    return sep.join(_encode_item(item, marks) for item in items)


def _encode_item(item: str, marks: str) -> str:
    cell = encode_cell(item)
    for mark in marks:
        if mark in cell:
            cell = cell.replace(mark, f"\\u{ord(mark):04x}")
    return cell or EMPTY


def decode_list(cell: str, sep: str = " ", decode: Callable[[str], str] = decode_cell) -> tuple[str, ...]:
    """The items of a cell that `encode_list` wrote; blanks around a separator do not count."""
    mark = sep.strip() or sep
    pieces = cell.strip(BLANKS).split(mark)
    if mark == sep and "\\" not in cell and "" not in pieces:
        return tuple(pieces)
    trimmed = [piece.strip(BLANKS) for piece in pieces]
    return tuple([decode(piece) for piece in trimmed if piece])


def is_row(line: str) -> bool:
    """Whether a line belongs to a table: our rows and the seed's all begin with a pipe."""
    return line.lstrip(BLANKS).startswith("|")


def is_separator(line: str) -> bool:
    """Whether a line is the rule under a header: `|---|:--:|`."""
    # The cheap test first: this runs for every line of a ledger.
    return line.lstrip("| \t:")[:1] == "-" and _is_rule(line.strip(BLANKS))


def _is_rule(line: str) -> bool:
    parts = line.split("|")
    if parts[0] or len(parts) < 2:
        return False
    if len(parts) > 2 and not parts[-1]:
        del parts[-1]
    dashes = [part.strip(BLANKS).removeprefix(":").removesuffix(":") for part in parts[1:]]
    return all(part and not part.strip("-") for part in dashes)


def split_row(line: str, *, foreign: bool = False) -> tuple[list[str], bool]:
    """The raw cells of a row, trimmed, and whether the row ends with a pipe (a torn row does not)."""
    parts = line.strip(BLANKS).split("|")
    if "\\" in line:
        parts = _rejoin(parts, foreign=foreign)
    closed = len(parts) > 1 and parts[-1] == ""
    inner = parts[1:-1] if closed else parts[1:]
    return [part.strip(BLANKS) for part in inner], closed


def _rejoin(parts: Sequence[str], *, foreign: bool) -> list[str]:
    """Rejoins cells that were split at an escaped pipe."""
    cells: list[str] = []
    pending: list[str] = []
    for part in parts:
        pending.append(part)
        if not _escapes_next(part, foreign=foreign):
            cells.append("|".join(pending))
            pending = []
    if pending:
        cells.append("|".join(pending))
    return cells


def _escapes_next(part: str, *, foreign: bool) -> bool:
    if foreign:
        return part.endswith("\\")
    trailing = _TRAILING_BACKSLASHES.search(part)
    return trailing is not None and len(trailing[0]) % 2 == 1


def render_row(cells: Iterable[str]) -> str:
    """Joins encoded cells to a row. An empty cell is two blanks wide."""
    return f"| {' | '.join(cells)} |"


def render_separator(columns: int) -> str:
    return "|" + "---|" * columns
