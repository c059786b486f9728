"""What a lesson must not hold: text that nobody sees, and lines that speak as holdfast or as the agent's host."""

from __future__ import annotations

import re
from functools import cache

from holdfast.guard.fence import imitates
from holdfast.guard.visible import has_hidden, visible

LONGEST_TARGET = 300
_DRIVE = re.compile(r"[A-Za-z]:")


@cache
def _tags() -> re.Pattern[str]:
    """Marks by which hosts and models tell who speaks. Names of components are written with capitals."""
    return re.compile(
        r"</?(?:system|assistant|human)(?:[-_][a-z]+)*(?:\s[^>]*)?>"
        r"|</?(?:antml:)?(?:tool_(?:use|calls?|results?)|function_(?:calls?|results?)|invoke)(?:\s[^>]*)?>"
        r"|<\|[a-z_]{2,30}\|>|\[/?INST\]"
    )


def why_refused(text: str) -> tuple[int, str] | None:
    """The line to blame and what is wrong with it; None for a text that shows all that it says, as what it is."""
    text = text.removeprefix("\ufeff")
    if not has_hidden(text) and not imitates(text) and not _tags().search(text):
        return None
    for number, line in enumerate(text.split("\n"), 1):
        if reason := why_line_refused(line):
            return number, reason
    return None


def why_line_refused(line: str) -> str:
    """What is wrong with one line; '' when nothing is."""
    line = line.removesuffix("\r")
    if has_hidden(line):
        sign = next((char for char in line if visible(char) != char), "\u200d")
        return f"hidden text ({visible(sign) if visible(sign) != sign else f'U+{ord(sign):04X}'})"
    if imitates(line):
        return "it imitates holdfast's own marks"
    if found := _tags().search(line):
        return f"it imitates a mark of the agent's host ({found[0][:40]})"
    return ""


@cache
def _orders() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|instructions?|rules?)\b"
        r"|\b(?:you (?:must|should|are now|need to|have to)|system prompt|as an ai|assistant)\b"
        r"|\b(?:curl|wget|eval|base64)\b|\brm -rf\b|://|\$\(|\|\s*(?:ba)?sh\b|\b(?:now|then|instead) run\b",
        re.IGNORECASE,
    )


def instructs(text: str) -> bool:
    """Whether words of a tool speak to whoever reads them, instead of saying what is wrong."""
    return bool(_orders().search(text))


def why_target_refused(target: str) -> str:
    """Why something cannot be depended on: a fingerprint stays inside the repository; '' when it does."""
    path = target.partition("#")[0].replace("\\", "/")
    if not path or len(target) > LONGEST_TARGET:
        return "it names no file"
    if path.startswith(("/", "~")) or _DRIVE.match(path) or ".." in path.split("/"):
        return "it leads out of the repository"
    return "it holds hidden characters" if has_hidden(target) or not target.isprintable() else ""
