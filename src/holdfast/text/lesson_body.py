"""The body of a lesson: its bullets among whatever else a person wrote there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct

_BULLET = re.compile(r"[-*+][ \t]+(\S.*)")
_NESTED = re.compile(r"[ \t]+[-*+][ \t]+(\S.*)")
_CONTINUED = re.compile(r"(?:[ ]{2}|\t)[ \t]*(\S.*)")
_RULER = re.compile(r"[-*+_ \t]+")
_CODE = re.compile(r" {0,3}(`{3,}|~{3,})")


def one_line(text: str) -> str:
    return " ".join(text.split())


class Rule(Struct, frozen=True):
    """A bullet: its text, and its lines from `first` up to `end`."""

    text: str
    first: int
    end: int


def rules_of(body: str) -> list[Rule]:
    """The bullets, outside code and comments. What is indented below one belongs to it."""
    lines = [line.rstrip("\r") for line in body.split("\n")]
    rules: list[Rule] = []
    number = 0
    while number < len(lines):
        skipped = _past_other(lines, number)
        if skipped > number:
            number = skipped
            continue
        bullet = _BULLET.fullmatch(lines[number])
        number += 1
        if bullet is None or _RULER.fullmatch(bullet[1]):
            continue
        first, words = number - 1, [bullet[1]]
        while number < len(lines):
            nested, more = _NESTED.fullmatch(lines[number]), _CONTINUED.fullmatch(lines[number])
            if nested is None and more is None:
                break
            words.append(f"; {nested[1]}" if nested else f" {more[1]}" if more else "")
            number += 1
        rules.append(Rule(one_line("".join(words)), first, number))
    return rules


def _past_other(lines: Sequence[str], number: int) -> int:
    """Where code or a comment that begins in this line ends; the line itself when neither begins."""
    if code := _CODE.match(lines[number]):
        fence = code[1]
        for end in range(number + 1, len(lines)):
            closing = _CODE.match(lines[end])
            if closing and closing[1].startswith(fence) and not lines[end].strip().strip(fence[0]):
                return end + 1
        return len(lines)
    if lines[number].lstrip().startswith("<!--"):
        for end in range(number, len(lines)):
            if "-->" in lines[end]:
                return end + 1
        return len(lines)
    return number


def with_rules(body: str, rules: Sequence[str], newline: str) -> str:
    """The body with these rules: bullets that stay keep their bytes, and everything else does."""
    found = rules_of(body)
    old = [rule.text for rule in found]
    if list(dict.fromkeys(old)) == list(rules):
        return body
    lines = body.split("\n")
    ending = "\r" if newline == "\r\n" else ""
    written: list[str] = []
    done = 0
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(
        None, old, list(rules), False
    ).get_opcodes():
        if tag in ("replace", "insert"):
            if old_from < len(found):
                written += lines[done : found[old_from].first]
                done = max(done, found[old_from].first)
            elif found:  # behind the last one
                written += lines[done : found[-1].end]
                done = max(done, found[-1].end)
            written += [f"- {rule}{ending}" for rule in rules[new_from:new_to]]
        for rule in found[old_from:old_to]:
            written += lines[done : rule.first]
            written += lines[rule.first : rule.end] if tag == "equal" else []
            done = rule.end
    written += lines[done:] or [""]
    return "\n".join(written)
