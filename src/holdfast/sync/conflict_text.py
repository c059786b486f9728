"""What a conflict is about, and what its versions say, in words for people."""

from __future__ import annotations

from holdfast.core.wording import cut
from holdfast.guard.hidden_text import visible
from holdfast.sync.items import parts_of
from holdfast.sync.merge import Conflict

_KINDS = {
    "passage": "decision",
    "register": "decision",
    "fact": "fact",
    "question": "question",
    "lesson": "lesson",
    "file": "file",
    "log": "log entry",
    "team": "shared statement",
}
_MOST = 70


def label(conflict: Conflict) -> str:
    """What a conflict is about, in words."""
    kind, *rest = parts_of(conflict.key)
    if conflict.replaced:
        return f"two conflicting changes to {shown(conflict.replaced)}"
    if kind in ("lesson", "file"):
        return f"the {kind} {shown(rest[-1])} was changed in two places"
    said = next(
        (text_of(one.entry.body) for one in reversed(conflict.versions) if one.entry.body is not None),
        rest[-1],
    )
    return f"a {_KINDS.get(kind, kind)} was changed in two places: {cut(shown(said), _MOST)}"


def text_of(body: object) -> str:
    """What a version says, for people."""
    if body is None:
        return "(removed)"
    if not isinstance(body, dict):
        return str(body)
    for name in ("text", "passage", "fact"):
        inner = body.get(name)
        if isinstance(inner, dict):
            return text_of(inner)
        if isinstance(inner, str):
            because = body.get("rationale") or body.get("reason")
            reason = f" (because {because})" if because else ""
            return f"{inner}{reason}" + (f" → {body['answer']}" if body.get("answer") else "")
    return str(body)


def shown(text: str) -> str:
    """What others wrote, in one line, with hidden characters made visible."""
    return " ".join(visible(text).split())
