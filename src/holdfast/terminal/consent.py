"""Asks a person for confirmation before changing their files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.core.errors import UsageError
from holdfast.store.machine import Machine


def agreed(question: str, fix: str = "Add --yes to go ahead, --dry-run to only look") -> bool:
    """Whether the person agreed. A script cannot be asked and uses `--yes`."""
    require_terminal(fix)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:  # Ctrl-D leaves the cursor behind the question
        sys.stderr.write("\n")
    return answer.strip().lower() in ("y", "yes")


def require_terminal(fix: str) -> None:
    """Raises UsageError where nobody can answer. Called before a question that takes more than a line."""
    if not sys.stdin.isatty():
        raise UsageError("no terminal: cannot ask", fix=fix)


def require_person(machine: Machine) -> None:
    """Raises UsageError inside an agent: text from elsewhere may have told it to agree."""
    if machine.inside_agent:
        fix = "Run it in a terminal of your own"
        raise UsageError("an agent cannot trust what came from elsewhere: a person must decide", fix=fix)


# Single keys from a terminal, as they are pressed.

END = ""
_ESCAPE = b"\x1b"


def terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


@contextmanager
def single_keys() -> Iterator[Callable[[], str]]:
    """A function that waits for the next key; END when there is none to come. The terminal is left as it was."""
    if sys.platform == "win32":
        import msvcrt

        yield lambda: msvcrt.getwch()
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # what was typed ahead counts
        yield lambda: _key(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _key(descriptor: int) -> str:
    """One character. Arrow and function keys send several, which mean nothing here."""
    data = os.read(descriptor, 1)
    if data == _ESCAPE:
        return _rest_of_escape(descriptor)
    if data in (b"", b"\x04"):
        return END
    while data[0] >= 0xC0 and len(data) < 4:  # a letter of several bytes
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            data += os.read(descriptor, 1)
    return data.decode("utf-8", "replace")


def _rest_of_escape(descriptor: int) -> str:
    """What belongs to one such key, and nothing that was typed after it."""
    import select

    def ready() -> bool:
        return bool(select.select([descriptor], [], [], 0.02)[0])

    if ready() and os.read(descriptor, 1) in (b"[", b"O"):
        while ready() and not 0x40 <= (os.read(descriptor, 1) or b"~")[0] <= 0x7E:
            pass
    return "\x1b"
