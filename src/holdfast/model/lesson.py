"""A lesson: a rule this repository (or this person) taught, where it was learned, and what it depends on.

A lesson begins as a candidate, becomes active when it is promoted, and stale when what it depends on has changed.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.model.memory import content_id

# --- a session's experience ----------------------------------------------------------------------------

EXPERIENCE_FORMAT = 5  # what a session is watched for; one that was read with less can be read again


class Stumble(Struct, frozen=True, kw_only=True):
    """A call that failed for a reason of tool, place or environment, and the call that worked ('' when none did).

    `subject` and `token` name the cause whatever the wording: a program with its subcommand, and the flag, task, path
    or module that it did not take. `vain` are calls that would have been its remedy, and failed too; `sometimes` when
    the same call went through in that session as well. Of a linter's rule: `alone` when a run failed on nothing else,
    and the `example` that it showed.
    """

    cause: str
    subject: str
    token: str
    tried: str
    failed: str
    instead: str = ""
    at: float | None = None
    vain: tuple[str, ...] = ()
    sometimes: bool = False
    alone: bool = False
    example: str = ""

    @property
    def key(self) -> str:
        return f"{self.cause}|{self.subject}|{self.token}"


class Ran(Struct, frozen=True, kw_only=True):
    """A command that does a job here (test, build, lint, …): how often it worked, and how often it did not.

    `sought` when the session had to find it: it looked where tasks are defined just before, or called another in vain.
    None where that was not observed.
    """

    command: str
    purpose: str
    worked: int = 0
    failed: int = 0
    line: str = ""
    at: float | None = None
    sought: bool | None = None


class Correction(Struct, frozen=True, kw_only=True):
    """A rule that a person stated during work; `lasting` if they said that it should stay."""

    text: str
    lasting: bool = False
    at: float | None = None


class Experience(Struct, frozen=True, kw_only=True):
    stumbles: tuple[Stumble, ...] = ()
    commands: tuple[Ran, ...] = ()
    corrections: tuple[Correction, ...] = ()
    stated: tuple[str, ...] = ()  # commands of the repository's instructions, as far as it was shown them
    format: int = 0


LessonKind = Literal["command", "stumble", "correction", "convention", "pitfall", "other"]
Scope = Literal["personal", "local", "shared"]
State = Literal["candidate", "active", "stale", "muted", "rejected", "untrusted"]

BY_MODEL = "by model "  # how the line begins that a model named as its evidence


class LessonEvidence(Struct, frozen=True, kw_only=True):
    """Where a lesson was seen: the session, when, and the line that shows it (a command and what it answered)."""

    session: str
    at: float | None = None
    line: str = ""

    @property
    def by_model(self) -> bool:
        """Whether a model drew the lesson from that line. Such a lesson is never active by itself."""
        return self.line.startswith(BY_MODEL)


PRESENT = "present"  # the digest of what has only to be there, whatever is in it: a path that a rule leads to


class Fingerprint(Struct, frozen=True, kw_only=True):
    """One thing a lesson depends on: a file, a folder (`tests/`), a glob, or a field (`package.json#scripts.test`)."""

    target: str
    digest: str = ""  # of what was there when the lesson was written; '' where that was never looked at


class Lesson(Struct, frozen=True, kw_only=True):
    """A few rules on one subject, each one line, said so that an agent can act on it."""

    name: str  # a safe file name, in kebab-case
    description: str
    rules: tuple[str, ...]
    kind: LessonKind = "other"
    fingerprint: tuple[Fingerprint, ...] = ()
    captured_at: float | None = None
    evidence: tuple[LessonEvidence, ...] = ()
    seldom: bool = False  # one session met it, and hardly another will: time alone does not make it active

    @property
    def id(self) -> str:
        return content_id("L", "\n".join(self.rules))

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.session for item in self.evidence if item.session))

    @property
    def witnesses(self) -> tuple[str, ...]:
        """The sessions that showed it themselves: those whose evidence no model chose."""
        return tuple(
            dict.fromkeys(item.session for item in self.evidence if item.session and not item.by_model)
        )

    @property
    def strong(self) -> bool:
        """Seen in two sessions or more: such a failure is shown at every start of a session."""
        return len(self.sessions) >= 2


# --- failing calls in rules ----------------------------------------------------------------------------

_FAILS = lazy_regex(r"`([^`]+)` fails here(?: \((.*)\))? → `([^`]+)`")
_NOT_FOUND = lazy_regex(r"`([^`\s]+)` is not found here → `([^`]+)`")
_NAMES_FIRST = lazy_regex(r"`([^`]+)` (?:fails|does not)\b")


def failing_call(rule: str) -> tuple[str, str, str] | None:
    """What is tried, how it fails and what works instead; None of a rule that does not say so."""
    if match := _NOT_FOUND.fullmatch(rule):
        return match[1], f"{match[1]}: command not found", match[2]
    match = _FAILS.fullmatch(rule)
    return (match[1], match[2] or "it fails here", match[3]) if match else None


def failing_command(rule: str) -> str:
    """The failing command at the start of a rule; '' if there is none."""
    match = _NAMES_FIRST.match(rule)
    return match[1] if match else ""
