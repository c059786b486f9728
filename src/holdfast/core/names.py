"""Checks names before they become file names; a refusal gives the reason in one line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

from holdfast.core.errors import NameRefused

_LONGEST = 100
_LETTERS_AND_DIGITS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Mn", "Mc"})
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "clock", "conin", "conout"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789"]
)
# Scripts that are written together; any other pair of scripts in one name is a spoof.
_FAMILIES = (
    frozenset({"CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC"}),
    frozenset({"HANGUL", "CJK"}),
    frozenset({"CJK", "BOPOMOFO"}),
)
# Letters of other scripts that look like Latin ones; a name made only of these imitates a Latin name.
_PASS_FOR_LATIN = frozenset("авсеніјкморѕтухԁԍһԛԝѡүӏАВСЕНІЈКМОРЅТУХҮӀԌԚԜαβγικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոհցքԼՍՏ")
_REASONS = {
    "/": "it holds a slash, so it is a path",
    "\\": "it holds a backslash, so it is a path",
    ":": "a colon makes it a drive or a stream",
    "%": "a percent sign may hide an encoded character",
    "~": "a tilde stands for somebody's home",
    "$": "a dollar sign is read by shells",
}

# Rules on position, for names whose characters are all allowed.
_POSITIONS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda name: name[0] == ".", "it begins with a dot"),
    (lambda name: name[0] == "-", "it begins with a dash and would be read as an option"),
    (lambda name: name[0] == "_", "it begins with an underscore, which is kept for holdfast's own folders"),
    (lambda name: name[-1] == ".", "it ends with a dot"),
    (lambda name: ".." in name, "it holds two dots in a row"),
    (lambda name: name.split(".")[0].casefold() in _RESERVED, "it is a device name on Windows"),
    (
        lambda name: not any(unicodedata.category(char)[0] in "LN" for char in name),
        "it holds no letter and no digit",
    ),
)


def safe_name(name: str) -> str:
    """Returns the name if it is a valid file name on every system and no spoof."""
    reason = _why_not(name)
    if reason:
        excerpt = ascii(name[:40]) + ("…" if len(name) > 40 else "")
        raise NameRefused(f"the name {excerpt} is refused: {reason}", fix="Use letters, digits, - _ and .")
    return name


def as_name(text: str) -> str:
    """The closest safe name to a text, such as a folder's name."""
    if _why_not(text) is None:
        return text
    plain = unicodedata.normalize("NFKC", text).replace("..", ".")
    plain = "".join(char if _why_not_characters(char) is None else "-" for char in plain)
    plain = re.sub(r"-{2,}", "-", plain).strip("-_.")[:_LONGEST].strip("-_.")
    return plain if _why_not(plain) is None else "project"


def _why_not(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name) > _LONGEST or len(name.encode("utf-8", "replace")) > 2 * _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    position = next((reason for refused, reason in _POSITIONS if refused(name)), None)
    return _why_not_characters(name) or position or _why_not_script(name)


def _why_not_characters(name: str) -> str | None:
    for char in name:
        if char in "-_.":
            continue
        if char in _REASONS:
            return _REASONS[char]
        category = unicodedata.category(char)
        if category[0] == "C":
            return "it holds a control or invisible character"
        if category[0] == "Z":
            return "it holds a blank"
        if category not in _LETTERS_AND_DIGITS:
            return f"{char!a} is no letter, digit, dash, underscore or dot"
    if unicodedata.normalize("NFKC", name) != name:
        return "it is written with look-alike or decomposed characters"
    return None


def _why_not_script(name: str) -> str | None:
    letters = [char for char in name if char not in "-_." and not ("0" <= char <= "9")]
    scripts = {script for script in map(_script, letters) if script}
    if "?" in scripts:
        return "it holds a character that cannot be seen"
    if len(scripts) > 1 and not any(scripts <= family for family in _FAMILIES):
        return f"it mixes scripts ({', '.join(sorted(scripts)).lower()})"
    if scripts and scripts != {"LATIN"} and all(char in _PASS_FOR_LATIN for char in letters):
        return f"its {min(scripts).lower()} letters pass for latin ones"
    return None


@cache
def _script(char: str) -> str:
    """The first word of a character's name is its script; marks and signs shared by scripts have none."""
    title = unicodedata.name(char, "")
    if not title or "FILLER" in title or title.startswith(("MODIFIER", "VARIATION")):
        return "?"
    if title.startswith("COMBINING"):
        return ""
    first = re.split(r"[ -]", title)[0]
    return "KATAKANA" if title.startswith("KATAKANA-HIRAGANA") else first


def inside(root: Path, candidate: Path) -> Path:
    """The real path of the candidate, links followed; refused when it is outside the root."""
    try:
        home = root.resolve()
        place = (home / candidate).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise NameRefused(f"{str(candidate)[:80]!a} cannot be followed: {type(error).__name__}") from error
    if not place.is_relative_to(home):
        raise NameRefused(f"{str(candidate)[:80]!a} leads out of {home}")
    return place
