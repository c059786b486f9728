"""How a remedy is written in a rule: what took the place of what failed, and no more of the call than that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.distill.harvest_state import Slip
from holdfast.distill.lesson_words import (
    LONGEST,
    REST,
    at_home,
    job,
    purpose_of,
    shown,
    specific,
    subject_of,
    with_flags,
)
from holdfast.distill.shell_line import Simple, name_of, names, path_of, unquoted

_SWITCHES = names("use shell exec x run env")
_MANAGERS = names(
    "nvm fnm n volta mise asdf rtx nodenv rbenv pyenv chruby sdk jenv goenv direnv nix proto vfox"
)
_PATH = re.compile(r"""(?:export )?PATH=["']?(?P<first>[^:"'$\s]+):""")
_AT_HOME = re.compile(r"\A/(?:home|Users)/[^/]+/")
TARGETS = names(
    "--lib --bin --bins --test --tests --bench --example --filter -p --package --project -w --workspace"
)
_NAMED_TARGETS = TARGETS - {"--lib", "--bins", "--tests", "--workspace"}
WITHOUT = "without it"  # the command that a missing wrapper was to run
# What a wrapper limits in time is not helped by leaving that out, unless it comes to its end: a server does not.
_ENDS_BY_ITSELF = frozenset(
    ["test", "one test", "build", "lint", "types", "check", "format", "generate", "setup"]
)
_TASKS = names("mise make just task npm pnpm yarn bun rake npx bunx uvx nx turbo")


def instead(slip: Slip, part: Simple, line: Sequence[Simple]) -> str:
    """The remedy of a slip, out of the line that worked; '' where what matters of it cannot be said."""
    if slip.cause == "engine":
        return version_switch(line, part)
    text = _written(slip, part, line)
    first, _, rest = text.rpartition("&& ")[2].partition(" ")
    hides = first in _TASKS and rest.removeprefix("run ").startswith((REST, "<"))  # a task without its name
    return "" if hides or text == REST else text


def _written(slip: Slip, part: Simple, line: Sequence[Simple]) -> str:
    match slip.cause:
        case "variable":
            return f"{slip.token}=… {shown(part)}"
        case "place":
            return job(part) or shown(part)
        case "glob":
            return shown(part, paths=True)
        case "program":
            return _program(slip.token, part, slip.part)
        case "target" if slip.part is not None and part.program == slip.part.program:
            return _other_target(slip, part)
        case "usage" if slip.part is not None:
            return _fewer_words(slip.part, part)
        case "flag" if slip.part is not None and part.program == slip.part.program:
            return _other_fields(slip.token, slip.part, part) or with_flags(part, slip.part, slip.token)
    return shown(part, keep=(slip.token,))


def _program(token: str, part: Simple, tried: Simple | None) -> str:
    """A program under another name or behind another one: that name, whatever it was asked to do then."""
    words = [unquoted(word) for word in part.words]
    called = [name_of(word) for word in part.words]
    if called[0] == token and (path := path_of(part)):
        folders = [_AT_HOME.sub("~/", folder) for folder in unquoted(path[5:]).split(":")]
        text = f"export PATH={':'.join(folder for folder in folders if not specific(folder))}"
        return text if "/" in text and len(text) <= LONGEST else ""
    alike = called[0].startswith(token) or token.startswith(called[0])
    if called[0] == token or (alike and min(len(called[0]), len(token)) >= 3):
        return _placed(at_home(words[0]), part) if "/" in words[0] else words[0]
    if token in called[1:6]:
        last = max(place for place, name in enumerate(called[:7]) if name == token)  # `mise x hk -- hk`
        through = " ".join(words[: last + 1])
        return _placed(through, part) if len(through) <= LONGEST else ""
    if "-" in token and token == "-".join(called[:2]):
        return " ".join(called[:2])
    if tried is not None and name_of(tried.words[0]) == token and _is_rest(tried, part):
        return WITHOUT if purpose_of(part) in _ENDS_BY_ITSELF else ""
    return job(part) or shown(part, keep=(token,))


def _is_rest(tried: Simple, part: Simple) -> bool:
    """Whether a call is what a wrapper was to run: `timeout 60 npm test`, and then `npm test`."""
    behind = [unquoted(word) for word in tried.words[1:]]
    return any(name_of(word) == part.program for word in behind) and name_of(tried.words[0]) not in _TASKS


def _placed(text: str, part: Simple) -> str:
    """With the folder that it was called in, unless it is the same everywhere."""
    here = part.directory and not part.directory.startswith(("/", "~", "$", ".."))
    return f"cd {part.directory} && {text}" if text and here and not text.startswith(("/", "~")) else text


def _other_fields(token: str, tried: Simple, part: Simple) -> str:
    """Of a list that had a field too many: the fields that were asked for in its place."""
    for place, word in enumerate(tried.words[:-1]):
        fields = unquoted(tried.words[place + 1]).split(",")
        if word.startswith("-") and token in fields and word in part.words[:-1]:
            asked = unquoted(part.words[part.words.index(word) + 1]).split(",")
            new = any(field not in fields for field in asked) and all(field.isidentifier() for field in asked)
            text = f"{subject_of(part)} {word} {','.join(asked)}"
            return (text if len(text) <= LONGEST else text[:LONGEST].rpartition(",")[0]) if new else ""
    return ""


def _other_target(slip: Slip, part: Simple) -> str:
    """The target that was asked for instead, with its name where it has one; else just the subcommand."""
    words = [unquoted(word) for word in part.words]
    for place, word in enumerate(words):
        if word.partition("=")[0] in TARGETS:
            named = word in _NAMED_TARGETS and len(words) > place + 1
            return f"{slip.subject} {word}{f' {words[place + 1]}' if named else ''}"
    return slip.subject


def _fewer_words(tried: Simple, part: Simple) -> str:
    """A call that took less: without the options that only happened to stand beside it."""
    old = {unquoted(word).partition("=")[0] for word in tried.words}
    plain = [
        word for word in part.words if not word.startswith("-") or unquoted(word).partition("=")[0] in old
    ]
    fewer = len([word for word in plain if not word.startswith("-")]) < len(
        [word for word in tried.words if not word.startswith("-")]
    )
    return shown(Simple(tuple(plain), part.directory)) if fewer else shown(part)


# --- versions of what runs a tool ---


def version_switch(line: Sequence[Simple], part: Simple) -> str:
    """What chose another version before a command in the same line, with the command after it; '' for nothing."""
    program = name_of(part.words[0])
    if program in _MANAGERS and _SWITCHES & set(part.words[1:3]):
        return shown(part)
    before = line[: line.index(part)] if part in line else ()
    for one in before:
        if one.program in _MANAGERS and _SWITCHES & set(one.words[1:3]):
            return (
                f"{_sourced(before)}{' '.join(unquoted(word) for word in one.words[:3])} && {program} {REST}"
            )
    for text in (
        *part.variables,
        *(one.text for one in before),
        *(v for one in before for v in one.variables),
    ):
        if (match := _PATH.match(text)) and (folder := at_home(match["first"])):
            return f"PATH={folder}:$PATH {program} {REST}"
    return ""


def _sourced(before: Sequence[Simple]) -> str:
    """The script that a version manager has to be loaded from first."""
    for one in before:
        if one.words[0] in (".", "source") and len(one.words) > 1 and "nvm.sh" in one.words[1]:
            return ". ~/.nvm/nvm.sh && "
    return ""
