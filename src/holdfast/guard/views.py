"""Shows a text as it reads once decoded, so that the rules find secrets through the encodings they come in.

`views` yields the text behind escapes, percent codes, entities, hidden and fullwidth characters and colours, the text
with values that were broken over lines put together, and what base64 and hex runs hold; then the same of each of these.
Every view maps its positions back to the original. A view exists only where a cheap test says that its encoding occurs,
and all views of a text together are at most a few times as long as the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from holdfast.core.patterns import lazy_regex
from holdfast.guard.joins import Joint, joints

MOST_LAYERS = 6
# All views of a text together: this many times its length, and a little for short texts.
MOST_WORK = 8
SPARE_WORK = 4_000

# How far around a code its neighbours are shown with it, and what stands for the text in between.
_REACH = 240
_GAP = "\n\0\n"
# How far before a value its name may be.
_REACH_OF_NAME = 80
_BLANK = lazy_regex(r"\s")

Span = tuple[int, int]
_Edit = tuple[int, int, str]

# What one layer of decoding replaces: escapes of JSON, C and shells, percent codes, entities, colours, hidden signs.
_BACKSLASH = (
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}"
    r"|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|x\{[0-9a-fA-F]{1,6}\}|[0-3][0-7]{2}|\r?\n"
    r"|[nrtabfve0\"'`/\\$ _=:@.+!#&*?~%^|,;()-])"
)
_DOLLAR_QUOTE = r"\$(?=['\"])"
_PERCENT = r"(?:%[0-9a-fA-F]{2})+"
_ENTITY = r"&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,24});"
_COLOUR = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[@-Z\\^_=>])"
_UNSEEN = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_STYLED = (
    "[\uff01-\uff5e\u3000\u2070-\u209c\u2460-\u24ff\u2100-\u214f\U0001d400-\U0001d7ff\U0001f130-\U0001f189]"
)
_CODED = lazy_regex("|".join((_BACKSLASH, _DOLLAR_QUOTE, _PERCENT, _ENTITY, _COLOUR)))
_CODED_OR_STYLED = lazy_regex(
    "|".join((_BACKSLASH, _DOLLAR_QUOTE, _PERCENT, _ENTITY, _COLOUR, _UNSEEN, _STYLED))
)
# The same, without what cannot matter: a line's end or tab before anything but a word.
_WORTHY = (
    r"\\(?:u[0-9a-fA-F{]|U[0-9a-fA-F]{8}|x[0-9a-fA-F{]|[0-3][0-7]{2}|\r?\n|[nrtabfve0][\w$+/]"
    r"|n {0,12}\d{1,6}(?:→|\\t|[:|])|[\"'`/\\_=:@.+$!#&*-])"
    r"|\$['\"]|%[0-9a-fA-F]{2}|&(?:\#|[A-Za-z]{2,24};)|\x1b"
)
_WORTH = lazy_regex(_WORTHY)
_STYLE_WORTH = lazy_regex(f"{_UNSEEN}|{_STYLED}")
_WORTH_OR_STYLED = lazy_regex(f"{_WORTHY}|{_UNSEEN}|{_STYLED}")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "a": " ", "b": " ", "f": " ", "v": " ", "e": " ", "0": " "}

# Runs that may hold text: of base64 every fourth sign, of hex every second one tells ASCII. Few pictures pass.
_BASE64 = lazy_regex(
    r"[ACDI-Za-f](?<![A-Za-z0-9+].)[A-Za-z0-9+/_-]{3}[ACDI-Za-f][A-Za-z0-9+/_-]{3}"
    r"[ACDI-Za-f][A-Za-z0-9+/_-]{3}[ACDI-Za-f][A-Za-z0-9+/_-]{3}[A-Za-z0-9+/_-]*+={0,2}"
)
_HEX = lazy_regex(
    r"[2-7][0-9a-fA-F][2-7](?<![0-9A-Za-wyz]...)[0-9a-fA-F][2-7][0-9a-fA-F](?:[2-7][0-9a-fA-F]){4,}+"
    r"(?:[0-9a-fA-F]{2})*+(?![0-9A-Za-z])"
)
_SPACED_HEX = lazy_regex(
    r"[2-7][0-9a-fA-F][ :](?<![0-9A-Za-z]...)(?:[2-7][0-9a-fA-F][ :]){6,}+"
    r"(?:[0-9a-fA-F]{2}[ :])*+(?:[0-9a-fA-F]{2}\b)?+"
)
# A value of which every sign is escaped.
_ESCAPED = lazy_regex(
    r"(?:\\x[0-9a-fA-F]{2}){8,2000}+|(?:\\u00[0-9a-fA-F]{2}){8,2000}+|(?:%[0-9a-fA-F]{2}){8,2000}+"
    r"|(?:&\#[0-9]{2,3};){8,2000}+|(?:&\#[xX][0-9a-fA-F]{2};){8,2000}+|(?:\\[01][0-7]{2}){8,2000}+"
)
_ESCAPES = ("\\x", "\\u00", "&#", "\\0", "\\1")
# Lines of `xxd` and `hexdump -C`: where, bytes in groups, and the same as characters.
_DUMP_LINE = (
    r"[ \t]{0,20}[0-9a-fA-F]{6,8}:?[ \t]{1,3}(?:[0-9a-fA-F]{2,8}[ \t]{1,2}){%s,16}[ \t]{0,40}\S?.{0,40}"
)
_DUMP = lazy_regex(rf"(?m)^{_DUMP_LINE % 2}(?:\r?\n{_DUMP_LINE % 1}){{0,2000}}")
_DUMPED = lazy_regex(r"(?m)^[ \t]*[0-9a-fA-F]{6,8}:?[ \t]{1,3}((?:[0-9a-fA-F]{2,8}[ \t]{1,2})+)")
_PROBE = 16
_LONGEST_RUN = 400_000
_SHORTEST_HELD = 8


class View:
    """A text and where its characters come from."""

    __slots__ = ("_apart", "_ends", "_joints", "_origin_ends", "_origins", "_parent", "_starts", "text")

    def __init__(self, text: str, edits: list[tuple[int, int, int, int]], parent: View | None, apart: bool):
        self.text = text
        self._parent = parent
        # `apart`: the pieces stand for runs far from each other, and nothing lies between them.
        self._apart = apart
        self._starts = [edit[0] for edit in edits]
        self._ends = [edit[1] for edit in edits]
        self._origins = [edit[2] for edit in edits]
        self._origin_ends = [edit[3] for edit in edits]
        self._joints: list[tuple[int, Joint]] = []

    @property
    def is_joined(self) -> bool:
        """Whether pieces were put together at joints."""
        return bool(self._joints)

    def bind(self, found: list[Joint]) -> None:
        """Remember what kinds of joints the view was put together at."""
        known = {(joint.start, joint.end): joint for joint in found}
        edits = zip(self._starts, self._origins, self._origin_ends, strict=True)
        self._joints = [(at, known[low, high]) for at, low, high in edits if (low, high) in known]

    def end_of(self, start: int, end: int) -> int:
        """Return where a finding ends that may reach too far, over a joint that is none; `start` if nothing is left.

        What does not reach over a joint is found in the text itself, if it is there without one.
        """
        if not self._joints:
            return end
        places = [at for at, _ in self._joints]
        first, last = bisect_right(places, start), bisect_left(places, end)
        if first == last:
            before = self._joints[first - 1] if first else None
            doubtful = before is not None and not before[1].sure and start - before[0] < _REACH_OF_NAME
            return start if doubtful else end
        for at, joint in reversed(self._joints[first:last]):
            if joint.sure or not joint.ordinary:
                return end
            end = at
        return start

    def pieces(self) -> Iterator[tuple[str, int, int]]:
        """What each run of the text before holds, and where it stands there; nothing in other views."""
        if self._apart:
            for start, end, low, high in zip(
                self._starts, self._ends, self._origins, self._origin_ends, strict=True
            ):
                yield self.text[start:end].removesuffix(_GAP), low, high

    def before_it(self, low: int, high: int) -> list[Span]:
        """Return the spans of the original text for a span of the text that this view was made from."""
        return [(low, high)] if self._parent is None else self._parent.origin(low, high)

    @property
    def source(self) -> View | None:
        """The view that this one was made from; None if that is the text itself."""
        return self._parent

    def origin(self, start: int, end: int) -> list[Span]:
        """Return the spans of the original text that `text[start:end]` was decoded from."""
        spans = self._of_runs(start, end) if self._apart else list(self._around_gaps(start, end))
        if self._parent is None:
            return spans
        return [origin for span in spans for origin in self._parent.origin(*span)]

    def _of_runs(self, start: int, end: int) -> list[Span]:
        first = max(0, bisect_right(self._starts, start) - 1)
        last = bisect_right(self._starts, end - 1)
        return list(zip(self._origins[first:last], self._origin_ends[first:last], strict=True))

    def _around_gaps(self, start: int, end: int) -> Iterator[Span]:
        """What was left out of the view is no part of any finding."""
        for i in range(bisect_right(self._starts, start), bisect_right(self._starts, end - 1)):
            if self.text.startswith(_GAP, self._starts[i]) and self._ends[i] - self._starts[i] == len(_GAP):
                if start < self._starts[i]:
                    yield self._first(start), self._last(self._starts[i])
                start = self._ends[i]
        if start < end:
            yield self._first(start), self._last(end)

    def _first(self, position: int) -> int:
        i = bisect_right(self._starts, position) - 1
        if i < 0:
            return position
        if position < self._ends[i]:
            return self._origins[i]
        return self._origin_ends[i] + position - self._ends[i]

    def _last(self, end: int) -> int:
        i = bisect_right(self._starts, end - 1) - 1
        if i < 0:
            return end
        if end - 1 < self._ends[i]:
            return self._origin_ends[i]
        return self._origin_ends[i] + end - self._ends[i]


def views(text: str) -> Iterator[View]:
    """Yield the text behind each of its encodings, and behind the encodings in those; never the text itself."""
    budget = MOST_WORK * len(text) + SPARE_WORK
    layer: list[tuple[View | None, tuple[_Maker, ...]]] = [(None, _MAKERS)]
    for _ in range(MOST_LAYERS):
        following: list[tuple[View | None, tuple[_Maker, ...]]] = []
        for parent, makers in layer:
            source = text if parent is None else parent.text
            for make in makers:
                view = make(source, parent)
                if view is None:
                    continue
                budget -= len(view.text)
                if budget < 0:
                    return
                yield view
                # What was put together may be base64; its escapes are those of its parent, decoded there.
                following.append((view, (_held,) if make is _joined else _MAKERS))
        layer = following


def _windows(text: str, places: Iterable[Span]) -> list[Span]:
    """Return the parts of the text near the places, cut at blanks; the rest reads as it did."""
    windows: list[Span] = []
    for start, end in places:
        if windows and end + _REACH <= windows[-1][1]:
            continue
        low = max(0, start - _REACH)
        if windows and low <= windows[-1][1]:
            low = windows.pop()[0]
        elif low:
            floor = windows[-1][1] if windows else 0
            low = max(floor - 1, text.rfind(" ", floor, low), text.rfind("\n", floor, low)) + 1
            if windows and low <= windows[-1][1]:
                low = windows.pop()[0]
        blank = _BLANK.search(text, min(len(text), end + _REACH))
        windows.append((low, blank.start() if blank else len(text)))
    return windows


def _rewritten(text: str, edits: list[_Edit], windows: list[Span], parent: View | None) -> View | None:
    """Return the windows with the edits made; both are in order and do not overlap."""
    if not edits:
        return None
    cuts = pairwise([0, *(bound for window in windows for bound in window), len(text)])
    gaps = [(low, high, _GAP) for low, high in list(cuts)[::2] if low < high]
    pieces: list[str] = []
    placed: list[tuple[int, int, int, int]] = []
    position = length = 0
    for start, end, replacement in sorted([*gaps, *edits]) if gaps else edits:
        length += start - position
        pieces += (text[position:start], replacement)
        placed.append((length, length + len(replacement), start, end))
        length += len(replacement)
        position = end
    pieces.append(text[position:])
    return View("".join(pieces), placed, parent, apart=False)


# One layer of escapes, codes and disguises.


def _decoded(text: str, parent: View | None) -> View | None:
    worth, pattern = _WORTH, _CODED
    if not text.isascii() and _STYLE_WORTH.search(text):
        worth, pattern = _WORTH_OR_STYLED, _CODED_OR_STYLED
    elif not ("\\" in text or "%" in text or "&" in text or "\x1b" in text or "$'" in text or '$"' in text):
        return None
    windows = _windows(text, (match.span() for match in worth.finditer(text)))
    edits = []
    for low, high in windows:
        for match in pattern.finditer(text, low, high):
            shown = _shown(match[0])
            if shown != match[0]:
                edits.append((match.start(), match.end(), shown))
    return _rewritten(text, edits, windows, parent)


def _shown(code: str) -> str:
    sign = code[0]
    if sign == "\\":
        return _unescaped(code[1:])
    if sign == "%":
        return _from_bytes(bytes.fromhex(code.replace("%", "")), code)
    if sign == "&":
        from html import unescape

        return unescape(code)
    if sign in "$\x1b" or _is_unseen(sign):
        return ""
    from unicodedata import normalize

    folded = normalize("NFKC", sign)
    return folded if folded.isascii() else sign


def _is_unseen(sign: str) -> bool:
    return _STYLE_WORTH.match(sign) is not None and not re.match(_STYLED, sign)


def _unescaped(code: str) -> str:
    letter = code[0]
    if letter in "\r\n":
        return ""
    if letter in "01234567" and len(code) == 3:
        return chr(int(code, 8))
    if letter in _LETTERS:
        return _LETTERS[letter]
    if letter not in "uUx":
        return letter
    digits = code[1:].strip("{}")
    if len(code) == 11:  # two halves of one character
        return (
            (chr(int(code[1:5], 16)) + chr(int(code[7:], 16)))
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )
    number = int(digits, 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else " "


def _from_bytes(data: bytes, code: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # Part of it may be a character cut off; the ASCII in it counts.
        return data.decode("ascii", "replace") if any(byte < 0x80 for byte in data) else code


# Values broken over lines, or over strings that a program puts together.


def _joined(text: str, parent: View | None) -> View | None:
    found = joints(text)
    edits = [(joint.start, joint.end, "") for joint in found]
    view = _rewritten(text, edits, _windows(text, (edit[:2] for edit in edits)), parent)
    if view is not None:
        view.bind(found)
    return view


# What base64 and hex runs hold.


def _held(text: str, parent: View | None) -> View | None:
    pieces: list[str] = []
    placed: list[tuple[int, int, int, int]] = []
    length = 0
    for pattern, decode in _RUNS:
        if (
            pattern is _ESCAPED
            and not any(sign in text for sign in _ESCAPES)
            and text.count("%") < _SHORTEST_HELD
        ):
            continue
        for match in pattern.finditer(text):
            run = match[0].rstrip(" :")
            held = decode(run)
            if len(held) < _SHORTEST_HELD:
                continue
            pieces.append(held + _GAP)
            placed.append((length, length + len(pieces[-1]), match.start(), match.start() + len(run)))
            length += len(pieces[-1])
    return View("".join(pieces), placed, parent, apart=True) if pieces else None


def _of_base64(run: str) -> str:
    if len(run) > _LONGEST_RUN or run.isdigit():
        return ""
    standard = run.rstrip("=").translate(_URL_SIGNS)
    if not _text_of(_decode_base64(standard[:_PROBE]), cut=True):
        return ""
    return _text_of(_decode_base64(standard), cut=True)


_URL_SIGNS = str.maketrans("-_", "+/")


def _decode_base64(signs: str) -> bytes:
    from binascii import Error, a2b_base64

    whole = signs[: len(signs) - (len(signs) % 4 == 1)]
    try:
        return a2b_base64(whole + "=" * (-len(whole) % 4))
    except (Error, ValueError):
        return b""


def _of_hex(run: str) -> str:
    digits = run.replace(" ", "").replace(":", "")
    if len(digits) > _LONGEST_RUN or (digits.isdigit() and len(digits) < 20):
        return ""
    if not _text_of(bytes.fromhex(digits[:_PROBE]), cut=True):
        return ""
    return _text_of(bytes.fromhex(digits), cut=True)


def _of_escapes(run: str) -> str:
    return _text_of(_CODED.sub(lambda match: _shown(match[0]), run).encode(), cut=True)


def _of_dump(block: str) -> str:
    """What a dump of bytes shows; a line's last group may touch its characters."""
    digits = "".join("".join(match[1].split())[:32] for match in _DUMPED.finditer(block))
    return _text_of(bytes.fromhex(digits[: len(digits) // 2 * 2]), cut=True)


_RUNS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (_BASE64, _of_base64),
    (_HEX, _of_hex),
    (_SPACED_HEX, _of_hex),
    (_DUMP, _of_dump),
    (_ESCAPED, _of_escapes),
)


def _text_of(data: bytes, cut: bool) -> str:
    """Return the text that bytes are, or '': no control characters but blanks, and UTF-8, or UTF-16 of ASCII."""
    if not data:
        return ""
    if data[1::2].count(0) == len(data) // 2 and len(data) > 3:
        data = data[::2]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if not cut or error.start < len(data) - 3:
            return ""
        text = data[: error.start].decode("utf-8")
    return text if text.isprintable() or all(char.isprintable() or char in "\n\r\t" for char in text) else ""


_Maker = Callable[[str, View | None], View | None]
_MAKERS: tuple[_Maker, ...] = (_decoded, _joined, _held)
