"""Writes the bundled sample sessions of `holdfast demo`: invented work, in the true shape of two agents' files.

Run it after changing a story below; the files under src/holdfast/demo_sessions/ are committed.
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent.parent / "src" / "holdfast" / "demo_sessions"
CWD = "/home/dev/tidepool"
NAMESPACE = uuid.UUID("6f1d2c9e-5b7a-4c3d-9e8f-0a1b2c3d4e5f")

CLIENT_RETRIES = """    for attempt in range(ATTEMPTS):
        answer = get(url)
        if answer.status < 500:
            return answer
        time.sleep(2 ** (attempt + 1))
    raise TideServiceDown(url)"""
FORECASTS = '''"""Forecasts that were asked for in the last hour, in a SQLite file that every worker reads."""

import sqlite3
import time

TO_LIVE_S = 3600


def cached(view):
    def answer(request):
        with sqlite3.connect("forecasts.db") as db:
            row = db.execute("SELECT body FROM forecast WHERE station = ? AND at > ?", since(request)).fetchone()
            return row[0] if row else keep(db, request, view(request))

    return answer


def since(request):
    return request.station, time.time() - TO_LIVE_S
'''
STATION_INDEX = "CREATE INDEX readings_station ON readings (station, at);\n"
STATIONS = "SELECT * FROM stations JOIN LATERAL (SELECT * FROM readings WHERE station = stations.id LIMIT 1) AS last ON true"


class Clock:
    def __init__(self, start: str) -> None:
        self.now = datetime.fromisoformat(start).replace(tzinfo=UTC)

    def after(self, seconds: float) -> str:
        self.now += timedelta(seconds=seconds)
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Claude:
    """One Claude Code transcript."""

    def __init__(self, name: str, start: str, model: str, branch: str) -> None:
        self.session = str(uuid.uuid5(NAMESPACE, name))
        self.clock = Clock(start)
        self.model, self.branch = model, branch
        self.lines: list[dict[str, Any]] = []
        self.parent: str | None = None
        self.count = 0
        self.context = 14_000

    def _line(self, kind: str, seconds: float, **fields: Any) -> None:
        self.count += 1
        identity = str(uuid.uuid5(NAMESPACE, f"{self.session}{self.count}"))
        self.lines.append(
            {
                "parentUuid": self.parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": CWD,
                "sessionId": self.session,
                "version": "2.1.40",
                "gitBranch": self.branch,
                "type": kind,
                **fields,
                "uuid": identity,
                "timestamp": self.clock.after(seconds),
            }
        )
        self.parent = identity

    def user(self, text: str, seconds: float = 20) -> None:
        self._line("user", seconds, message={"role": "user", "content": text})

    def _assistant(self, block: dict[str, Any], seconds: float, output: int) -> None:
        message = f"msg_demo{uuid.uuid5(NAMESPACE, self.session + str(self.count)).hex[:20]}"
        for repeat in (1, output):  # the client writes a response more than once while it streams
            usage = {
                "input_tokens": 6,
                "cache_creation_input_tokens": 900,
                "cache_read_input_tokens": self.context,
                "output_tokens": repeat,
            }
            self._line(
                "assistant",
                seconds / 2,
                message={
                    "model": self.model,
                    "id": message,
                    "type": "message",
                    "role": "assistant",
                    "content": [block]
                    if repeat == output
                    else [{"type": "thinking", "thinking": "", "signature": ""}],
                    "stop_reason": None,
                    "usage": usage,
                },
                requestId=f"req_demo{self.count // 2}",
            )
        self.context += 900 + output

    def say(self, text: str, seconds: float = 6) -> None:
        self._assistant({"type": "text", "text": text}, seconds, 40 + len(text) // 4)

    def tool(
        self, name: str, arguments: dict[str, Any], result: str, *, error: bool = False, seconds: float = 8
    ) -> None:
        call = f"toolu_demo{uuid.uuid5(NAMESPACE, self.session + name + str(self.count)).hex[:18]}"
        block = {"type": "tool_use", "id": call, "name": name, "input": arguments}
        self._assistant(block, 5, 60 + len(json.dumps(arguments)) // 4)
        outcome = {"tool_use_id": call, "type": "tool_result", "content": result, "is_error": error}
        self._line("user", seconds, message={"role": "user", "content": [outcome]}, toolUseResult=result)

    def bash(self, command: str, result: str, *, error: bool = False, seconds: float = 8) -> None:
        self.tool("Bash", {"command": command, "description": "run"}, result, error=error, seconds=seconds)

    def read(self, path: str) -> None:
        self.tool("Read", {"file_path": f"{CWD}/{path}"}, f"     1\t# {path}\n", seconds=1)

    def edit(self, path: str, old: str, new: str) -> None:
        arguments = {"file_path": f"{CWD}/{path}", "old_string": old, "new_string": new}
        self.tool("Edit", arguments, f"The file {CWD}/{path} has been updated.", seconds=1)

    def todos(self, *items: tuple[str, str]) -> None:
        todos = [{"content": text, "status": status, "activeForm": text} for text, status in items]
        self.tool("TodoWrite", {"todos": todos}, "Todos have been modified successfully.", seconds=1)

    def save(self) -> None:
        _save(OUT / "claude-code" / f"{self.session}.jsonl", self.lines)


class Codex:
    """One Codex rollout."""

    def __init__(self, name: str, start: str, model: str, branch: str) -> None:
        self.session = str(uuid.uuid5(NAMESPACE, name))
        self.clock = Clock(start)
        self.start = self.clock.now
        self.total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
        self.lines: list[dict[str, Any]] = []
        self.count = 0
        meta = {
            "id": self.session,
            "timestamp": self.clock.after(0),
            "cwd": CWD,
            "originator": "codex-tui",
            "cli_version": "0.142.5",
            "source": "cli",
            "model_provider": "openai",
            "git": {"branch": branch, "commit_hash": "0" * 40},
        }
        self._line("session_meta", 0.1, meta)
        self._line(
            "turn_context",
            0.1,
            {"cwd": CWD, "model": model, "approval_policy": "on-request", "summary": "auto"},
        )

    def _line(self, kind: str, seconds: float, payload: dict[str, Any]) -> None:
        self.lines.append({"timestamp": self.clock.after(seconds), "type": kind, "payload": payload})

    def user(self, text: str, seconds: float = 20) -> None:
        content = [{"type": "input_text", "text": text}]
        self._line("response_item", seconds, {"type": "message", "role": "user", "content": content})
        self._line("event_msg", 0.1, {"type": "user_message", "message": text, "images": []})

    def _tokens(self, output: int) -> None:
        last = {"input_tokens": 9_000 + 800 * self.count, "cached_input_tokens": 7_000 + 700 * self.count}
        last["output_tokens"] = output
        self.count += 1
        for name, value in last.items():
            self.total[name] += value
        info = {
            "total_token_usage": dict(self.total),
            "last_token_usage": last,
            "model_context_window": 258_400,
        }
        for _ in range(2):  # the client repeats itself
            self._line("event_msg", 0.1, {"type": "token_count", "info": info, "rate_limits": None})

    def say(self, text: str, seconds: float = 8) -> None:
        content = [{"type": "output_text", "text": text}]
        self._line("response_item", seconds, {"type": "message", "role": "assistant", "content": content})
        self._tokens(80 + len(text) // 4)

    def shell(self, command: str, code: int, output: str, seconds: float = 6) -> None:
        call = f"call_demo{self.count}"
        arguments = json.dumps({"cmd": command, "workdir": CWD})
        payload = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call}
        self._line("response_item", 4, payload)
        text = (
            f"Chunk ID: 0a1b2c\nWall time: 0.5 seconds\nProcess exited with code {code}\nOutput:\n{output}\n"
        )
        self._line(
            "response_item", seconds, {"type": "function_call_output", "call_id": call, "output": text}
        )
        self._tokens(120)

    def patch(self, path: str, body: str) -> None:
        call = f"call_demo{self.count}"
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{body}\n*** End Patch"
        payload = {
            "type": "custom_tool_call",
            "name": "apply_patch",
            "input": patch,
            "call_id": call,
            "status": "completed",
        }
        self._line("response_item", 5, payload)
        text = (
            f"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM {path}\n"
        )
        self._line("response_item", 1, {"type": "custom_tool_call_output", "call_id": call, "output": text})
        self._tokens(200)

    def aborted(self) -> None:
        self._line("event_msg", 30, {"type": "turn_aborted", "reason": "interrupted"})

    def save(self) -> None:
        stamp = self.start.strftime("%Y-%m-%dT%H-%M-%S")
        folder = OUT / "codex" / self.start.strftime("%Y/%m/%d")
        _save(folder / f"rollout-{stamp}-{self.session}.jsonl", self.lines)


def _save(path: Path, lines: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")


def rate_limiting() -> None:
    s = Claude("rate limiting", "2026-11-02T09:12:00", "claude-opus-4-7", "main")
    s.user(
        "Add rate limiting to the API gateway: 100 requests per minute and client, with a Retry-After header."
    )
    s.say("I'll look at how the gateway is built.")
    s.read("tidepool/gateway.py")
    s.read("tests/test_gateway.py")
    missing = "Exit code 127\n/bin/bash: line 1: python: command not found"
    s.bash("python -m pytest tests/test_gateway.py", missing, error=True)
    s.bash("uv run pytest tests/test_gateway.py", "============ 9 passed in 1.02s ============")
    s.todos(
        ("Token bucket per client", "in_progress"), ("Retry-After header", "pending"), ("Tests", "pending")
    )
    s.edit("tidepool/limits.py", "", "class TokenBucket: ...")
    s.edit("tidepool/gateway.py", "app.add_route", "app.add_middleware(RateLimit)\napp.add_route")
    s.bash("uv run pytest tests/test_gateway.py", "Exit code 1\nFAILED tests/test_gateway.py::test_retry_after - KeyError\n"
           "==== 1 failed, 11 passed in 1.24s ====", error=True)  # fmt: skip
    s.edit("tidepool/limits.py", "return 429", "return 429, {'Retry-After': wait}")
    s.bash("uv run pytest tests/test_gateway.py", "============ 12 passed in 1.19s ============")
    s.todos(
        ("Token bucket per client", "completed"), ("Retry-After header", "completed"), ("Tests", "completed")
    )
    s.bash('git commit -am "feat(gateway): rate limit per client"', "[main 3f2a91c] feat(gateway): rate limit per client\n"
           " 3 files changed, 74 insertions(+)")  # fmt: skip
    s.say("Done: 100 requests a minute per client, 429 with Retry-After beyond. All 12 gateway tests pass.")
    s.save()


def flaky_refresh() -> None:
    s = Codex("flaky refresh", "2026-11-03T14:02:00", "gpt-5.5", "main")
    s.user("tests/test_tokens.py::test_refresh is flaky in CI, find out why and fix it")
    s.shell("rg -n refresh tidepool tests", 0, "tidepool/tokens.py:41:def refresh(token):")
    s.shell("python -m pytest tests/test_tokens.py", 127, "bash: python: command not found")
    s.shell("uv run pytest tests/test_tokens.py", 0, "7 passed in 0.69s")
    s.shell("for i in $(seq 20); do uv run pytest -q tests/test_tokens.py || break; done", 1,
            "FAILED tests/test_tokens.py::test_refresh - AssertionError: expired\n1 failed, 6 passed in 0.80s")  # fmt: skip
    s.patch("tidepool/tokens.py", "-    now = time.time()\n+    now = clock()")
    s.shell(
        "for i in $(seq 20); do uv run pytest -q tests/test_tokens.py || break; done", 0, "7 passed in 0.71s"
    )
    s.say("The test raced the wall clock. Tokens now take the clock as an argument; 20 runs pass.")
    s.user("great, commit it", 60)
    s.shell("git commit -am 'fix(tokens): take the clock as an argument'", 0,
            "[main 8d01b7e] fix(tokens): take the clock as an argument\n 2 files changed, 9 insertions(+)")  # fmt: skip
    s.say("Committed as 8d01b7e.")
    s.save()


def jwt_middleware() -> None:
    s = Claude("jwt middleware", "2026-11-05T10:30:00", "claude-opus-4-7", "feat/jwt")
    s.user("Refactor the authentication middleware to use JWT instead of server-side sessions.")
    s.read("tidepool/auth.py")
    s.todos(
        ("Issue and verify JWTs", "in_progress"),
        ("Replace session lookups", "pending"),
        ("Migrate the tests", "pending"),
    )
    s.edit("tidepool/auth.py", "session = store.get(cookie)", "claims = jwt.decode(token, key)")
    s.bash("uv add pyjwt", "Resolved 41 packages in 212ms\n + pyjwt==2.10.1")
    s.todos(
        ("Issue and verify JWTs", "completed"),
        ("Replace session lookups", "in_progress"),
        ("Migrate the tests", "pending"),
    )
    s.edit("tidepool/views.py", "request.session.user", "request.claims['sub']")
    s.bash("uv run pytest", "Exit code 1\nFAILED tests/test_auth.py::test_logout - AttributeError: session\n"
           "FAILED tests/test_auth.py::test_idle - AttributeError: session\n==== 2 failed, 61 passed in 6.02s ====",
           error=True, seconds=400)  # fmt: skip
    s.say(
        "Two tests still expect server-side sessions. Logout needs a decision: short-lived tokens, or a deny list?"
    )
    s.save()


def slow_query() -> None:
    s = Codex("slow query", "2026-11-06T08:15:00", "gpt-5.5", "main")
    s.user("why is GET /stations slow in production?")
    s.shell("rg -n 'stations' tidepool/db.py", 0, "88:    rows = db.execute(STATIONS)")
    s.shell(
        "sed -n 60,120p tidepool/db.py",
        0,
        "STATIONS = 'SELECT * FROM stations JOIN readings USING (station)'",
    )
    s.say("It reads every reading of every station: the join has no limit and readings.station has no index.")
    s.save()


def tide_retries() -> None:
    s = Claude("tide retries", "2026-11-04T09:40:00", "claude-opus-4-7", "main")
    s.user(
        "The tide service answers 503 in the evening and the importer dies. Make the tide client retry failed requests."
    )
    s.read("tidepool/client.py")
    s.bash("ruff check tidepool", "Exit code 127\n/bin/bash: line 1: ruff: command not found", error=True)
    s.bash("uv run ruff check tidepool", "All checks passed!")
    s.say(
        "The tide client gives up at the first error. How often should it retry? It could retry without end until the "
        "service answers, or at most five times with 2, 4, 8 and 16 s in between. I recommend the second."
    )
    s.user(
        "Let's retry the tide client at most five times with backoff, because the importer must not hang all night. "
        "We will not retry without end.",
        90,
    )
    s.edit("tidepool/client.py", "    return get(url)", CLIENT_RETRIES)
    s.bash("uv run pytest tests/test_client.py", "============ 8 passed in 0.84s ============")
    s.bash('git commit -am "feat(client): retry five times with backoff"',
           "[main 51c0d3e] feat(client): retry five times with backoff\n 2 files changed, 31 insertions(+)")  # fmt: skip
    s.say(
        "Done: the tide client retries at most five times and waits 2, 4, 8 and 16 s in between. "
        "The 8 client tests pass."
    )
    s.save()


def forecast_cache() -> None:
    s = Claude("forecast cache", "2026-11-04T14:10:00", "claude-opus-4-7", "main")
    s.user("Where should the gateway cache the tide forecasts? Plan only, change nothing.")
    s.say("I can cache the tide forecasts in Redis, or keep them in memory of each worker.")
    s.user(
        "Let's cache the tide forecasts in SQLite with one hour to live, because every worker can read that file. "
        "No Redis, we don't want to run another server.",
        80,
    )
    s.say("Noted: the tide forecasts are cached in SQLite with one hour to live. Nothing is changed yet.")
    s.save()


def retry_limit() -> None:
    s = Codex("retry limit", "2026-11-07T10:05:00", "gpt-5.5", "main")
    s.user(
        "Our retries went over the 60 calls a minute of the tide service, and it blocked us. "
        "Change how often the tide client retries."
    )
    s.shell("sed -n 1,60p tidepool/client.py", 0, "ATTEMPTS = 5\n\ndef fetch(get, url): ...")
    s.say(
        "The tide client retries at most five times with backoff, so that the importer does not hang all night. "
        "It ignores Retry-After."
    )
    s.user(
        "Let's retry the tide client at most three times with backoff, because the service blocks clients above "
        "60 calls a minute. And obey Retry-After.",
        75,
    )
    s.patch("tidepool/client.py", "-ATTEMPTS = 5\n+ATTEMPTS = 3")
    s.shell("ruff check tidepool", 127, "bash: ruff: command not found")
    s.shell("uv run ruff check tidepool", 0, "All checks passed!")
    s.shell("uv run pytest tests/test_client.py", 0, "9 passed in 0.88s")
    s.shell("git commit -am 'fix(client): retry three times, and obey Retry-After'", 0,
            "[main 77ae2d4] fix(client): retry three times, and obey Retry-After\n 2 files changed, 12 insertions(+)")  # fmt: skip
    s.say("Done: the tide client retries at most three times and obeys Retry-After. The 9 client tests pass.")
    s.save()


def station_index() -> None:
    s = Claude("station index", "2026-11-08T11:20:00", "claude-opus-4-7", "main")
    s.user("Fix the slow GET /stations: add the index on readings.station and limit the join.")
    s.read("tidepool/db.py")
    s.bash("uv run python bench/stations.py", "GET /stations: 2140 ms (median of 20)")
    s.say(
        "Without the index GET /stations takes 2140 ms. Should the index come with a migration, or be created at start-up?"
    )
    s.user(
        "Use a migration for the index. Creating it at start-up is out: it would lock the table at every deploy.",
        60,
    )
    s.edit("migrations/0007_readings_station.sql", "", STATION_INDEX)
    s.edit("tidepool/db.py", "SELECT * FROM stations JOIN readings USING (station)", STATIONS)
    s.bash("uv run pytest tests/test_db.py", "Exit code 1\nFAILED tests/test_db.py::test_stations - AssertionError: 3 != 2\n"
           "==== 1 failed, 14 passed in 2.31s ====", error=True)  # fmt: skip
    s.edit("tidepool/db.py", "LIMIT 1", "ORDER BY at DESC LIMIT 1")
    s.bash("uv run pytest tests/test_db.py", "============ 15 passed in 2.27s ============")
    s.bash("uv run python bench/stations.py", "GET /stations: 88 ms (median of 20)")
    s.bash('git commit -am "perf(db): index readings by station"',
           "[main c4f19b0] perf(db): index readings by station\n 3 files changed, 22 insertions(+)")  # fmt: skip
    s.say(
        "Done: GET /stations took 2140 ms and takes 88 ms with the index. The cause was a join that read every reading of "
        "every station. All 15 database tests pass."
    )
    s.save()


def forecast_store() -> None:
    s = Claude("forecast store", "2026-11-09T09:15:00", "claude-opus-4-7", "main")
    s.user("Cache the tide forecasts in the gateway.")
    s.say("SQLite with one hour to live, as decided (D-65hrx2). I'll put it beside the views.")
    s.read("tidepool/gateway.py")
    s.tool(
        "Write",
        {"file_path": f"{CWD}/tidepool/forecasts.py", "content": FORECASTS},
        f"File created successfully at: {CWD}/tidepool/forecasts.py",
        seconds=1,
    )
    s.edit(
        "tidepool/gateway.py",
        'app.add_route("/forecast", views.forecast)',
        'app.add_route("/forecast", cached(views.forecast))',
    )
    s.bash("uv run pytest tests/test_gateway.py", "============ 14 passed in 1.31s ============")
    s.bash("uv run ruff check tidepool", "All checks passed!")
    s.bash('git commit -am "feat(gateway): cache forecasts in SQLite"',
           "[main 9be07d1] feat(gateway): cache forecasts in SQLite\n 2 files changed, 27 insertions(+)")  # fmt: skip
    s.say("Done: forecasts are cached in SQLite for one hour. All 14 gateway tests pass.")
    s.save()


def readme() -> None:
    s = Claude("readme", "2026-11-09T16:45:00", "claude-haiku-4-5-20251001", "main")
    s.user("Update the README: installation with uv, and the rate limits.")
    s.read("README.md")
    s.edit("README.md", "pip install -r requirements.txt", "uv sync")
    s.say("README now installs with uv and lists the limits.")
    s.user("thanks!", 90)
    s.say("You're welcome.")
    s.save()


if __name__ == "__main__":
    for story in (
        rate_limiting,
        flaky_refresh,
        tide_retries,
        forecast_cache,
        jwt_middleware,
        slow_query,
        retry_limit,
        station_index,
        forecast_store,
        readme,
    ):
        story()
