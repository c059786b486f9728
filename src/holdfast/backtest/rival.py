"""The simple rival: the commands and files of the latest sessions, as a list at the first prompt."""

from __future__ import annotations

from itertools import zip_longest

from holdfast.backtest.known import Known
from holdfast.backtest.telling import ToldLine
from holdfast.core.tokens import count_tokens
from holdfast.hooks.offers import COMMANDS_HEADING

BUDGET = 200  # tokens, as in the replay that this is compared with
MOST_COMMANDS = 8


def recency(known: Known, step: int) -> list[ToldLine]:
    """Commands and files in turn, the latest first, as far as they fit."""
    commands = sorted(known.commands, key=lambda text: (-known.commands[text], text))[:MOST_COMMANDS]
    files = sorted(known.edited, key=lambda path: (-known.edited[path], path))
    lines: list[ToldLine] = []
    budget = BUDGET
    for command, path in zip_longest(commands, files):
        for text, file in (
            (f"{COMMANDS_HEADING}`{command}`", "") if command else ("", ""),
            (path or "", path or ""),
        ):
            cost = count_tokens(text)
            if text and cost <= budget:
                budget -= cost
                lines.append(
                    ToldLine(
                        text=text, reason="recency", when="first prompt", step=step, tokens=cost, path=file
                    )
                )
    return lines
