"""What a program costs: CPU, time, memory and disk of a process, and of a server that answers several questions."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

LONGEST_S = 900


class Cost(Struct, frozen=True):
    """CPU is user and system time of the process and of what it waited for."""

    cpu: float
    wall: float
    peak_mb: float
    printed: str = ""


class Failed(Exception):
    """A program that ended with an error."""


def run(command: Sequence[str | Path], env: Mapping[str, str], cwd: Path) -> Cost:
    begun = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*map(str, command)], env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=errors
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = out.read().decode("utf-8", "replace")
        if process.returncode:
            errors.seek(0)
            words = errors.read().decode("utf-8", "replace").split("\n")
            raise Failed(
                f"exit code {process.returncode}: {next((w for w in reversed(words) if w), '')[:160]}"
            )
    return Cost(used.ru_utime + used.ru_stime, time.monotonic() - begun, used.ru_maxrss / 1024, printed)


def scratch_env(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the real home: neither its settings nor its transcripts."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "TZ": "UTC", **more}


def disk_mb(folder: Path, without: Path | None = None) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if without is None or without not in path.parents) / 1e6


def cpu_of(pid: int) -> float:
    """CPU seconds of a running process, as Linux counts them."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server:
    """An MCP server over its standard input and output."""

    def __init__(self, command: Sequence[str | Path], env: Mapping[str, str], cwd: Path) -> None:
        self._process = subprocess.Popen(
            [*map(str, command)],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        about = {"protocolVersion": "2025-03-26", "capabilities": {}}
        self.ask("initialize", {**about, "clientInfo": {"name": "bench", "version": "1"}})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def cpu(self) -> float:
        return cpu_of(self._process.pid)

    def call(self, tool: str, **arguments: Any) -> str:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return "\n".join(part.get("text", "") for part in answer.get("content", ()))

    def ask(self, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": given})
        while line := _pipe(self._process.stdout).readline():
            message = json.loads(line)
            if message.get("id") == self._number:
                if "error" in message:
                    raise Failed(str(message["error"])[:200])
                result: dict[str, Any] = message["result"]
                return result
        raise Failed("the server ended")

    def _send(self, message: Mapping[str, Any]) -> None:
        pipe = _pipe(self._process.stdin)
        pipe.write(json.dumps(message).encode() + b"\n")
        pipe.flush()

    def close(self) -> None:
        _pipe(self._process.stdin).close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
