"""What goldens.py lets a checkout do: the parts of a run over one history, in their order."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldens_histories import DEMO, History, build
from goldens_hosts import HOSTS, Visit, play
from goldens_world import GONE, LONGEST_S, Fault, World, members_of

PROMPTS = (
    "where were we?",
    "Add rate limiting to the gateway and write a test for it",
    "fix the flaky refresh test",
    "Refactor the configuration loader so that errors name the file",
    "where is the token refreshed?",
    "what is the difference between a thread and a process?",
    "Why did we decide against server-side sessions?",
    "Baue die Tests um und lass sie laufen",
    "thanks, looks good",
)
QUERIES = (
    "why is it slow",
    "test failure",
    "what did we decide",
    "authentication token",
    "what did we do last week",
)
# What hooks have to speak of, in whatever history.
FURNISHED = (
    ("ask", "Which database should the cache use?"),
    ("answer", "Which database should the cache use?", "SQLite"),
    ("decide", "Requests to the gateway are limited per client", "--because", "one client took all"),
    (
        "lessons",
        "add",
        "gateway",
        "--rule",
        "run the gateway's tests with `make test`",
        "--fingerprint",
        "Makefile",
    ),
)
GOALS = ("refactor the authentication middleware", "fix a flaky test", "add a command line option")

_TICKED = re.compile(r"`([^`\n]{3,80})`")


# --- parts ---------------------------------------------------------------------------------------------------


def part_import(world: World, history: History, _: Scope) -> None:
    for words in (("import", str(world.data), "--json"), ("import", str(world.data), "-q"), ("status",)):
        _say(world, "import", *words)
    world.keep_memory("memory/1-import")


def part_install(world: World, history: History, scope: Scope) -> None:
    names = [host.name for host in HOSTS]
    before = world.configuration()
    if scope.whole:
        for name in names:
            _say(world, "install", "install", name, "--dry-run", "--diff")
            _say(world, "install", "install", name, "--scope", "project", "--dry-run", "--diff")
            _say(world, "install", "install", name, "--json")
            world.keep(f"install/files/{name}", _as_text(world.configuration(), before))
            done = _say(world, "install", "uninstall", name, "--yes", "--diff")
            restored = world.configuration() == before
            world.keep_next("install", f"restored-{name}", f"{done.code}: to the byte: {restored}")
        for name in ("claude-code", "codex", "copilot", "gemini"):
            _say(world, "install", "plugin", name, "--json")
    _say(world, "install", "install", *names, "--status-line", "--commands", "--yes", "--diff")
    world.keep("install/files/all", _as_text(world.configuration(), before))


def part_hooks(world: World, history: History, scope: Scope) -> None:
    for words in FURNISHED:
        _say(world, "hooks/before", *words)
    prompts = [*PROMPTS, *_prompts(history)]
    lines = _lines(world, history)
    questions = _questions(world)
    for number, host in enumerate(HOSTS):
        if host.name not in scope.hosts:
            continue
        visit = Visit(world, host, scope.captures, f"hooks/{host.name}")
        some = prompts if not number else [prompts[0], *prompts[number :: len(HOSTS) - 1][:3], prompts[-1]]
        play(visit, some, lines if not number else lines[:3], questions)
        _say(world, f"hooks/{host.name}", "why", "--json")
    if scope.whole:
        _after_a_kill(world, prompts[1])
    world.keep_memory("memory/2-hooks")


def _after_a_kill(world: World, prompt: str) -> None:
    """A session whose process is gone, and the next one. It hears what that left only if it is read within two
    seconds, so this is played where the memory is small."""
    killed = Visit(world, HOSTS[0], None, "hooks/killed", process=GONE, session="0f0f0f0f-killed")
    killed.call("start", source="startup")
    later = Visit(world, HOSTS[0], None, "hooks/killed", session="1f1f1f1f-later")
    later.call("start", source="resume")
    later.call("prompt", prompt=prompt)
    about = {"session_id": "1f1f1f1f-later", "cwd": str(world.work), "cost": {"total_cost_usd": 0.5}}
    done = world.holdfast("statusline", stdin=json.dumps(about))
    world.keep_next("hooks/killed", "statusline", done.text())
    _say(world, "hooks/killed", "why")


def part_commands(world: World, history: History, scope: Scope) -> None:
    for words in _reading(world, history, scope.whole):
        _say(world, "commands", *words)


def part_mcp(world: World, history: History, scope: Scope) -> None:
    """The server, started as a host's configuration names it."""
    server = json.loads((world.home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]["holdfast"]
    world.step += 1
    process = subprocess.Popen(
        [server["command"], *server["args"]],
        cwd=world.work,
        env=world.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    watch = threading.Timer(LONGEST_S, process.kill)
    watch.start()
    try:
        for number, (method, given) in enumerate(_requests(history)):
            answer = _asked(process, number, method, given)
            world.keep_next("mcp", _slug([method, str(given.get("name", ""))]), f"{method} {given}\n{answer}")
        listed = _asked(process, 1000, "resources/list", {})
        world.keep_next("mcp", "resources", listed)
        for number, resource in enumerate(_parsed(listed).get("result", {}).get("resources", ())):
            answer = _asked(process, 1001 + number, "resources/read", {"uri": resource["uri"]})
            world.keep_next("mcp", "resource", _unescaped(answer))
    finally:
        if process.stdin:
            process.stdin.close()
        process.wait()
        watch.cancel()
    world.settle()
    world.keep_memory("memory/3-mcp")


def part_sequence(world: World, history: History, scope: Scope) -> None:
    """Things kept, changed, taken back and forgotten by hand; after each what it did to the memory."""
    world.changes()
    held: dict[str, str] = {"session": _first_session(world), "export": str(world.base / "export.tar.gz")}
    for words in SEQUENCE:
        if not scope.whole and words[0] not in SHORT:
            continue
        if words == ("edit by hand",):
            _edit(world)
            world.keep_next("sequence", "edit-by-hand", world.changes())
            continue
        filled = [word.format_map(_Held(held)) for word in words]
        done = world.holdfast(*filled)
        world.keep_next("sequence", _slug(list(words)), f"{done.text()}\n\n--- memory\n{world.changes()}")
        for name in re.findall(r"\b([FDQTL])-[a-z0-9]{4,}", done.out):
            held[name] = re.findall(rf"\b{name}-[a-z0-9]{{4,}}", done.out)[0]
    if Path(held["export"]).exists():
        world.keep("sequence/export", "\n".join(members_of(Path(held["export"]))))
    world.keep_memory("memory/4-sequence")


SEQUENCE: tuple[tuple[str, ...], ...] = (
    ("fact", "add", "The API listens on port 8080", "--evidence", "listening on :8080", "--command", "echo listening on :8080", "--json"),
    ("fact", "verify", "{F}", "--yes", "--json"),
    ("fact", "add", "The API listens on port 9090", "--evidence", "listening on :9090", "--json"),
    ("fact", "change", "{F}", "The API listens on port 7070", "--evidence", "listening on :7070", "--json"),
    ("fact", "list", "--all", "--json"),
    ("fact", "retire", "{F}", "--because", "it moved", "--json"),
    ("decide", "Use pnpm, not npm", "--because", "the lock file is pnpm's", "--json"),
    ("decide", "Use npm, not pnpm", "--because", "the team knows it", "--json"),
    ("decide", "retire", "{D}", "--json"),
    ("todo", "add", "Rotate the webhook key", "--priority", "high", "--because", "it leaked", "--json"),
    ("todo", "add", "Write the Zanzibar chapter", "--owner", "agent", "--json"),
    ("todo", "done", "{T}", "--json"),
    ("ask", "Which region does Zanzibar deploy to?", "--json"),
    ("answer", "{Q}", "eu-west-1", "--json"),
    ("ask", "To which region do we deploy Zanzibar?", "--json"),
    ("handoff", "Migrate the tests to the new client, then delete http_old.py"),
    ("handoff", "Ask for a review", "--add", "--json"),
    ("lessons", "add", "testing", "--rule", "run `make test`, never pytest itself", "--fingerprint", "Makefile", "--json"),
    ("lessons", "mute", "testing", "--days", "3", "--json"),
    ("lessons", "unmute", "testing", "--json"),
    ("lessons", "share", "testing", "--json"),
    ("resume", "--why"),
    ("edit by hand",),
    ("history", "--json"),
    ("undo", "--dry-run"),
    ("undo", "--yes"),
    ("undo", "--yes"),
    ("export", "{export}", "--json"),
    ("forget", "--text", "Zanzibar", "--dry-run", "--json"),
    ("forget", "--text", "Zanzibar", "--yes"),
    ("forget", "--fact", "{D}", "--yes", "--json"),
    ("forget", "--session", "{session}", "--yes", "--json"),
    ("todo", "--all", "--json"),
    ("undo", "--json"),
    ("restore", "{export}", "--dry-run"),
    ("restore", "{export}", "--merge", "--json"),
    ("restore", "{export}", "--replace", "--json"),
    ("ledger", "add", "--goal", "write the release notes", "--model", "opus", "--cost", "0.12", "--tasks", "3", "--json"),
    ("ledger", "share"),
    ("project", "use", "payments", "--json"),
    ("decide", "Payments are retried three times", "--json"),
    ("project", "use", "--default", "--json"),
    ("archive", "--longest", "40", "--json"),
    ("index", "--rebuild", "--json"),
    ("off", "--json"),
    ("on", "--json"),
    ("doctor", "--json"),
    ("uninstall", "--all", "--yes", "--diff"),
)  # fmt: skip
SHORT = frozenset(
    ("decide", "ask", "edit by hand", "undo", "export", "forget", "restore", "archive", "index", "uninstall")
)

Part = Callable[[World, History, "Scope"], None]
PARTS: dict[str, Part] = {
    "import": part_import,
    "install": part_install,
    "hooks": part_hooks,
    "commands": part_commands,
    "mcp": part_mcp,
    "sequence": part_sequence,
}
NEEDED = ("import", "install")  # the other parts work on what these leave


@dataclass(frozen=True)
class Scope:
    """How much of a history is played: the demonstration is played whole."""

    whole: bool
    hosts: frozenset[str]
    captures: Path | None


def run_history(
    world: World, history: History, parts: list[str], scope: Scope, told: Callable[[str], None]
) -> None:
    build(world, history)
    if history.name == DEMO and "import" in parts:
        for words in (("demo",), ("demo", "--json"), ("--version",), ("--help",)):
            _say(world, "demo", *words)
    for name in parts:
        told(name)
        PARTS[name](world, history, scope)


# --- what is asked -------------------------------------------------------------------------------------------


def _prompts(history: History) -> list[str]:
    files = [*history.files[:3], "src/main.py"]
    return [
        f"fix the bug in {files[0]}",
        f"Add a test for {Path(files[min(1, len(files) - 1)]).name}",
        *(f"where is {topic} handled?" for topic in history.topics[:2]),
        f"Change how {history.topics[0] if history.topics else 'it'} works and update its callers",
    ]


def _lines(world: World, history: History) -> list[str]:
    """Commands worth a word: those that the memory speaks of, and those that sessions ran most."""
    texts = [
        path.read_text(encoding="utf-8")
        for name, path in world.files()
        if name.endswith(("current.md", "log.md"))
    ]
    spoken = [line for text in texts for line in _TICKED.findall(text) if " " in line and "<" not in line]
    return list(dict.fromkeys([*spoken[:5], *history.commands[:3], "python -m pytest tests/test_tokens.py"]))[
        :7
    ]


def _questions(world: World) -> list[tuple[str, list[str]]]:
    kept = world.holdfast("questions", "--answered", "--json").json() or []
    found = [(one.get("question") or one.get("text") or "", one.get("answer") or "") for one in kept]
    asked = [(question, [answer[:60] or "Yes", "Something else"]) for question, answer in found if question]
    return [*asked[:2], ("Which database should the cache use?", ["SQLite", "Redis"])]


def _reading(world: World, history: History, whole: bool) -> Iterator[tuple[str, ...]]:
    """Commands that read; in the demonstration all of them, also as a person sees them."""
    for query in (*QUERIES[: 5 if whole else 3], *history.topics):
        yield "search", query, "--json"
    for task in (*GOALS[: 3 if whole else 1], *_prompts(history)[:3], "where were we"):
        yield "recall", task, "--json"
    for prompt in (PROMPTS[1], *_prompts(history)[-2:]):
        yield "recall", prompt, "--as-prompt"
    for goal in (GOALS[0], *history.topics[:1]):
        yield "similar", goal, "--json"
        yield "recommend", goal, "--json"
    yield from (tuple(line.split()) for line in READING)
    yield "ledger", "show", _first_session(world), "--json"
    if whole:
        yield "search", "decision", "--kind", "fact", "--kind", "history", "-k", "8", "--why"
        yield "search", "zzz qqq", "--all", "--json"
        for prompt in (PROMPTS[1], *_prompts(history)[-2:]):
            yield "recall", prompt, "--why"
            yield "classify", prompt, "--json"
        yield "similar", GOALS[0]
        yield "recommend", GOALS[0], "--objective", "cost"
        yield "log", _first_session(world)
        yield "search", _first_session(world)
        yield from (tuple(line.split()) for line in READING_WHOLE)


READING = (
    "resume --json",
    "resume --why",
    "questions --json",
    "ledger list --json",
    "ledger stats --json",
    "ledger stats --by kind --json",
    "ledger report --format md",
    "why --json",
    "know scan --json",
    "know context --max 2000",
    "lessons list --json",
    "status --json",
    "status",
    "log -n 0 --json",
    "log",
    "todo --json",
    "fact list --all --json",
    "decide --list --json",
    "history --json",
    "roi --json",
)
READING_WHOLE = (
    "resume",
    "questions",
    "ledger list",
    "ledger stats",
    "ledger stats --by model",
    "ledger report --json",
    "ledger report --format html",
    "ledger export",
    "ledger export --format openmetrics",
    "why",
    "know --json",
    "know",
    "lessons list",
    "lessons review --json",
    "lessons stale --json",
    "log --decisions",
    "alerts --json",
    "roi --how",
    "context --no-save --json",
    "context",
    "doctor --json",
    "agents --json",
    "project list --json",
    "handoff",
    "fenced resume",
    "fenced lessons",
    "export --dry-run",
    "archive --dry-run",
)


def _requests(history: History) -> Iterator[tuple[str, dict[str, Any]]]:
    client = {"name": "goldens", "version": "1"}
    yield "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    yield "notifications/initialized", {}
    yield "tools/list", {}
    for name, given in _calls(history):
        yield "tools/call", {"name": name, "arguments": given}


def _calls(history: History) -> Iterator[tuple[str, dict[str, Any]]]:
    for task in (*GOALS, *_prompts(history)):
        yield "recall", {"task": task}
    yield "recall", {"task": GOALS[0], "budget": 600}
    for query in (*QUERIES, *history.topics):
        yield "search", {"query": query, "k": 3}
    yield "search", {"query": "test", "kind": "lesson"}
    yield "open", {"place": "current.md:1"}
    yield "open", {"place": f"projects/{history.title}/log.md:5"}
    yield "remember", {"kind": "decision", "text": "Keep the cache in SQLite", "because": "two writers"}
    yield "remember", {"kind": "finding", "text": "The gateway drops idle connections after 30 seconds"}
    yield "remember", {"kind": "fact", "text": "The queue has 4 workers"}
    yield (
        "remember",
        {"kind": "fact", "text": "The queue has 4 workers", "evidence": "workers=4", "command": "make ps"},
    )
    yield "remember", {"kind": "dead_end", "text": "Tried to pin numpy 1.25", "evidence": "no wheel for it"}
    yield "remember", {"kind": "todo", "text": "Raise the idle limit", "because": "clients reconnect"}
    yield "question", {"question": "How many workers has the queue?"}
    yield "question", {"question": "Who signs releases?"}
    yield "question", {"question": "Who signs releases?", "answer": "Dana"}
    yield "handoff", {"text": "Raise the idle limit\nThen release"}
    yield "handoff", {"text": "Tell the team", "add": True}
    yield "correct", {"id": "T-nothing", "action": "done"}
    yield "recommend", {"goal": GOALS[0]}
    yield "recommend", {"goal": GOALS[1], "objective": "cost"}
    yield "no_such_tool", {}


def _asked(process: subprocess.Popen[str], number: int, method: str, given: dict[str, Any]) -> str:
    if process.stdin is None or process.stdout is None:
        raise Fault("the MCP server has no pipes")
    notice = method.startswith("notifications/")
    request = {"jsonrpc": "2.0", **({} if notice else {"id": number}), "method": method, "params": given}
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    if notice:
        return ""
    while line := process.stdout.readline():
        answer = json.loads(line)
        if answer.get("id") == number:
            return json.dumps(answer, ensure_ascii=False, indent=1, sort_keys=True)
    return "the server is gone"


def _parsed(answer: str) -> Any:
    try:
        return json.loads(answer)
    except ValueError:
        return {}


def _unescaped(answer: str) -> str:
    return answer.replace("\\n", "\n")


# --- small things --------------------------------------------------------------------------------------------


class _Held(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"{name}-none"


def _say(world: World, folder: str, *words: str) -> Any:
    done = world.holdfast(*words)
    world.keep_next(folder, _slug(list(words)), done.text())
    return done


def _slug(words: list[str]) -> str:
    return re.sub(r"[^A-Za-z0-9{}]+", "-", " ".join(words)).strip("-")[:60]


def _first_session(world: World) -> str:
    rows = world.holdfast("ledger", "list", "--json").json() or []
    found = [str(row.get("session", "")) for row in rows if isinstance(row, dict)]
    return found[0] if found else "none"


def _edit(world: World) -> None:
    """A person writes into current.md, at the pinned time."""
    for name, path in world.files():
        if name.endswith("/current.md") and "/contents/" not in name:
            path.write_text(
                path.read_text(encoding="utf-8") + "\nRemember the milk.\n- [ ] Buy milk\n", encoding="utf-8"
            )
            os.utime(path, (world.now, world.now))


def _as_text(now: dict[str, bytes], before: dict[str, bytes]) -> str:
    changed = [name for name in sorted(now) if now[name] != before.get(name)]
    return "\n".join(f"=== {name}\n{now[name].decode('utf-8', 'replace')}" for name in changed)
