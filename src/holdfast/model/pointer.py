"""File pointers: what a past session says of the files it worked on, and what a prompt is told of them."""

from __future__ import annotations

from msgspec import Struct


class PointerSession(Struct, frozen=True, kw_only=True):
    """One ended session, as far as it says which files belong to which words. Paths are the repository's."""

    session: str
    at: float
    prompts: tuple[str, ...]
    answer: str = ""  # the agent's last words: they name what was done
    branch: str = ""
    edited: tuple[str, ...] = ()
    read: tuple[str, ...] = ()  # read and not edited
    named: tuple[tuple[str, str], ...] = ()  # a file that was edited, and the names that were written into it


class Pointer(Struct, frozen=True, kw_only=True):
    """A file that the work asked for is likely to touch.

    `chance` is how often files with this standing were touched in the histories that the weights were fitted on.
    """

    path: str
    why: str
    chance: float
    session: str = ""  # the session that speaks most for it
