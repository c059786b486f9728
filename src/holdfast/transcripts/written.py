"""What an edit puts into a file and takes out of it, as far as the arguments of its call say so.

Only its beginning is read, for the names in it: by them a later prompt may mean a file that it does not name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.model.session import Action
from holdfast.transcripts.loose import PATCHED

LONGEST_WRITTEN = 800
_TEXTS = (
    "old_string",
    "new_string",
    "oldString",
    "newString",
    "old_str",
    "new_str",
    "content",
    "file_text",
    "new_source",
    "insert_text",
)
_PARTS = ("edits", "replacements")


def written_by(action: Action, arguments: Mapping[str, Any], paths: tuple[str, ...]) -> tuple[str, ...]:
    """What a call writes into its one file; nothing of calls that do not edit."""
    if action != "edit" or len(paths) != 1:
        return ()
    found = _texts(arguments)
    for name in _PARTS:
        parts = arguments.get(name)
        if isinstance(parts, list):
            for part in parts:
                if isinstance(part, dict):
                    found += _texts(part)
    return (_beginning("\n".join(found)),)


def written_in_patch(patch: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    """For each file of a patch what stands under its name; what a moved file gets belongs to where it went."""
    parts = PATCHED.split(patch)
    under: dict[str, str] = {}
    for path, text in zip(parts[1::2], parts[2::2], strict=True):
        under[path] = under.get(path, "") + text
    return tuple(_beginning(under.get(path, "")) for path in paths)


def _texts(arguments: Mapping[str, Any]) -> list[str]:
    return [text for name in _TEXTS if isinstance(text := arguments.get(name), str)]


def _beginning(text: str) -> str:
    """Whole words only: half a name is none."""
    if len(text) <= LONGEST_WRITTEN:
        return text
    return text[:LONGEST_WRITTEN].rpartition("\n")[0]
