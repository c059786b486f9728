"""Makes hidden text visible: characters that a screen does not show are written as escapes."""

from __future__ import annotations

from holdfast.core.fence import imitates
from holdfast.core.patterns import PrefilteredRegex, lazy_regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# The characters of most lines: a text with only these is harmless, and needs no pattern.
_PLAIN = frozenset("\n –—…·×→≥≤•?").union(map(chr, range(0x20, 0x7F)))
_ZERO_WIDTH_NON_JOINER = "\u200c"
_ZERO_WIDTH_JOINER = "\u200d"
_TEXT_AND_EMOJI_STYLE = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
_BLACK_FLAG = "\U0001f3f4"
# The three flags that are written with tag characters: England, Scotland, Wales.
_FLAG_TAGS = tuple(
    "".join(chr(0xE0000 + ord(c)) for c in region) + "\U000e007f" for region in ("gbeng", "gbsct", "gbwls")
)
# Scripts in which the joiners change how a word is written.
_JOINING_SCRIPTS = (
    (0x0600, 0x08FF),
    (0x0900, 0x0DFF),
    (0x0F00, 0x109F),
    (0x1780, 0x18AF),
    (0x1A20, 0x1CFF),
    (0xFB50, 0xFDFF),
)
_EMOJI = (
    (0x203C, 0x203C),
    (0x2049, 0x2049),
    (0x2122, 0x2139),
    (0x2190, 0x2BFF),
    (0x3030, 0x303D),
    (0x1F000, 0x1FBFF),
)
_IDEOGRAPHS = ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))
# Format characters by category, but visible: number signs of Arabic and related scripts.
_DRAWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")

# Every character that may be hidden; most texts hold none and need one pass.
_SUSPECT = lazy_regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

LONGEST_TARGET = 300
_DRIVE = lazy_regex(r"[A-Za-z]:")
# Marks by which hosts and models tell roles apart. Names of components are capitalised.
_TAGS = lazy_regex(
    r"</?(?:system|assistant|human)(?:[-_][a-z]+)*(?:\s[^>]*)?>"
    r"|</?(?:antml:)?(?:tool_(?:use|calls?|results?)|function_(?:calls?|results?)|invoke)(?:\s[^>]*)?>"
    r"|<\|[a-z_]{2,30}\|>|\[/?INST\]"
)

_ORDERS = PrefilteredRegex(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|instructions?|rules?)\b"
    r"|\b(?:you (?:must|should|are now|need to|have to)|system prompt|as an ai|assistant)\b"
    r"|\b(?:curl|wget|eval|base64)\b|\brm -rf\b|://|\$\(|\|\s*(?:ba)?sh\b|\b(?:now|then|instead) run\b",
    2,  # re.IGNORECASE
)


def visible(text: str) -> str:
    """Return the text with every hidden character as `\\x1b`, `\\u200b` or `\\U000e0041`; the rest is unchanged."""
    return text if _PLAIN.issuperset(text) else _SUSPECT.sub(_shown, text)


def escaped_in_json(text: str) -> str:
    """Return a JSON document with the characters that may be hidden as JSON's escapes: it means the same."""
    return text if _PLAIN.issuperset(text) else _SUSPECT.sub(_in_json, text)


def _in_json(match: re.Match[str]) -> str:
    code = ord(match[0])
    if match[0] == "\r":
        return "\r"  # between values: inside of a text it is escaped already
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def has_hidden(text: str) -> bool:
    """Whether `visible` would change this text."""
    return any(_is_hidden(match) for match in _SUSPECT.finditer(text))


def _shown(match: re.Match[str]) -> str:
    char = match[0]
    if not _is_hidden(match):
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_hidden(match: re.Match[str]) -> bool:
    char, text, at = match[0], match.string, match.start()
    before = text[at - 1] if at else ""
    after = text[at + 1 : at + 2]
    if char == "\r":
        return after != "\n"
    if char in _DRAWN:
        return False
    if char == _ZERO_WIDTH_JOINER and _is_emoji_end(before) and _within(after, _EMOJI):
        return False
    if char in {_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER}:
        return not (_is_joining(before) and _is_joining(after))
    if "\ufe00" <= char <= "\ufe0f":
        return not _is_style(char, before, after)
    if "\U000e0100" <= char <= "\U000e01ef":
        return not _within(before, _IDEOGRAPHS)
    if "\U000e0020" <= char <= "\U000e007f":
        return not _is_in_flag(text, at)
    return True


def _is_style(char: str, before: str, after: str) -> bool:
    """Whether a variation selector follows a character that has variants; a row of selectors carries a message."""
    import unicodedata

    if not before or _is_selector(before):
        return False
    if before in "0123456789#*":
        return char in _TEXT_AND_EMOJI_STYLE and after == _KEYCAP
    if char in _TEXT_AND_EMOJI_STYLE:
        return _within(before, _EMOJI) or before in "©®" or unicodedata.category(before)[0] == "S"
    return _within(before, _IDEOGRAPHS) or unicodedata.category(before) == "Sm"


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _is_emoji_end(char: str) -> bool:
    return char == "\ufe0f" or _within(char, _EMOJI)


def _is_joining(char: str) -> bool:
    import unicodedata

    return _within(char, _JOINING_SCRIPTS) and unicodedata.category(char)[0] in "LM"


def _is_in_flag(text: str, at: int) -> bool:
    flag = text.rfind(_BLACK_FLAG, max(0, at - 6), at)
    return flag >= 0 and any(text.startswith(tags, flag + 1) for tags in _FLAG_TAGS)


def _within(char: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return bool(char) and any(low <= ord(char) <= high for low, high in ranges)


def path_text(path: str) -> str:
    """Return a path that can be stored and printed: bytes that are not text become escapes."""
    return path if path.isprintable() else path.encode("utf-8", "backslashreplace").decode("utf-8")


# What a lesson must not hold: invisible text, and lines that imitate holdfast or the agent's host.


def why_refused(text: str) -> tuple[int, str] | None:
    """Return the number of the offending line and the reason; None if the text hides and imitates nothing."""
    text = text.removeprefix("\ufeff")
    if not has_hidden(text) and not imitates(text) and not _TAGS.search(text):
        return None
    for number, line in enumerate(text.split("\n"), 1):
        if reason := why_line_refused(line):
            return number, reason
    return None


def why_line_refused(line: str) -> str:
    """Return what is wrong with one line, or ''."""
    line = line.removesuffix("\r")
    if has_hidden(line):
        sign = next((char for char in line if visible(char) != char), "\u200d")
        return f"hidden text ({visible(sign) if visible(sign) != sign else f'U+{ord(sign):04X}'})"
    if imitates(line):
        return "it imitates holdfast's own marks"
    if tag := _TAGS.search(line):
        return f"it imitates a mark of the agent's host ({tag[0][:40]})"
    return ""


def instructs(text: str) -> bool:
    """Whether a tool's message instructs the reader instead of saying what is wrong."""
    return bool(_ORDERS.search(text))


def why_target_refused(target: str) -> str:
    """Return why a lesson cannot depend on a target outside of the repository, or '' if it can."""
    path = target.partition("#")[0].replace("\\", "/")
    if not path or len(target) > LONGEST_TARGET:
        return "it names no file"
    if path.startswith(("/", "~")) or _DRIVE.match(path) or ".." in path.split("/"):
        return "it leads out of the repository"
    return "it holds hidden characters" if has_hidden(target) or not target.isprintable() else ""
