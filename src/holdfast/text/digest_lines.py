"""How what stands in current.md reads in one line, and where each line comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from holdfast.model.memory import OpenItem, Question
from holdfast.text.current_md import Done, NextStep, Stumble
from holdfast.text.memory_md import render_minute
from holdfast.text.tokens import cut_to

_DAY_S = 86_400
_LONGEST = 60  # tokens of one line: a single essay must not eat the budget
_LONGEST_TEXT = 2_000
_NOT_TEXT = re.compile(r"[\ud800-\udfff]")  # bytes of the file that are not UTF-8
FAILED = "it failed in"
NOTHING_NEWER = "nothing newer is known"


class DigestLine(Struct, frozen=True):
    """One line to tell, and where it comes from."""

    text: str
    reason: str


def marked(line: DigestLine, own: str, branch: str | None) -> DigestLine:
    """Where all branches are told, each line says which one it is about."""
    return DigestLine(f"{line.text} (on {one_line(own)})", line.reason) if branch is None and own else line


def step_line(step: NextStep) -> DigestLine:
    by = f" (by the {step.by})" if step.by else ""
    how = f"handed over {on(step.at)}" if step.by else _from(step.session, step.at)
    return DigestLine(f"Next{by}: {one_line(step.text)}", how)


def stumble_line(stumble: Stumble) -> DigestLine:
    return DigestLine(stumble_text(stumble), f"{FAILED} {stumble.sessions} sessions")


def stumble_text(stumble: Stumble) -> str:
    """What fails and what works instead, in one line."""
    if "`" in stumble.tried and not stumble.failed and not stumble.instead:  # a rule that says all of it
        return _whole_commands(one_line(stumble.tried))
    failed = f" ({one_line(stumble.failed)})" if stumble.failed else ""
    instead = f" → `{one_line(stumble.instead)}` worked" if stumble.instead else ""
    return f"`{one_line(stumble.tried)}` fails here{failed}{instead}"


def _whole_commands(rule: str) -> str:
    """A rule that was cut, without the command that it was cut in, where another one stands before it."""
    cut = rule.endswith("…") and rule.count("`") % 2
    return (rule.rpartition(" or `")[0] or rule) if cut else rule


def question_line(question: Question) -> DigestLine | None:
    """None for one that is too long: nobody can answer half a question."""
    text = one_line(question.text)
    if text.endswith("…") and not question.text.rstrip().endswith("…"):
        return None
    return DigestLine(f"Open question: {text} [{question.id}]", _from(question.session, question.at))


def todo_line(item: OpenItem) -> DigestLine:
    """With the day on which a session left it: whoever reads it can see what was done since."""
    owner = f"for the {item.owner}" if item.owner not in ("", "agent") else ""  # the agent is who reads it
    since = _day(item.at) if item.session else ""
    marks = [item.priority if item.priority != "normal" else "", owner, since]
    shown = ", ".join(filter(None, marks))
    why = f"; {one_line(item.why)}" if item.why else ""
    label = f"To do ({shown})" if shown else "To do"
    return DigestLine(f"{label}: {one_line(item.text)}", f"{_from(item.session, item.at)}{why}")


def done_line(item: Done) -> DigestLine:
    signed = ", ".join(part for part in (render_minute(item.at)[:10], one_line(item.agent)) if part)
    return DigestLine(f"Done last ({signed}): {one_line(item.text)}", _from(item.session, item.at))


def _from(session: str, at: float | None) -> str:
    return f"from session {session[:8]}, {on(at)}" if session else f"kept {on(at)}"


def _day(at: float | None) -> str:
    return "" if (shown := render_minute(at)) == "undated" else shown[:10]


def on(at: float | None) -> str:
    return f"on {shown[:10]}" if (shown := render_minute(at)) != "undated" else "at a time not known"


def stale_line(items: Sequence[NextStep | Done | OpenItem], newest: float, now: float) -> DigestLine:
    days = int((now - newest) // _DAY_S)
    text = f"Last state here is {days} days old ({render_minute(newest)[:10]}): {one_line(items[0].text)}"
    return DigestLine(text, NOTHING_NEWER)


def one_line(text: str) -> str:
    line = " ".join(_NOT_TEXT.sub("\ufffd", text[:_LONGEST_TEXT]).split())
    if len(text) > _LONGEST_TEXT:
        line += "…"
    return cut_to(line, _LONGEST)
