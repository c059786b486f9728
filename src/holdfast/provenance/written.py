"""What an edit wrote: the lines that a recorded call added to each file, whichever agent recorded it.

Only what the call itself says counts. A call whose text does not show what became of the file writes nothing here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.model.events import ToolCall
from holdfast.provenance.shell_writes import here_documents, substitutions

MOST_LINES = 50_000  # of one edit
_OLD = ("old_string", "oldString", "old_str", "oldText", "old_text", "search")
_NEW = ("new_string", "newString", "new_str", "newText", "new_text", "replace")
_WHOLE = ("content", "file_text", "contents", "fileText", "insert_text", "code_edit")
_SEVERAL = ("edits", "replacements")
_PATCHES = ("patchText", "patch", "input", "diff")
_PATCH_FILE = lazy_regex(r"\*\*\* (?:(Update|Add|Delete) File|(Move) to): (.+?)\s*")
_BLOCK = lazy_regex(
    r"^(?:<{5,9}|-{7,9}) ?SEARCH[^\n]*\n(.*?)^={7}[ \t]*\n(.*?)^(?:>{5,9}|\+{7,9}) ?REPLACE",
    re.DOTALL | re.MULTILINE,
)
_ELIDED = lazy_regex(r"\s*(?://|#|/\*|<!--|--)?\s*\.{3}.*")  # `// ... existing code ...`


class Writing(Struct, frozen=True):
    """What one call wrote into one file: whole lines in order, and texts that may be parts of lines.

    `whole` says that the text is all of the file: lines of it may have stood there before.
    """

    path: str
    lines: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    whole: bool = False


def writings(call: ToolCall, said: str = "") -> list[Writing]:
    """What a call wrote. `said` is the agent's last message, in which aider puts its edits."""
    if call.action == "shell":
        found = [Writing(path, _split(text), whole=False) for path, text in here_documents(call.target)]
        found += [Writing(path, parts=(text,)) for path, text in substitutions(call.target)]
        return found
    if call.action != "edit":
        return []
    if isinstance(call.given, str):
        if "*** " in call.given:
            return list(_patched(call.given))
        return [_replaced(path, _blocks_for(path, said)) for path in call.paths] if said else []
    return list(_from_arguments(call.given, call.paths))


def _from_arguments(given: Mapping[str, Any], paths: Sequence[str]) -> Iterator[Writing]:
    for name in _PATCHES:
        patch = given.get(name)
        if isinstance(patch, str) and "*** " in patch and _PATCH_FILE.search(patch):
            yield from _patched(patch)
            return
    if len(paths) != 1:
        return
    (path,) = paths
    pairs: list[tuple[str, str]] = []
    if blocks := _text(given, ("diff", *_PATCHES)):
        pairs += _BLOCK.findall(blocks)
    for name in _SEVERAL:
        inner = given.get(name)
        for one in inner if isinstance(inner, list) else ():
            if isinstance(one, dict) and (new := _text(one, _NEW)):
                pairs.append((_text(one, _OLD), new))
    if new := _text(given, _NEW):
        pairs.append((_text(given, _OLD), new))
    if pairs:
        yield _replaced(path, pairs)
    elif text := _text(given, _WHOLE):
        yield Writing(path, _split(text), whole=True)


def _text(given: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((text for name in names if isinstance(text := given.get(name), str) and text), "")


def _replaced(path: str, pairs: Sequence[tuple[str, str]]) -> Writing:
    """The lines that replacements added. What a text begins or ends with may be a part of a line."""
    lines: list[str] = []
    parts: list[str] = []
    for old, new in pairs:
        added = _added(_split(old), _split(new))
        lines += added
        ends = dict.fromkeys((*_split(new)[:1], *_split(new)[-1:]))
        parts += [line for line in ends if line in added] if old else []
    return Writing(path, tuple(lines[:MOST_LINES]), tuple(parts))


def _added(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new lines that were not there before, in order."""
    before = Counter("".join(line.split()) for line in old)
    added = []
    for line in new:
        squeezed = "".join(line.split())
        if before[squeezed]:
            before[squeezed] -= 1
        else:
            added.append(line)
    return added


def _patched(patch: str) -> Iterator[Writing]:
    """The added lines of a patch in the `*** Update File:` notation; what a moved file gets belongs to its new name."""
    path, added = "", list[str]()
    for line in patch.split("\n"):
        if line.startswith("*** "):
            named = _PATCH_FILE.fullmatch(line)
            if named and named[2]:
                path = named[3]
            elif named or line.startswith("*** End Patch"):
                if path and added:
                    yield Writing(path, tuple(added[:MOST_LINES]))
                path, added = (named[3] if named else ""), []
        elif line.startswith("+") and path:
            added.append(line[1:])
    if path and added:
        yield Writing(path, tuple(added[:MOST_LINES]))


def _blocks_for(path: str, said: str) -> list[tuple[str, str]]:
    """The SEARCH/REPLACE blocks of a message that stand under the name of this file."""
    pairs: list[tuple[str, str]] = []
    for block in _BLOCK.finditer(said):
        above = [line.strip().strip("`*#: ") for line in said[: block.start()].split("\n")[-5:]]
        names = [line for line in above if line and not line.startswith(("```", "~~~")) and "." in line]
        earlier = pairs and not names  # a further block of the file that was named before
        if earlier or (names and (names[-1] == path or path.endswith(f"/{names[-1]}"))):
            pairs.append((block[1], block[2]))
    return pairs


def _split(text: str) -> tuple[str, ...]:
    """The lines of a text without the marks with which models leave out what stays."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return tuple(line for line in lines[:MOST_LINES] if "..." not in line or not _ELIDED.fullmatch(line))
