"""What a prompt asks for, as the prompt hook would take it."""

from __future__ import annotations

from msgspec import Struct, field

from holdfast.hot.classify import classify


class Classified(Struct, frozen=True):
    """`why` names the words or the shape that decided."""

    kind: str = field(name="class")
    confidence: float
    why: str


def classified(prompt: str) -> Classified:
    """By the rules: the one classifier there is until a model can be configured (`classifier`, personal only)."""
    return Classified(*classify(prompt))
