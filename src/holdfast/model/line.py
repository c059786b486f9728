"""One line that an agent or a person sees."""

from __future__ import annotations

from msgspec import Struct


class Line(Struct, frozen=True, omit_defaults=True):
    """One line, and why it is worth its tokens.

    `kind` says what sort of line it is, `id` which statement or file, `source` where that stands. `said` is the text
    without its label and marks, `subject` what it is about: the goal of a session, the purpose of a command.
    """

    text: str
    reason: str = ""
    kind: str = ""
    id: str = ""
    source: str = ""
    said: str = ""
    subject: str = ""
    branch: str = ""
    session: str = ""

    def as_json(self) -> dict[str, str]:
        return {"text": self.text, "reason": self.reason}
