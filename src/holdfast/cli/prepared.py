"""Prints answers that were prepared when memory was saved, without loading the application."""

from __future__ import annotations

import os
import sys

from holdfast.core.place import find_checkout
from holdfast.hooks.resume import told
from holdfast.terminal.output import on_screen


def print_resume(words: list[str]) -> bool:
    """Prints the start lines of a new session here; False if the application must compute them.

    Only what is asked most is understood: `--json`, `--why` and `--branch NAME`.
    """
    rest, branch = list(words), None
    if "--branch" in rest[:-1]:
        place = rest.index("--branch")
        branch = rest[place + 1]
        del rest[place : place + 2]
    if not set(rest) <= {"--json", "--why"} or (sys.stdout.encoding or "").lower() != "utf-8":
        return False
    if branch is not None and not _is_local(branch):
        return False  # the application says if there is none of that name
    answer = told(os.getcwd(), dict(os.environ), branch)
    if answer is None or not answer["lines"]:
        return False
    text = _as_json(answer) if "--json" in rest else _as_text(answer, why="--why" in rest)
    if not text.replace("\n", "").isprintable():
        return False  # something that a terminal might obey: the application shows it harmlessly
    reading = sys.stdout.isatty() and "--json" not in rest
    sys.stdout.write(on_screen(text) if reading else text)
    sys.stdout.flush()
    if reading:
        sys.stderr.write(
            f"{len(answer['lines'])} line{'s' if len(answer['lines']) > 1 else ''}, {answer['tokens']} tokens\n"
        )
    return True


def _is_local(branch: str) -> bool:
    checkout = find_checkout(os.getcwd())
    return checkout is not None and os.path.isfile(os.path.join(checkout.common, "refs", "heads", branch))


def _as_text(answer: dict[str, list[dict[str, str]]], *, why: bool) -> str:
    return "".join(
        f"{line['text']}\n    {line['reason']}\n" if why else f"{line['text']}\n" for line in answer["lines"]
    )


def _as_json(answer: object) -> str:
    import json

    return json.dumps(answer, indent=2, ensure_ascii=False) + "\n"
