"""What is known of the repository itself, in a few lines: conventions first, counts of the rest."""

from __future__ import annotations

import os

from holdfast.context.contract import REST_S, Source, counted, one_line
from holdfast.context.reading import stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.context.contract import Here, Value

FILE = "session.json"
_MOST_CONVENTIONS = 12
_LEAST_CONFIDENCE = 0.6
_COUNTED = (("patterns", "pattern"), ("facts", "fact"), ("files", "file"))


class KnowledgeSource(Source):
    key = "knowledge"
    rest = REST_S

    def stamp(self, here: Here) -> str:
        return (stamp_of(os.path.join(here.memory, FILE)) if here.memory else "") or "none"

    def load(self, here: Here) -> Value:
        known = here.knowledge() if here.knowledge else None
        if not isinstance(known, dict):
            return {}
        value: Value = {}
        conventions = [one for one in _listed(known, "conventions") if _confidence(one) >= _LEAST_CONFIDENCE]
        conventions.sort(key=_confidence, reverse=True)
        for one in conventions[:_MOST_CONVENTIONS]:
            category, pattern = one_line(str(one.get("category", "")), 40), one.get("pattern")
            if category and isinstance(pattern, str):
                scope = one.get("scope")
                said = one_line(f"{pattern} ({scope})" if scope and isinstance(scope, str) else pattern, 80)
                value[category] = f"{value[category]}, {said}" if category in value else said
        for name, noun in _COUNTED:
            if number := len(_listed(known, name)):
                value[name] = counted(number, noun)
        return value

    def summary(self, value: Value) -> str:
        names = [name for name, _ in _COUNTED]
        said = [f"{name} {text}" for name, text in value.items() if name not in names]
        return "; ".join([*said, *(value[name] for name in names if name in value)])


def _listed(known: dict[object, object], name: str) -> list[dict[str, object]]:
    """What another part of holdfast, or another version of it, has written; only what has the expected shape."""
    listed = known.get(name)
    if isinstance(listed, dict):  # by path
        listed = list(listed.values())
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _confidence(one: dict[str, object]) -> float:
    value = one.get("confidence")
    return float(value) if isinstance(value, int | float) else 0.0
