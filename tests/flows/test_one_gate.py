"""Whatever enters, by whatever entry: no byte of a secret, of a private part or of a forgotten text is kept.

The entries are found through the registries. One that is in none of the tables below fails `test_every_entry_…`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from tests.agents import samples, samples_clients, samples_files, samples_stores
from tests.agents.samples import SAMPLES
from tests.command import Holdfast
from tests.every_byte import files_below, leftovers
from tests.hooks.enabled import Enabled, run_hook
from tests.mcp.client import Talk, talk

from holdfast.agents.registry import BY_AGENT, HOSTS
from holdfast.cli.main import COMMANDS
from holdfast.flows.capture import capture
from holdfast.hooks import host_protocol
from holdfast.mcp.tools import TOOLS
from holdfast.store.machine import Machine
from holdfast.terminal.run import parser_for

pytestmark = pytest.mark.promise("G1", "G5", "G6")

# Made up, in pieces, so that no scanner takes them for ours.
SECRETS = {
    "github": "ghp_" + "vQ8sK2mX9pL4tR7wZ1nB6cD3fG5hJ0yA2eUi",
    "aws": "AKIA" + "QZ7RT4WX2MPL9KND",
    "slack": "xoxb-" + "482910573846-5738291046573-kTq8WmZx4RbNvLpY2sHcJd7F",
    "password": "mR7$kw9Zp2xTq",
    "key": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDqZ7vX",
}
HIDDEN = ("quillfeather", "marmosetta", "brindlewick")
FORGOTTEN = "the velmarine oxbow clause"
_KEY = f"-----BEGIN PRIVATE KEY-----\n{SECRETS['key']}\n-----END PRIVATE KEY-----"
SECRET_TEXT = (
    f"use {SECRETS['github']} then {SECRETS['aws']} and {SECRETS['slack']}, "
    f"the password is {SECRETS['password']}\n<private>\n{HIDDEN[0]} is the client\nand {HIDDEN[1]} too\n\n{HIDDEN[2]}\n"
    f"</private>\nand the rest\n{_KEY}\nthat is all"
)
NEEDLES = {
    "secret": tuple(secret[:14] for secret in SECRETS.values()) + tuple(word[:9] for word in HIDDEN),
    "forgotten": ("velmarine oxbow", "velmarine"),
}
TEXTS = {"secret": SECRET_TEXT, "forgotten": f"remember {FORGOTTEN} for the release"}
kinds = pytest.mark.parametrize("kind", TEXTS)

# What stores the words it is given, and the words it needs besides a text; what only looks, names or asks.
KEEPS = {
    "ledger add": {
        "--session": "s-{n}",
        "--agent": "robin",
        "--cost": None,
        "--duration": None,
        "--time": None,
    },
    "handoff": {"--branch": None},
    "note answer": {"question": "Which {mark} port is it?"},
    "note fact add": {"--evidence": "{mark} {text}"},
    "note fact change": {"id": "F-none"},
    "note fact retire": {"id": "F-none"},
    "note decision add": {},
    "note decision change": {"id": "D-none"},
    "note rule": {"text": "{mark} {text}", "--name": "r{n}", "--fingerprint": None},
    "share": {"ids": "D-none"},
    "todo add": {},
    "todo change": {"id": "T-none"},
    "lessons change": {"name": "none", "--rule": "{mark} {text}"},
    "lessons add": {"name": "n{n}", "--rule": "{mark} {text}", "--file": None, "--fingerprint": None},
}
REFUSES = {
    "note fact change",
    "note fact retire",
    "note decision change",
    "share",
    "todo change",
    "lessons change",
}  # without an id that is known
LOOKS = """
    init demo import ledger ledger-recommend ledger-similar resume ask context log search recall classify forget history undo export
    restore todo agents-install agents-uninstall agents-plugin why ledger-roi hook fenced mcp archive questions
    ledger-list ledger-show ledger-stats ledger-report ledger-export ledger-merge ledger-query lessons-show lessons-promote
    lessons-reject lessons-mute lessons-unmute lessons-share lessons-rm lessons-refresh lessons-trust lessons-extract holdout backtest
    project-use note-fact-show note-fact-verify note-decision note-decision-list note-decision-confirm
    note-decision-retire todo-list todo-done todo-drop know-context prune trust show blame cost
    ui note-fact note-fact-list lessons lessons-list
    sync team-private team-share team-distrust team-invite team-remove team-join team-trust team-create keys-restore keys-export
    keys-name lessons-export note-decision-show note-write team-doctor team-server-check team-server-index team-server-member
    team-server-project team-server-setup
"""
ONLY_LOOKS = {name.replace("-", " ") for name in LOOKS.split()}
# Run elsewhere (files, hosts, servers), or for long: their own tests are below, or nothing of a text reaches them.
NOT_HERE = {
    "keys export",
    "keys restore",
    "keys name",  # a person's own name: it belongs to no project, and so does what a project forgot
    "team create",  # a name for others, as is a person's
    "init",
    "demo",
    "hook",
    "mcp",
    "ui",
    "restore",
    "export",
    "agents install",
    "agents uninstall",
    "agents plugin",
    "fenced",
}


def mark(number: int) -> str:
    """A word that is harmless, and is kept where the rest is not."""
    return "zorb" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:03d}") + "ine"


class Entry(msgspec.Struct, frozen=True):
    name: str
    words: tuple[str, ...]
    arguments: tuple[tuple[str, bool], ...]
    """Name and whether it is positional, of each that takes a text; the required ones come first."""


def _entries() -> list[Entry]:
    entries = []
    for name, (module, about) in COMMANDS.items():
        parser = parser_for(name, import_module(module), about)
        entries.append(Entry(name, tuple(name.split()), _texts(parser)))
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                entries += [
                    Entry(f"{name} {verb}", (*name.split(), verb), _texts(sub))
                    for verb, sub in action.choices.items()
                ]
    return [entry for entry in entries if entry.arguments]


def _texts(parser: argparse.ArgumentParser) -> tuple[tuple[str, bool], ...]:
    found = [
        ((action.option_strings or [action.dest])[-1], not action.option_strings)
        for action in parser._actions
        if action.nargs != 0 and not action.choices and not isinstance(action, argparse._SubParsersAction)
    ]
    return tuple(sorted(found, key=lambda one: not one[1]))


ENTRIES = _entries()


def test_every_entry_is_swept_or_named() -> None:
    names = {entry.name for entry in ENTRIES}
    assert names - KEEPS.keys() - ONLY_LOOKS == set(), "a command takes words: say whether it keeps them"
    assert (KEEPS.keys() | ONLY_LOOKS) - names <= set(COMMANDS)
    assert set(HOSTS) == set(host_protocol.EVENTS), "a host has no events to be swept"
    assert set(BY_AGENT) <= set(SAMPLES), "a reader has no sample to be swept"
    assert {tool.name for tool in TOOLS if tool.writes} == TOOLS_THAT_KEEP


class World:
    """A project, and what is on disk of what was said to it."""

    def __init__(self, repo: Path, home: Path, holdfast: Holdfast) -> None:
        self.repo, self.home, self.holdfast = repo, home, holdfast
        self.marks: dict[str, str] = {}
        self.printed: list[str] = []
        holdfast("decide", "Keep the shop small", check=0)
        holdfast("forget", "--text", FORGOTTEN, "--yes", check=0)

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.home / ".holdfast", self.repo / ".holdfast")

    def text(self, entry: str, kind: str) -> str:
        return f"The {self.mark(entry)} port: {TEXTS[kind]}"

    def mark(self, entry: str) -> str:
        return self.marks.setdefault(entry, mark(len(self.marks)))

    def assert_clean(self, kind: str) -> None:
        assert leftovers(self.roots, NEEDLES[kind]) == []
        told = "\n".join(self.printed).casefold()
        assert [needle for needle in NEEDLES[kind] if needle.casefold() in told] == []

    def kept(self, *entries: str) -> set[str]:
        """Which of these entries left something on disk: a sweep that stores nothing would show nothing."""
        data = b"\n".join(path.read_bytes().lower() for path in files_below(self.roots))
        return {entry for entry in entries if self.marks[entry].encode() in data}


@pytest.fixture
def world(repo: Path, home: Path, holdfast: Holdfast, scanner_off: None) -> World:
    return World(repo, home, holdfast)


# --- the command line ----------------------------------------------------------------------------------


def _calls(world: World, entry: Entry, kind: str) -> Iterator[list[str]]:
    """The command with its arguments, and again with each of its options."""
    given = KEEPS.get(entry.name, {})
    text, name = world.text(entry.name, kind), world.mark(entry.name)

    def value(argument: str) -> str | None:
        form = given.get(argument, "{text}")
        return (
            form
            if form is None
            else form.replace("{text}", text).replace("{mark}", name).replace("{n}", str(len(world.marks)))
        )

    places = [value(argument) for argument, positional in entry.arguments if positional]
    words = [*entry.words, *(place for place in places if place is not None)]
    needed = [
        f"{argument}={value(argument)}"
        for argument, positional in entry.arguments
        if not positional and argument in given and value(argument) is not None
    ]
    yield [*words, *needed]
    for argument, positional in entry.arguments:
        if not positional and argument not in given:
            yield [*words, *needed, f"{argument}={value(argument)}"]


@kinds
def test_no_command_keeps_it(world: World, kind: str) -> None:
    for entry in ENTRIES:
        if entry.name in NOT_HERE:
            continue
        for words in _calls(world, entry, kind):
            done = world.holdfast(*words, input=world.text(entry.name, kind))
            assert done.returncode in (0, 1, 2), f"{words}\n{done.stderr}"
            assert "Traceback" not in done.stderr, f"{words}\n{done.stderr}"
    world.holdfast("handoff", "-", input=world.text("handoff", kind))
    world.holdfast("ask", "--keep", world.text("ask", kind))
    for words in (["index"], ["status"], ["resume"], ["context"], ["log"], ["doctor"]):
        world.holdfast(*words)
    world.assert_clean(kind)
    if kind == "secret":
        keep = KEEPS.keys() - REFUSES
        assert world.kept(*keep) == keep


# --- hooks ---------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("host", HOSTS)
def test_no_hook_keeps_it(world: World, host: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    enabled = Enabled(world.repo)
    with monkeypatch.context() as patch:
        transcript = _sample(patch, host, world.repo.parent / "agent", world.text(host, kind), world.repo)
    text = world.text(host, kind)
    renamed = {"session_id": "conversation_id"} if host == "cursor" else {}
    renamed |= {"session_id": "sessionId", "transcript_path": "transcriptPath"} if host == "copilot" else {}
    for event in host_protocol.EVENTS[host]:
        for tool in ("Bash", "Edit", "Read"):
            payload = enabled.payload(
                transcript_path=str(transcript),
                prompt=text,
                tool_name=tool,
                tool_input={"command": text, "file_path": f"{world.repo}/{text}", "content": text},
                tool_response={"stdout": text, "stderr": text, "exit_code": 1},
                error=text,
                last_assistant_message=text,
                message=text,
                reason=text,
            )
            said = {renamed.get(name, name): value for name, value in payload.items()}
            answer = run_hook(event, json.dumps(said).encode(), cwd=world.repo, host=host, child=False)
            world.printed.append(answer.printed.decode())
    capture(Machine(cwd=world.repo), enabled.project)
    enabled.hook("SessionStart")
    world.assert_clean(kind)


# --- tools ---------------------------------------------------------------------------------------------

TOOLS_THAT_KEEP = {"remember", "question", "handoff", "correct"}


@kinds
def test_no_tool_keeps_it(world: World, kind: str) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []
    for tool in TOOLS:
        fields = msgspec.structs.fields(tool.takes)
        text = f"Who feeds the {world.mark(tool.name)} at night? {TEXTS[kind]}"
        texts = {one.name: text for one in fields if _is_text(one.type)}
        choices = [
            (one.name, _choices(one.type)) for one in fields if one.required and not _is_text(one.type)
        ]
        for name, values in choices or [("", ("",))]:
            calls += [(tool.name, texts | ({name: value} if name else {})) for value in values]
        calls.append((tool.name, {name: text for name, text in texts.items() if name in _required(fields)}))

    async def scene(said: Talk) -> list[str]:
        return [str(await said(name, **arguments)) for name, arguments in calls]

    Enabled(world.repo)
    talk(world.repo, scene)
    world.assert_clean(kind)
    if kind == "secret":
        assert world.kept("remember", "question", "handoff") == {"remember", "question", "handoff"}, (
            world.printed
        )


def _is_text(kind: Any) -> bool:
    return kind is str or str in get_args(kind)[:1]


def _choices(kind: Any) -> tuple[Any, ...]:
    """The values of a Literal, also of one inside Annotated."""
    first, *_ = get_args(kind)
    return get_args(first) or get_args(kind)


def _required(fields: tuple[msgspec.structs.FieldInfo, ...]) -> set[str]:
    return {one.name for one in fields if one.required}


# --- readers -------------------------------------------------------------------------------------------


def _sample(patch: pytest.MonkeyPatch, agent: str, folder: Path, text: str, cwd: Path) -> Path:
    """An agent's own transcript, in which everybody says the text."""
    lines = {"aider": "\n#### "}.get(agent, "\n")
    said = text.replace("\n", lines)
    story = samples_stores.AIDER_STORY
    for old in (samples_stores.PROMPT, samples_stores.ANSWER, samples_stores.FAILURE):
        story = story.replace(old, said if old == samples_stores.PROMPT else text.replace("\n", "\n> "))
    for module in (samples, samples_clients, samples_files, samples_stores):
        for name in ("PROMPT", "ANSWER", "COMMAND", "FAILURE", "SUCCESS"):
            if hasattr(module, name):
                patch.setattr(module, name, f"echo '{text}'" if name == "COMMAND" else text)
        if hasattr(module, "CWD"):
            patch.setattr(module, "CWD", str(cwd))
    patch.setattr(samples_stores, "AIDER_STORY", story)
    return SAMPLES[agent](folder)


@kinds
@pytest.mark.parametrize("agent", BY_AGENT)
def test_no_import_keeps_it(
    world: World, agent: str, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = world.repo if agent in ("entire", "aider", "specstory") else tmp_path / "agent"
    path = _sample(monkeypatch, agent, folder, world.text(agent, kind), world.repo)
    config = Machine(cwd=world.repo).home / "config.toml"
    config.write_text(f"{config.read_text(encoding='utf-8')}keep_transcripts = true\n", encoding="utf-8")
    (world.repo / "rate.py").write_text("rates = []\n", encoding="utf-8")
    done = world.holdfast("import", *([] if agent == "entire" else [path]), check=0)
    for words in (
        ["index"],
        ["resume"],
        ["lessons", "learn"],
        ["recall", "the port"],
        ["blame", "rate.py"],
        ["cost"],
        ["show", "last"],
        ["show", "last", "--html"],
        ["show", "last", "--json"],
        ["import", "--from-kept"],
    ):
        world.printed.append(world.holdfast(*words).stdout)
    world.assert_clean(kind)
    assert world.kept(agent) == {agent}, done.stdout + done.stderr


# --- git and documents ---------------------------------------------------------------------------------


@kinds
def test_nothing_of_the_repository_brings_it_in(world: World, kind: str) -> None:
    text = world.text("git", kind)
    documents = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md", "docs/adr/0001-port.md")
    for name in (*documents, "package.json", "Makefile", "src/app.py"):
        path = world.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_document(name, text), encoding="utf-8")
        subprocess.run(["git", "add", "-f", name], cwd=world.repo, check=True)
        message = f"Use the {world.mark('git')} port because it is free\n\nWe decided: {text}"
        command = ["git", "commit", "--quiet", "--no-verify", "-m", message]
        subprocess.run(command, cwd=world.repo, check=True)
    for words in (["know", "scan"], ["import"], ["index"], ["resume"], ["context"], ["recall", "the port"]):
        world.printed.append(world.holdfast(*words).stdout)
    world.assert_clean(kind)


def _document(name: str, text: str) -> str:
    if name.endswith(".json"):
        return json.dumps({"name": "shop", "description": text, "scripts": {"test": f"echo {text}"}})
    if name == "Makefile":
        return "test:\n" + "".join(f"\techo {line}\n" for line in text.split("\n"))
    if name.endswith(".py"):
        return f'"""{text}"""\n\n# because {text!r}\nPORT = {text!r}\n'
    return (
        f"# Use one port\n\n## Status\n\nAccepted\n\n## Context\n\n{text}\n\n## Decision\n\nWe use {text}\n\n"
        f"## Unreleased\n\n- Changed: {text}\n"
    )


# --- archives ------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("mode", ["", "--merge", "--replace"])
def test_no_archive_brings_it_in(
    world: World, kind: str, mode: str, make_repo: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = _archive_of_one_who_kept_it(world, kind, make_repo("other"), monkeypatch)
    if not mode:  # into a project with nothing but what was forgotten
        shutil.rmtree(world.home / ".holdfast" / "projects")
        world.holdfast("decide", "Keep it small", check=0)
        world.holdfast("forget", "--text", FORGOTTEN, "--yes", check=0)
        mode = "--replace"
    world.holdfast("restore", str(archive), mode, check=0)
    for words in (["index"], ["resume"], ["doctor"]):
        world.holdfast(*words)
    assert world.kept("archive") == {"archive"}
    assert leftovers(world.roots, NEEDLES[kind]) == []


def _archive_of_one_who_kept_it(
    world: World, kind: str, other: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An archive of a memory in which the text stands everywhere, as one of an older holdfast may be."""
    there = world.home.parent / "there"
    env = {"HOLDFAST_HOME": str(there)}
    word = world.mark("archive")
    stand_in = "stand in for what was said"
    with monkeypatch.context() as patch:
        path = _sample(
            patch, "claude-code", world.home.parent / "theirs", f"The {word} port: {stand_in}", other
        )

    def run(*words: str) -> None:
        world.holdfast(*words, cwd=other, env=env, check=0)

    run("import", str(path))
    for words in (
        ("decide", f"Use the {word} port, {stand_in}", "--because", stand_in),
        ("decide", f"Keep another {word}: {stand_in} of it"),
        ("fact", "add", f"The {word} port is 8080 {stand_in}", "--evidence", stand_in),
        ("handoff", f"go on with {word} {stand_in}"),
        ("todo", "add", f"tidy {word} up, {stand_in}"),
        ("ask", "--keep", f"Who owns {word}? {stand_in}"),
        ("lessons", "add", "port", "--rule", f"Use the {word} port, {stand_in}"),
    ):
        run(*words)
    (memory,) = (there / "projects").iterdir()
    _spoil(memory, stand_in, TEXTS[kind])
    archive = world.home.parent / "archive.tar.gz"
    run("export", str(archive))
    shutil.rmtree(there)
    return archive


def _spoil(memory: Path, old: str, new: str) -> None:
    """Puts the text where the other one stands: in files, in their versions, and in every record."""
    import hashlib
    import sqlite3

    line = " ".join(new.split())
    renamed = {}
    for path in files_below([memory]):
        data = path.read_bytes()
        if path.suffix == ".db" or old.encode() not in data:
            continue
        text = line if path.suffix == ".md" or path.parent.name == "contents" else json.dumps(new)[1:-1]
        path.write_bytes(data.replace(old.encode(), text.encode()))
        if path.parent.name == "contents":
            name = hashlib.sha256(path.read_bytes()).hexdigest()
            renamed[path.name] = name
            path.rename(path.with_name(name))
    changes = memory / "history" / "changes.jsonl"
    text = changes.read_text()
    for before, after in renamed.items():
        text = text.replace(before, after)
    changes.write_text(text)
    database = sqlite3.connect(memory / "capture.db")
    with database:
        for id, record in database.execute("SELECT id, record FROM session").fetchall():
            data = bytes(record).replace(old.encode(), json.dumps(new)[1:-1].encode())
            database.execute("UPDATE session SET record = ? WHERE id = ?", (data, id))
        for id, digest in database.execute("SELECT id, digest FROM source").fetchall():
            value = msgspec.msgpack.decode(digest) if digest else None
            data = msgspec.msgpack.encode(_said_instead(value, old, new)) if digest else digest
            database.execute("UPDATE source SET digest = ? WHERE id = ?", (data, id))
    database.close()


def _said_instead(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {_said_instead(key, old, new): _said_instead(item, old, new) for key, item in value.items()}
    return [_said_instead(item, old, new) for item in value] if isinstance(value, list) else value
