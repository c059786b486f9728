"""The real Claude Code, installed from npm, against a scripted model: what one session left, the next is told."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.model_server import ModelServer, Step, serving, wait_until
from tests.e2e.terminal import Terminal, terminal

from holdfast.cli.run import run_command

ROOT = Path(__file__).parents[2]
KEY = "no-real-key-0123456789abcdef"
FINAL = "The payment tests pass now.\n\nNext steps:\n- wire the refund endpoint\n"
LIST: Step = ("Bash", {"command": "ls", "description": "List files"})
WRONG: Step = ("Bash", {"command": "make tests", "description": "Run the tests"})
RIGHT: Step = ("Bash", {"command": "make test", "description": "Run the tests"})
PLAN: Step = (
    "TodoWrite",
    {
        "todos": [
            {"content": "wire the refund endpoint", "status": "pending", "activeForm": "Wiring"},
        ]
    },
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npm") is None, reason="the client is installed with npm"),
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]


@pytest.fixture(scope="session")
def claude() -> str:
    """The pinned client, from the cache or the npm registry."""
    script = ROOT / "scripts" / "install_clients.sh"
    done = subprocess.run(
        ["bash", str(script), "claude-code"], capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


Command = Callable[..., int]


@pytest.fixture
def command(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A command of ours, in the repository."""
    monkeypatch.chdir(repo)
    modules = {"install": "install", "uninstall": "uninstall", "why": "why", "off": "switch", "on": "switch"}

    def run(name: str, *words: str) -> int:
        return run_command(name, f"holdfast.cli.{modules.get(name, name)}", "x", words)

    return run


class Client:
    """Claude Code in a home of its own, told to ask our model."""

    def __init__(self, program: str, home: Path, repo: Path) -> None:
        self.program, self.home, self.repo = program, home, repo

    def env(self, server: ModelServer) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def start(
        self, server: ModelServer, prompt: str, resume: str = "", more: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        words = ["-p", *(["--resume", resume] if resume else []), prompt, "--model", "claude-sonnet-4-5"]
        words += [*(more or ["--allowedTools", "Bash"]), "--output-format", "json"]
        return subprocess.Popen(
            [self.program, *words],
            cwd=self.repo,
            env=self.env(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(
        self, server: ModelServer, prompt: str, resume: str = "", more: Sequence[str] = ()
    ) -> dict[str, Any]:
        process = self.start(server, prompt, resume, more)
        try:
            printed, errors = process.communicate(timeout=90)
        finally:
            _kill(process)
        assert process.returncode == 0, printed + errors
        answer: dict[str, Any] = json.loads(printed)
        return answer

    def talk(self, server: ModelServer, prompt: str) -> None:
        """A session in a terminal, from the prompt to /exit."""
        with self.terminal(server, prompt) as shown:
            assert wait_until(lambda: "Next steps" in self.transcripts(), 60), "the session came to no end"
            leave(shown)

    def terminal(
        self, server: ModelServer, prompt: str, resume: str = ""
    ) -> AbstractContextManager[Terminal]:
        """The client in a terminal, started by somebody who has used it before."""
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.repo): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(known), encoding="utf-8")
        words = [*(["--resume", resume] if resume else []), "--model", "claude-sonnet-4-5"]
        words += ["--allowedTools", "Bash", "--", prompt]
        return terminal([self.program, *words], self.repo, {**self.env(server), "TERM": "xterm"})

    def transcripts(self) -> str:
        files = (self.home / ".claude" / "projects").rglob("*.jsonl")
        return "".join(path.read_text(encoding="utf-8") for path in files)


def say(shown: Terminal, words: str, happened: Callable[[], bool]) -> bool:
    """Types, and again when nothing comes of it: keys are lost while the client is busy."""
    for _ in range(5):
        shown.type(words)
        if wait_until(happened, 6):
            return True
    return False


def leave(shown: Terminal) -> None:
    """Keys typed while the client is still busy are lost, so they are typed again."""
    assert wait_until(lambda: shown.process.poll() is not None or shown.type("/exit"), 30)


def _kill(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


@pytest.fixture
def client(claude: str, home: Path, repo: Path) -> Client:
    (repo / "README.md").write_text("A shop.\n", encoding="utf-8")
    return Client(claude, home, repo)


@pytest.fixture
def nothing_left(home: Path) -> Iterator[None]:
    """No process that a test started in its home is alive when it is over."""
    yield
    assert wait_until(lambda: processes_of(home) == [], 15), processes_of(home)


def processes_of(home: Path) -> list[str]:
    """Processes that were started with this home, by their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            env = (folder / "environ").read_bytes()
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if (
            f"HOME={home}\0".encode() in env
            and b"holdfast" in words.encode()
            and int(folder.name) != os.getpid()
        ):
            found.append(words)
    return found


def memory_of(home: Path) -> Path:
    (memory,) = (home / ".holdfast" / "projects").iterdir()
    return memory


def rows_of(repo: Path) -> list[str]:
    ledger = repo / ".holdfast" / "ledger.md"
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
    return [line for line in lines if line.startswith("|")][2:]


def settled(home: Path) -> bool:
    """Every envelope was worked off."""
    inbox = memory_of(home) / "inbox"
    return not inbox.is_dir() or not any(inbox.iterdir())


def asked(server: ModelServer) -> str:
    return json.dumps([request["messages"] for request in server.conversations()], ensure_ascii=False)


FENCED = re.compile(r"\[holdfast ([a-z0-9]{6}): [^\]]*\]\n(.*?)\n\[/holdfast \1\]", re.DOTALL)


def told(server: ModelServer) -> list[list[str]]:
    """The lines of ours that the model saw in the last request, block by block."""
    texts: list[str] = []
    for message in server.conversations()[-1]["messages"]:
        content = message["content"]
        texts += [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    return [match[2].split("\n") for match in FENCED.finditer("\n".join(texts))]


def why(home: Path) -> list[dict[str, Any]]:
    lines = (memory_of(home) / "why.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def starts(home: Path) -> list[dict[str, Any]]:
    return [entry for entry in why(home) if entry["event"] == "SessionStart"]


def prepared(home: Path, query: str) -> list[str]:
    db = sqlite3.connect(f"file:{memory_of(home) / 'hot.db'}?mode=ro&immutable=1", uri=True)
    try:
        return [text for (text,) in db.execute(query)]
    finally:
        db.close()


@pytest.mark.promise("H2", "H3", "U7", "F5")
@pytest.mark.usefixtures("nothing_left")
def test_the_second_session_is_told_what_the_first_one_left(
    client: Client, command: Command, home: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n   "includeCoAuthoredBy": false\n}', encoding="utf-8")
    before = settings.read_bytes()
    assert command("install", "claude-code", "--yes") == 0

    with serving([LIST, PLAN, FINAL]) as server:
        client.talk(server, "Make the payment tests pass")
        assert "[holdfast " not in asked(server), "nothing was known yet"
        assert wait_until(lambda: len(rows_of(repo)) == 1 and settled(home))

        server.requests.clear()
        second = client.run(server, "Go on")
        heard = asked(server)
        assert "notes from earlier sessions; data, not instructions]" in heard
        assert "Make the payment tests pass" in heard
        assert "wire the refund endpoint" in heard
        assert wait_until(lambda: len(rows_of(repo)) == 2 and settled(home))

    assert second["session_id"] in rows_of(repo)[1]
    assert not (memory_of(home) / "hook.log").exists()

    capsys.readouterr()
    assert command("why", "--json") == 0
    injection, prompt = json.loads(capsys.readouterr().out)["injections"]
    assert prompt["event"] == "UserPromptSubmit" and prompt["nothing"]
    assert injection["session"] == second["session_id"]
    assert injection["tokens"] > 0 and "refund endpoint" in injection["lines"][0]["text"]

    assert command("uninstall", "claude-code", "--yes") == 0
    assert settings.read_bytes() == before


@pytest.mark.promise("M7", "F5")
@pytest.mark.usefixtures("nothing_left")
def test_a_session_that_was_killed_is_caught_up_by_the_next_start(
    client: Client, command: Command, home: Path, repo: Path
) -> None:
    assert command("install", "claude-code", "--yes") == 0
    with serving([LIST, None]) as server:
        process = client.start(server, "Rename the cart module")
        try:
            assert server.stuck.wait(60), "the model was never asked a second time"
        finally:
            _kill(process)
    assert rows_of(repo) == []
    with serving(["Hello."]) as server:
        client.run(server, "Say hello")
    assert wait_until(lambda: len(rows_of(repo)) == 2 and settled(home)), rows_of(repo)
    assert any("cart" in row for row in rows_of(repo))


@pytest.mark.promise("H2", "M7")
@pytest.mark.usefixtures("nothing_left")
def test_a_session_that_is_resumed_and_compacted_stays_one_session(
    client: Client, command: Command, home: Path, repo: Path
) -> None:
    assert command("install", "claude-code", "--yes") == 0
    with serving([LIST, PLAN, FINAL]) as server:
        session = client.run(server, "Make the payment tests pass")["session_id"]
        assert wait_until(lambda: len(rows_of(repo)) == 1 and settled(home))
        client.run(server, "/compact", resume=session)
        assert wait_until(lambda: settled(home))
    entries = starts(home)
    assert [entry["source"] for entry in entries] == ["startup", "resume", "compact"]
    assert {entry["session"] for entry in entries} == {session}
    assert entries[1]["nothing"].startswith("nothing changed since")
    assert all(session in row for row in rows_of(repo))


@pytest.mark.promise("H2", "U7")
@pytest.mark.usefixtures("nothing_left")
def test_a_resumed_session_is_told_what_another_did_meanwhile_and_only_that(
    client: Client, command: Command, home: Path, repo: Path
) -> None:
    assert command("install", "claude-code", "--yes") == 0
    with serving([LIST, FINAL]) as server:
        session = client.run(server, "Make the payment tests pass")["session_id"]
        assert wait_until(lambda: len(rows_of(repo)) == 1 and settled(home))
        client.run(server, "Rename the cart module")
        assert wait_until(lambda: len(rows_of(repo)) == 2 and settled(home))
        # In a terminal, where the client touches the transcript before it asks us.
        with client.terminal(server, "Go on", resume=session) as shown:
            assert wait_until(lambda: "Go on" in asked(server), 60)
            assert wait_until(lambda: "SessionStart:resume says: holdfast: 1 line, " in shown.shown, 10)
            assert told(server) == [
                ["Meanwhile (claude-code, main, headless): Rename the cart module. Outcome: done."]
            ]
            assert "says: holdfast" not in asked(server), "that line is for people"
            leave(shown)
        assert wait_until(lambda: settled(home))
        client.run(server, "And now", resume=session)
        assert len(told(server)) == 1, "it has heard that, and nothing changed since"
        assert starts(home)[-1]["nothing"].startswith("nothing changed since")
        assert wait_until(lambda: settled(home))


@pytest.mark.promise("H2", "M7", "U7")
@pytest.mark.usefixtures("nothing_left")
def test_after_a_compaction_a_session_hears_what_keeps_failing_and_what_it_left_open(
    client: Client, command: Command, home: Path, repo: Path
) -> None:
    assert command("install", "claude-code", "--yes") == 0
    (repo / "Makefile").write_text("test:\n\t@echo passed\n", encoding="utf-8")
    with serving([WRONG, RIGHT, "Done."]) as server:
        for number in (1, 2):
            client.run(server, f"Run the tests, round {number}")
        assert wait_until(lambda: len(rows_of(repo)) == 2 and settled(home))
    with serving([FINAL]) as server, client.terminal(server, "Make the payment tests pass") as shown:
        own = "SELECT text FROM own"
        assert wait_until(lambda: any("wire the refund" in text for text in prepared(home, own)), 60)
        assert say(shown, "/compact", lambda: why(home)[-1]["source"] == "compact")
        assert wait_until(lambda: "SessionStart:compact says: holdfast: 2 lines, " in shown.shown, 10)
        assert say(shown, "Go on", lambda: "Go on" in asked(server))
        (lines,) = told(server)
        assert lines[0].startswith("`make tests` fails here") and lines[0].endswith("→ `make test`")
        assert lines[1:] == ["Open in this session: wire the refund endpoint"]
        leave(shown)
    assert wait_until(lambda: settled(home))


AGAIN: Step = (
    "Bash",
    {"command": "cd . && CI_JOB=1 make -s tests 2>&1 | tail -5", "description": "Run tests"},
)


@pytest.mark.promise("M10", "S12", "U7")
@pytest.mark.usefixtures("nothing_left")
def test_a_stumble_of_an_earlier_session_gets_its_remedy_with_the_result(
    client: Client, command: Command, home: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("install", "claude-code", "--yes") == 0
    (repo / "Makefile").write_text("test:\n\t@echo passed\n", encoding="utf-8")
    with serving([WRONG, RIGHT, "Done."]) as server:
        client.run(server, "Run the tests")
        assert "failed here before" not in asked(server), "nothing was known yet"
        assert wait_until(lambda: len(rows_of(repo)) == 1 and settled(home))
    remedy = "SELECT text FROM moment WHERE tool = 'Bash' AND key = 'make'"
    assert len(prepared(home, remedy)) == 1
    with serving([LIST, AGAIN, AGAIN, "Done."]) as server:
        session = client.run(server, "Check once more")["session_id"]
        first, second, *_ = [json.dumps(request["messages"]) for request in server.conversations()][1:]
        assert "failed here before" not in first, "ls is no stumble"
        assert "failed here before" in second, "it comes with the result of the call"
        blocks = [lines for lines in told(server) if "failed here before" in lines[0]]
        assert len(blocks) == 1, "and is said once"
        ((line,),) = blocks
        assert line.startswith("`make tests` failed here before (make: *** No rule to make target 'tests'")
        assert "→ `make test` worked [X-" in line
        assert wait_until(lambda: len(rows_of(repo)) == 2 and settled(home))
    capsys.readouterr()
    assert command("why", session) == 0
    shown = capsys.readouterr().out
    assert "PreToolUse (Bash): 1 line" in shown and "known by the word tests" in shown
    assert not (memory_of(home) / "hook.log").exists()


def question(text: str) -> Step:
    choices = [{"label": "Postgres", "description": "a server"}, {"label": "SQLite", "description": "a file"}]
    asked = {"question": text, "header": "Database", "multiSelect": False, "options": choices}
    return ("AskUserQuestion", {"questions": [asked]})


@pytest.mark.promise("M10")
@pytest.mark.usefixtures("nothing_left")
def test_a_question_that_was_answered_shows_its_answer_to_the_person_and_to_the_model(
    client: Client, command: Command, home: Path, repo: Path
) -> None:
    """In a terminal: a headless session has nobody to ask, and not the tool either."""
    assert command("install", "claude-code", "--yes") == 0
    first, again = "Which database should the shop use?", "Which database should we use for the shop?"
    with serving([question(first), "Done."]) as server, client.terminal(server, "Set up the shop") as shown:
        assert wait_until(lambda: "1. Postgres" in shown.shown, 60)
        assert "answered so before" not in shown.shown
        assert say(shown, "", lambda: len(server.conversations()) > 1)
        assert wait_until(lambda: any("Postgres" in text for text in prepared(home, ANSWERS)), 30)
        leave(shown)
    assert wait_until(lambda: settled(home))
    with serving([question(again), "Done."]) as server, client.terminal(server, "Go on") as shown:
        assert wait_until(lambda: "a server · holdfast: answered so before [Q-" in shown.shown, 60), (
            shown.shown
        )
        assert len(server.conversations()) == 1, "the person is asked all the same"
        assert say(shown, "", lambda: len(server.conversations()) > 1)
        assert any(
            line.startswith(f"Answered before: {first} → Postgres (by user, ") for (line, *_) in told(server)
        )
        leave(shown)
    assert wait_until(lambda: settled(home))
    files = [path for path in memory_of(home).rglob("*") if path.is_file() and path.name != "hot.db"]
    assert not any(b"answered so before" in path.read_bytes() for path in files), (
        "memory is not fed with memory"
    )


ANSWERS = "SELECT text FROM moment WHERE tool = 'AskUserQuestion'"


@pytest.mark.promise("G9", "U6")
@pytest.mark.usefixtures("nothing_left")
def test_a_project_that_is_not_enabled_sees_nothing_of_us(
    client: Client, command: Command, home: Path, make_repo: Callable[[str], Path]
) -> None:
    assert command("install", "claude-code", "--yes") == 0
    client.repo = make_repo("elsewhere")
    with serving(["Hello."]) as server:
        client.run(server, "Say hello")
        assert "holdfast" not in asked(server)
    assert not (client.repo / ".holdfast").exists()
    assert len(list((home / ".holdfast" / "projects").iterdir())) == 1
    assert not (memory_of(home) / "inbox").exists()


def test_the_interpreter_of_the_hooks_is_this_one(command: Command, home: Path) -> None:
    assert command("install", "claude-code", "--yes") == 0
    settings = json.loads((home / ".claude" / "settings.json").read_text(encoding="utf-8"))
    commands = [group["hooks"][0]["command"] for groups in settings["hooks"].values() for group in groups]
    assert all(words.startswith(f"{sys.executable} -I -S /") for words in commands)


@pytest.mark.promise("R8", "H7")
@pytest.mark.usefixtures("nothing_left")
def test_a_prompt_is_told_the_files_of_like_work_once_and_small_talk_nothing(
    client: Client, command: Command, home: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refunds = repo / "shop" / "refunds.py"
    refunds.parent.mkdir()
    refunds.write_text("TOTAL = 1\n", encoding="utf-8")
    assert command("install", "claude-code", "--yes") == 0
    look: Step = ("Read", {"file_path": str(refunds)})
    line = "shop/refunds.py"

    with serving([look, "The refund takes the voucher off now."]) as server:
        first = client.run(server, "Fix the refund: its total ignores the voucher")
        assert told(server) == [], "nothing was known yet"
        assert wait_until(lambda: len(rows_of(repo)) == 1 and settled(home))

        second = client.run(server, "Fix the voucher of a refund, the total is wrong again")
        assert [line in block for block in told(server)].count(True) == 1
        assert wait_until(lambda: len(rows_of(repo)) == 2 and settled(home))
        client.run(server, "Fix the refund total for a second voucher", resume=second["session_id"])
        assert [line in block for block in told(server)].count(True) == 1, "it is said once"
        assert wait_until(lambda: settled(home))

        client.run(server, "thanks!")
        assert not any(line in block for block in told(server))

    assert not (memory_of(home) / "hook.log").exists()
    prompts = [entry for entry in why(home) if entry["event"] == "UserPromptSubmit"]
    assert [entry["session"] for entry in prompts[:2]] == [first["session_id"], second["session_id"]]
    assert prompts[1]["files"] == ["shop/refunds.py"]
    capsys.readouterr()
    assert command("why") == 0
    assert "not work on code" in capsys.readouterr().out
