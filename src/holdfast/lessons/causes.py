"""The causes of stumbles: what each means for a lesson, and how its rule is worded."""

from __future__ import annotations

from msgspec import Struct

from holdfast.model.lesson import LessonKind


class Cause(Struct, frozen=True, kw_only=True):
    """One cause. `rule` and `name` are templates over the stumble: its subject, first token, tried, failed, instead.

    `then` is the remedy with its arrow, or nothing. Causes without a template are worded in code.
    """

    description: str = "a call that fails here"
    kind: LessonKind = "stumble"
    rule: str = ""
    name: str = "{subject} {token}"
    comes_again: bool = (
        False  # half of what one session met, another met (docs/research/lessons-reading.md); else a fifth
    )
    alone: bool = False  # one session is proof enough, once a remedy is known
    unresolved: bool = False  # two sessions are proof enough without a remedy
    of_tool: bool = False  # whatever this repository holds
    over_by_use: bool = False  # a later use that worked speaks against it
    of_machine: bool = False  # another machine may differ


UNKNOWN = Cause()
CAUSES = {
    "path": Cause(description="a path that is guessed wrong", unresolved=True),
    "folder": Cause(
        description="a folder that is guessed wrong",
        rule="there is no folder `{token}` here → its files are in `{instead}`",
        alone=True,
    ),
    "large": Cause(
        description="a file too large to read at once",
        kind="pitfall",
        rule="`{token}` is too large to read at once → read a part of it (offset and limit), or search in it",
        unresolved=True,
    ),
    "program": Cause(
        description="a program that is not here, or has another name",
        rule="`{token}` is not found here{then}",
        name="{subject} {token} missing",
        comes_again=True,
        alone=True,
        unresolved=True,
        of_tool=True,
        over_by_use=True,
        of_machine=True,
    ),
    "tool": Cause(
        description="a tool that a task needs",
        kind="pitfall",
        rule="`{tried}` needs `{token}`, which is not found here{then}",
        unresolved=True,
        of_machine=True,
    ),
    "prefix": Cause(
        description="a prefix that does not know the command",
        name="{subject} {token} prefix",
        comes_again=True,
        alone=True,
        of_tool=True,
    ),
    "glob": Cause(
        description="a word that the shell takes for a pattern",
        rule="an unquoted `{token}` in an argument fails in this shell (no matches found) → quote the argument",
        name="shell-quote {token}",
        unresolved=True,
        of_tool=True,
        of_machine=True,
    ),
    "format": Cause(
        description="a check that fails on formatting",
        rule="`{tried}` fails on formatting → `{instead}` first",
        name="{subject} formatting",
        comes_again=True,
        alone=True,
    ),
    "rule": Cause(description="a rule that the linter enforces", kind="convention", name="lint {token}"),
    "slow": Cause(
        description="a suite that takes long",
        kind="pitfall",
        rule="`{token}` takes long ({failed}) → give it more time, or run it in the background",
        name="{subject} slow",
        unresolved=True,
    ),
    "flaky": Cause(
        description="a test that fails now and then",
        kind="pitfall",
        rule="test `{token}` is flaky: failed, then passed without an edit → run it again before you debug it",
        name="flaky {token}",
        unresolved=True,
    ),
    "variable": Cause(
        description="a variable that must be set",
        kind="pitfall",
        rule="`{tried}` needs `{token}` to be set{then}",
        alone=True,
    ),
    "flag": Cause(
        description="an option that this tool does not have",
        alone=True,
        unresolved=True,
        of_tool=True,
        over_by_use=True,
    ),
    "task": Cause(
        description="a task that is not defined here",
        comes_again=True,
        alone=True,
        unresolved=True,
        over_by_use=True,
    ),
    "command": Cause(
        description="a subcommand that does not exist",
        comes_again=True,
        alone=True,
        unresolved=True,
        over_by_use=True,
    ),
    "target": Cause(description="a target that this package does not have", comes_again=True, alone=True),
    "place": Cause(
        description="a directory from which it does not run",
        name="{token} place",
        comes_again=True,
        alone=True,
    ),
    "module": Cause(description="a module that is not found"),
    "engine": Cause(
        description="another version of what runs it is needed",
        name="{subject} engine",
        comes_again=True,
        alone=True,
        of_tool=True,
        of_machine=True,
    ),
    "excluded": Cause(
        description="a build that leaves out what is asked for", name="{subject} excluded", alone=True
    ),
    "blocked": Cause(description="a call that is refused before it runs", of_tool=True),
    "usage": Cause(name="{subject} usage", of_tool=True),
    "refused": Cause(name="{subject} refused", unresolved=True, of_tool=True),
    "switch": Cause(name="{subject} switch"),
    "managed": Cause(alone=True, of_machine=True),
    "untrusted": Cause(alone=True, of_machine=True),
}
