"""Finds files that were read through the shell: some agents have no other way to read one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell_calls import READERS

_STEP = lazy_regex(r"&&|\|\||;|\n")
_WRAPPER = lazy_regex(r"^(?:/bin/)?(?:ba|z)?sh\s+-l?c\s+(['\"])(.*)\1$", re.S)
_PATH_SIGNS = lazy_regex(r"[\w.@+\-/\\:~\[\]() ]*[\w\])]")
_ENDING = lazy_regex(r"\.[A-Za-z]\w{0,7}$")
_LONGEST = 2000


def shell_reads(commands: Iterable[str]) -> Iterator[str]:
    """Paths as the commands give them, relative to the directory they were run in."""
    for command in commands:
        yield from _of_command(command[:_LONGEST].strip())


def _of_command(command: str) -> Iterator[str]:
    wrapped = _WRAPPER.match(command)
    folder = ""
    for step in _STEP.split(wrapped[2] if wrapped else command):
        first = step.split(None, 1)[:1]
        if not first or (first[0] != "cd" and first[0] not in READERS) or "<<" in step:
            continue  # most commands read nothing, and taking one apart is slow
        try:
            words = shlex.split(step.partition("|")[0], posix="\\" not in step)
        except ValueError:  # a quote that is closed after a separator, or was clipped
            continue
        if words[0] == "cd":
            folder = words[1].rstrip("/") if len(words) > 1 else ""
        elif words[0] in READERS and not any(word.startswith(("-i", ">")) for word in words):
            for word in words[1:]:
                if not word.startswith("-") and _is_path(word):
                    yield f"{folder}/{word}" if folder and not word.startswith("/") else word


def _is_path(word: str) -> bool:
    return bool(_PATH_SIGNS.fullmatch(word) and ("/" in word or _ENDING.search(word)))
