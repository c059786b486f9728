"""Makes stored text inert for the format in which it leaves: no terminal, browser or spreadsheet obeys it.

Everything that a command prints or writes for a person or another program passes through `inert`.
"""

from __future__ import annotations

from typing import Literal

from holdfast.guard.hidden_text import escaped_in_json, visible

Form = Literal["text", "json", "jsonl", "csv", "openmetrics", "md", "html"]

# Characters with which a spreadsheet begins a formula, also after blanks, and in their full width.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def inert(text: str, form: Form = "text") -> str:
    """A text for one of the formats. `json` and `jsonl` take a whole document, `csv` a cell, the others a text.

    Control characters, characters that change the direction of writing and invisible ones become escapes. In csv a
    text that a spreadsheet would run has an apostrophe before it, and so has one that begins with an apostrophe: a
    reader takes one off and has the text.
    """
    if form in ("json", "jsonl"):
        return escaped_in_json(text)
    text = visible(text)
    if form == "csv":
        return f"'{text}" if text.startswith("'") or _is_formula(text) else text
    if form == "openmetrics":
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    if form == "html":
        from html import escape

        return escape(text)
    return text.replace("<", "&lt;") if form == "md" else text


def _is_formula(text: str) -> bool:
    return text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA)
