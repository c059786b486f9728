"""What a person asks to remember in a prompt: `remember: …`, or the host's own way of saying so.

The words go into an envelope. The process that captures keeps them as a decision by this person, redacted, and removes
the envelope.
"""

from __future__ import annotations

import os

from holdfast.core.content_ids import content_id
from holdfast.hooks import host_protocol, trace

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call

MARK = "remember:"
LONGEST = 500  # characters of one text: a longer one is a document
MOST = 3
_SHOWN = 90
_TASK_BEGINS = ("also", "then", "now", "please", "next", "afterwards")  # of a sentence that asks for work
# Claude Code's own way, which reaches the hook where the client does not take it: one line that begins with `#`.
_OWN_MARKS = {"claude-code": "# "}


def asked(host: str, prompt: str) -> list[str]:
    """The texts to remember: from `remember:` at the start of a line to the end of its paragraph."""
    prompt = prompt[: host_protocol.MOST_ASKED].strip()
    mark = _OWN_MARKS.get(host)
    if mark is not None and prompt.startswith(mark) and "\n" not in prompt:
        return _plain([prompt[len(mark) :]])
    texts: list[str] = []
    open_text = False
    for line in prompt.splitlines():
        words = line.strip()
        if words[: len(MARK)].lower() == MARK:
            texts.append(words[len(MARK) :])
            open_text = True
        elif not words:
            open_text = False
        elif open_text:
            texts[-1] += f" {words}"
    return _plain(texts)


def _plain(texts: list[str]) -> list[str]:
    return [text for found in texts if (text := _without_task(" ".join(found.split())))][:MOST]


def _without_task(text: str) -> str:
    """What is to be remembered, without the work that is asked for in the same breath: `. Also fix the typo`."""
    for place, sign in enumerate(text):
        if sign in ".!?;" and text[place + 1 : place + 2] == " ":
            word = text[place + 2 :].lstrip().partition(" ")[0].strip(",:").lower()
            if word in _TASK_BEGINS:
                return text[: place + 1].rstrip(" ;")
    return text


def keep(answer: bytes, call: Call, found: Place, envelope: dict[str, object]) -> tuple[bytes, bool]:
    """The answer with a line that says what is kept, and whether anything is: the child does it."""
    texts = asked(call.host, call.text("prompt"))
    short = [text for text in texts if len(text) <= LONGEST]
    if not texts:
        return answer, False
    if short:
        trace.post(found.memory, {**envelope, "remember": short})
    return _said(answer, call, found, short, len(texts) - len(short)), bool(short)


def _said(answer: bytes, call: Call, found: Place, kept: list[str], too_long: int) -> bytes:
    name = os.path.basename(found.root)
    lines = [f'holdfast: keeps "{_cut(text)}" for this project ({name}), in your words' for text in kept]
    if kept:
        ids = " ".join(content_id("D", text) for text in kept)
        lines[-1] += f"; to undo this: holdfast undo, or holdfast note decision retire {ids}"
    if too_long:
        lines.append(f"holdfast: not kept: more than {LONGEST} characters; put longer text into a file")
    if call.host in host_protocol.SHOWS:
        return host_protocol.with_notice(answer, "\n".join(lines))
    return answer or _to_the_model(call, bool(kept))


def _to_the_model(call: Call, kept: bool) -> bytes:
    """Hosts without a line for the person: the agent, who has read the prompt, can say it; no word is repeated."""
    from holdfast.core import fence

    what = (
        "what the person asked to remember is kept for this project; holdfast undo takes it back"
        if kept
        else f"what the person asked to remember has more than {LONGEST} characters and is not kept"
    )
    return host_protocol.answer(call.host, call.theirs, fence.fenced(what, fence.new_id()), "", {})


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1].rstrip()}…"
