"""Writes from the page, all in one way: do it, say so, and offer to take it back.

What the command line's functions change in memory files and lessons keeps versions, so the undo on the page is
`holdfast undo`. It goes only while that change is still the last one: anything newer would be taken back instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from holdfast.briefing.projects import memory_of
from holdfast.core.errors import StoreError
from holdfast.flows.undo import Undone, undo, undo_personal
from holdfast.store.versions import BY_HAND, Change, Versions
from holdfast.web.contract import Changed, Request, Route, Screen, Undo

T = TypeVar("T")
_PERSONAL = "personal"


def change(
    request: Request,
    message: str | Callable[[T], str],
    action: Callable[[], T],
    *,
    goto: str = "",
    undo: Undo | None = None,
) -> Changed:
    """Runs a write and says what it did. `message` may be made from the result.

    The undo is found among the versions that the write left. Where it leaves none (the configuration, a switch), give
    `undo`, the write that reverses it.
    """
    before = _last(request), _last_personal(request)
    result = action()
    said = message if isinstance(message, str) else message(result)
    if undo is None:
        after = _last(request), _last_personal(request)
        if after[0] != before[0] and after[0]:
            undo = Undo(request.url("changes"), {"change": after[0]})
        elif after[1] != before[1] and after[1]:
            undo = Undo(request.url("changes"), {"change": after[1], "of": _PERSONAL})
    return Changed(said, undo, goto)


def take_back(request: Request) -> Changed:
    """The Undo button. A second undo brings the change back, as on the command line."""
    personal = request.form.get("of") == _PERSONAL
    last = _last_personal if personal else _last
    if last(request) != request.form.get("change"):
        raise StoreError(
            "something else has changed since", fix="holdfast undo shows the last change, and takes it back"
        )
    return change(request, _described, lambda: _undo(request, personal=personal))


def _undo(request: Request, *, personal: bool) -> list[Undone]:
    if personal:
        return undo_personal(request.machine, request.project)
    return undo(request.machine, request.project, None)


def _described(undone: list[Undone]) -> str:
    files = ", ".join(file.file for file in undone[:3])
    return f"Undone in {files}" if undone else "Nothing to undo"


def _last(request: Request) -> str:
    """What names the last change of the memory: its group, or its number."""
    return _name(memory_of(request.machine, request.project).history())


def _last_personal(request: Request) -> str:
    changes = Versions(request.machine.home / "lessons" / ".history").changes()
    return _name(changes[::-1])


def _name(newest_first: Iterable[Change]) -> str:
    newest = next((made for made in newest_first if made.reason != BY_HAND), None)
    return "" if newest is None else f"{newest.group}:{newest.n}"


SCREEN = Screen("changes", "Undo", "", "hidden", (Route("/undo", take_back, "POST", name="changes"),))
