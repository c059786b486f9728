"""What a session lived through that may teach the next one: stumbles, commands that worked, a person's corrections.

These are observations of one session; lessons are what several of them have in common.
"""

from __future__ import annotations

from msgspec import Struct

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
    None where nobody watched for that.
    """

    command: str
    purpose: str
    worked: int = 0
    failed: int = 0
    line: str = ""
    at: float | None = None
    sought: bool | None = None


class Correction(Struct, frozen=True, kw_only=True):
    """A rule that a person stated while the work went on; `lasting` when they said that it is to stay."""

    text: str
    lasting: bool = False
    at: float | None = None


class Experience(Struct, frozen=True, kw_only=True):
    stumbles: tuple[Stumble, ...] = ()
    commands: tuple[Ran, ...] = ()
    corrections: tuple[Correction, ...] = ()
    stated: tuple[str, ...] = ()  # commands of the repository's instructions, as far as it was shown them
    format: int = 0
