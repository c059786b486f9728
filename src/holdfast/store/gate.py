"""The gate: every text that is stored passes it, whole, before anybody splits or shortens it.

It takes out our own injected blocks, private parts, secrets, and what was forgotten in the project. A text that is
split first is not safe: the tags of a private part, or the lines of a key, may be in different pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.errors import NameRefused, UsageError
from holdfast.core.hashes import blake2b
from holdfast.core.names import safe_name
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.project import Project

_END = "\x01"


def gate(machine: Machine, project: Project) -> Callable[[str], str]:
    """The function that makes a text fit to be stored in this project's memory."""
    return Denied(project.memory).cleaner(machine.clean)


def admit(machine: Machine, project: Project, text: str, what: str) -> str:
    """A text that somebody gives, fit to be stored. Raises UsageError if it contains what was forgotten here."""
    cleaned = machine.clean(text)
    if cleaned and Denied(project.memory).strip(cleaned) != cleaned:
        raise UsageError(
            f"{what} contains text that was forgotten in this project; nothing was written",
            fix="Use other words",
        )
    return cleaned


def pass_value(value: Any, clean: Callable[[str], str]) -> Any:
    """Plain values with every text in them passed through `clean`, the keys of maps included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [pass_value(item, clean) for item in value]
    if isinstance(value, dict):
        return {pass_value(key, clean): pass_value(item, clean) for key, item in value.items()}
    return value


def pass_file(text: str, clean: Callable[[str], str]) -> str:
    """A whole file. A private tag that is never closed takes the rest of its line, not the rest of the file."""
    from holdfast.guard.not_secret import strip_private

    if not strip_private(text + _END).endswith(_END):
        return "".join(f"{clean(line)}\n" for line in text.split("\n"))[:-1]
    return clean(text)


def session_name(session: str, clean: Callable[[str], str]) -> str:
    """A session id that is safe to display and store. A path or an id with a secret is replaced by its hash."""
    if not session:
        return ""
    try:
        if clean(session) == session:
            return safe_name(session)
    except NameRefused:
        pass
    return f"s-{blake2b(session.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"
