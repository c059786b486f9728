"""Facts with their evidence: commands that verify here, versions of tools, endpoints and ids in use; commits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.core.patterns import late
from holdfast.model.memory import Fact, FactCategory
from holdfast.sessions import checks
from holdfast.sessions.harvest_decisions import of_commit
from holdfast.sessions.harvest_prose import mentions
from holdfast.sessions.harvest_state import (
    LINE_LENGTH,
    MOST_COMMANDS,
    MOST_COMMITS,
    Gathered,
    Mention,
    Working,
    add,
    raw,
)
from holdfast.sessions.harvest_stumbles import bare, shown

_CATEGORY = {"test": FactCategory.TESTING, "build": FactCategory.BUILD}
_DOES = {"test": "runs the tests", "build": "builds", "lint": "lints", "types": "checks types"}
_PROOF = late(
    r"(?:ok\s+\S+.*|PASS(?:ED)?|.*\b\d+ pass(?:ed|ing)\b.*|test result: ok.*|OK(?: \(.*\))?"
    r"|.*\b0 (?:failures|failed|errors|issues"
    r"|problems|warnings)\b.*|BUILD SUCCESS\w*.*|Success: no issues.*|All checks passed!?"
    r"|.*\bFinished\b.*|[Ll]int passed.*"
    r"|.*\b[Bb]uil[dt] (?:succeeded|completed?|in)\b.*|✓ .*|Done in .*)",
)
_ONE_TEST = late(
    r"\s(?:-run|-k|-t|--grep|--filter|--testNamePattern|--testPathPatterns?|-Dtest|--tests|-testify\.m)[\s=]|::|\bcargo\s+(?:test"
    r"|nextest\s+run)\s+[a-z]\w*|\.bats\b|[\w/]+_test\.\w+|\.(?:test|spec)\.\w+"
)
_VERSION_ASKED = late(r"\A(\S+)(?:\s+\S+)?\s+(?:--version|version|-V)\Z|\A(node|npm|pnpm|bun|deno)\s+-v\Z")
_VERSION = late(r"\bv?\d+\.\d+(?:\.\d+)*\b")
_CALLS = late(r"(?:^|[\s;&|(])(?:curl|wget|http|https|xh|grpcurl|psql|redis-cli)\s")
_ELSEWHERE = ("/tmp/", "/var/folders/", "mktemp", "TMPDIR")
_SCRATCH = (
    *_ELSEWHERE,
    "/Temp/",
    "\\Temp\\",
    "scratchpad",
)  # where agents put what nobody keeps, by a session's id
_READABLE = late(r"[A-Za-z0-9{\[<\"][\x20-\x7e]{3,}")
_URL = late(r"\b(?:https?|postgres(?:ql)?|redis|wss?)://[^\s\"'`\\|;)>$]+")
_ID = late(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_COMMITTED = late(r"^\[[^\]\n]* ([0-9a-f]{7,12})[0-9a-f]*\] (\S.*)$", re.MULTILINE)
_HERE_DOCUMENT = late(r"<<-?\s*(['\"]?)(\w+)\1\n(.*?)\n\s*\2\b", re.DOTALL)
_MESSAGE = late(r"-\w*m\s+(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')", re.DOTALL)
_NO_OUTPUT = "exit code 0, no output"


def watch_checks(state: Gathered, command: str, output: str, at: float | None) -> None:
    """Takes a verification that passed. Of several in a row the last is the one that its output proves."""
    text = _last_part(shown(command))
    kind = checks.check_kind(text) if text else None
    if kind is None or _ONE_TEST.search(text) or mentions(text, _ELSEWHERE):
        return
    known = state.working.get(text)
    if known is not None:
        known.times += 1
    elif len(state.working) < MOST_COMMANDS and (line := _proof(output, kind)):
        state.working[text] = Working(kind, raw(line), at)


def _last_part(command: str) -> str:
    """The last command of a row, with the change of directory that the row began with."""
    rest = bare(command)
    if "&&" in rest and rest in command:
        directory = command[: command.index(rest)] if command.startswith("cd ") else ""
        command = directory + rest.rpartition("&&")[2].strip()
        rest = bare(command)
    return "" if any(mark in rest for mark in (";", "||", "|", "&")) else command


def _proof(output: str, kind: str) -> str:
    if not output.strip():
        return _NO_OUTPUT
    for line in reversed(output.splitlines()):
        bare = line.strip()
        if (
            len(bare) <= LINE_LENGTH
            and _PROOF.fullmatch(bare)
            and not (kind == "test" and "Finished" in bare)
        ):
            return " ".join(bare.split())  # tests are built first: that a build finished proves none
    return ""


def proof(output: str) -> str:
    """The line of an output that says that all is well; '' where none does."""
    return _proof(output, "test")


def watch_command(state: Gathered, command: str, output: str, at: float | None) -> None:
    """Takes any shell command that worked; what it names is looked for in the command, seldom in its output."""
    if "ersion" in command or command.endswith((" -V", " -v")):
        _version(state, command, output, at)
    if "://" in command and _CALLS.search(command) and (match := _URL.search(command)):
        # What is asked of an endpoint is of the moment: `?lat=37&limit=5` and `?limit=2` are one.
        _mention(state, match[0].partition("?")[0].rstrip(".,/"), FactCategory.ENDPOINT, command, output, at)
    elif (
        command.count("-") >= 4
        and (match := _ID.search(command))
        and match[0] in output
        and not mentions(command, _SCRATCH)
    ):
        _mention(state, match[0], FactCategory.ID, command, output, at)


def _version(state: Gathered, command: str, output: str, at: float | None) -> None:
    text = bare(shown(command))
    asked = _VERSION_ASKED.match(text)
    line = next((line.strip() for line in output.splitlines() if line.strip()), "")
    if asked and (match := _VERSION.search(line)) and len(line) <= 120:
        program = (asked[1] or asked[2]).rpartition("/")[2]
        said = f"{program} is {match[0]} here"
        _fact(
            state,
            Fact(text=said, category=FactCategory.ENVIRONMENT, command=raw(text), evidence=raw(line), at=at),
        )


def _mention(state: Gathered, name: str, category: str, command: str, output: str, at: float | None) -> None:
    known = state.mentions.get(name)
    if known is not None:
        known.times += command != known.command
    elif len(state.mentions) < MOST_COMMANDS and (line := _first_readable(output)):
        state.mentions[raw(name)] = Mention(category, raw(command), raw(line), at)


def _first_readable(output: str) -> str:
    lines = (line.strip() for line in output.splitlines())
    return next((line for line in lines if _READABLE.fullmatch(line)), "")


def _fact(state: Gathered, fact: Fact) -> None:
    add(state.facts, fact, lambda known: known.text)


def watch_commit(state: Gathered, command: str, output: str, at: float | None) -> None:
    """Takes a commit that was made: its name, and why, where the message says so."""
    said = _COMMITTED.findall(output)
    for name, subject in said:
        line = raw(f"{name} {subject}")
        if line not in state.commits:
            state.commits = [*state.commits, line][-MOST_COMMITS:]
    if said:
        for decision in of_commit(said[-1][1], _body(command), at):
            add(state.decisions, decision, lambda known: known.text)


def _body(command: str) -> str:
    """What a commit's message says after its subject."""
    if match := _HERE_DOCUMENT.search(command):
        return match[3].strip().partition("\n")[2]
    messages = [one or other for one, other in _MESSAGE.findall(command)]
    return "\n".join([messages[0].partition("\n")[2], *messages[1:]]) if messages else ""


def check_in(fact: Fact) -> str:
    """The kind of check that a fact says a command does here; '' when it says something else."""
    return next((kind for kind, does in _DOES.items() if fact.text.endswith(f"` {does} here")), "")


def facts_of(state: Gathered) -> Iterator[Fact]:
    """The facts so far, the most used command of each kind first."""
    seen: dict[str, int] = {}
    for command, working in sorted(state.working.items(), key=lambda pair: (-pair[1].times, len(pair[0]))):
        seen[working.kind] = seen.get(working.kind, 0) + 1
        if seen[working.kind] > 2 or (seen[working.kind] == 2 and working.times == 1):
            continue
        yield Fact(
            text=f"`{command}` {_DOES[working.kind]} here",
            category=_CATEGORY.get(working.kind, FactCategory.COMMAND),
            command=command,
            evidence=working.line,
            at=working.at,
            verified_at=working.at,
        )
    for name, mention in state.mentions.items():
        if mention.times > 1:
            said = "answers" if mention.category == FactCategory.ENDPOINT else "is in use"
            yield Fact(
                text=f"{name} {said} here",
                category=mention.category,
                command=mention.command,
                evidence=mention.line,
                at=mention.at,
                verified_at=mention.at,
            )
    yield from reversed(state.facts)
