"""What a person waits for our prompt hook inside a live Claude Code session, over a hook that does nothing.

From the prompt to the model's request, in sessions that take turns, so that all have the same neighbours.
Nobody can promise it: the client's own share is most of it. It is reported, without a bound.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from bench.hooks import with_sessions
from bench.measuring import report
from holdfast.hot import hook_entry

PROMPTS = 25
WARM_UP = 3
ROOT = Path(__file__).parent.parent


def bench_claude_overhead(folder: Path) -> bool:
    """With the words of 1,000 sessions and 100 lessons to look through."""
    program = _client()
    if not program:
        print("claude_overhead: left out, npm cannot install Claude Code here", file=sys.stderr)
        return True
    repo, env, project, prompt, _ = with_sessions(folder)
    bare = f"{sys.executable} -I -S -c 'import json, sqlite3'"
    ours = f"{sys.executable} -I -S {hook_entry.__file__} claude-code UserPromptSubmit"
    hooks = {"none": "", "true": "true", "yardstick": bare, "ours": ours}
    took: dict[str, list[float]] = {name: [] for name in hooks}
    with ExitStack() as stack:
        sessions = {
            name: stack.enter_context(_Session(program, repo, env, hook)) for name, hook in hooks.items()
        }
        for number in range(PROMPTS):
            (project.memory / "why.jsonl").unlink(missing_ok=True)  # or the session has soon heard enough
            for name, session in sessions.items():
                seconds = session.ask(prompt)
                if number >= WARM_UP:
                    took[name].append(1000 * seconds)
        assert "[holdfast " in sessions["ours"].heard(), "or nothing was measured"
    ms = {name: statistics.median(found) for name, found in took.items()}
    more = {f"{name}_ms": round(value, 1) for name, value in ms.items()}
    return report("claude_prompt_delay", ms["ours"] - ms["true"], "ms over a hook of `true`", None, **more)


def _client() -> str:
    if shutil.which("npm") is None:
        return ""
    script = ROOT / "scripts" / "install_clients.sh"
    done = subprocess.run(["bash", str(script), "claude-code"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


class _Session:
    """One Claude Code that is asked prompt after prompt, against a model of its own."""

    def __init__(self, program: str, repo: Path, env: dict[str, str], hook: str) -> None:
        from tests.e2e.clients.claude_code import MODEL, ClaudeCode
        from tests.e2e.model_server import serving

        home = repo.parent / f"home-{len(list(repo.parent.glob('home-*')))}"
        home.mkdir()
        settings = home / "hooks.json"
        entry = {"hooks": [{"type": "command", "command": hook, "timeout": 10}]}
        settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [entry]} if hook else {}}), "utf-8")
        self._serving = serving(["ok"])
        self._server = self._serving.__enter__()
        words = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        client = ClaudeCode(program, home, repo)
        self._process = subprocess.Popen(
            [program, *words, "--model", MODEL, "--settings", str(settings)],
            cwd=repo,
            env={**client.env(self._server), "HOLDFAST_HOME": env["HOLDFAST_HOME"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def ask(self, prompt: str) -> float:
        """Seconds until the model was asked."""
        written, printed = _pipes(self._process)
        before = len(self._server.turns())
        start = time.monotonic()
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        written.write(json.dumps(message) + "\n")
        written.flush()
        for line in printed:
            if json.loads(line).get("type") == "result":
                break
        return float(self._server.turns()[before].at - start)

    def heard(self) -> str:
        return str(self._server.turns()[-1].text)

    def __enter__(self) -> _Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._serving.__exit__(kind, error, trace)


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[Any]]:
    assert process.stdin is not None and process.stdout is not None
    return process.stdin, process.stdout
