"""Transcripts for measuring: invented Claude Code sessions with the mix of line kinds and sizes real ones have."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

_TEXT = """
    the session parser reads every line and counts tokens once while tests fail or pass in the gateway module
    because a header is missing from the response so we add it and run the checks again before the commit
"""
WORDS = _TEXT.split()


def prose(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(WORDS, k=max(size // 6, 1)))


def session_lines(rng: random.Random, cwd: str, size: int) -> Iterator[bytes]:
    """Lines of one session until about `size` bytes: prompts, streamed responses, tool calls and their output."""
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    written, clock, parent = 0, 1_780_000_000.0 + rng.random() * 1e7, None

    def line(kind: str, **fields: object) -> bytes:
        nonlocal written, clock, parent
        clock += rng.expovariate(1 / 8)
        identity = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        record = {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": cwd, "sessionId": session,
            "version": "2.1.40", "gitBranch": "main", "type": kind, **fields, "uuid": identity,
            "timestamp": _iso(clock),
        }  # fmt: skip
        parent = identity
        data = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        written += len(data)
        return data

    number = 0
    while written < size:
        number += 1
        yield line("user", message={"role": "user", "content": prose(rng, 300)})
        for _ in range(rng.randint(3, 12)):
            call, message = f"toolu_{rng.getrandbits(64):016x}", f"msg_{rng.getrandbits(64):016x}"
            usage = {
                "input_tokens": 8, "cache_creation_input_tokens": rng.randint(100, 4000),
                "cache_read_input_tokens": rng.randint(10_000, 120_000), "output_tokens": rng.randint(20, 900),
            }  # fmt: skip
            reply = {
                "model": "claude-opus-4-7",
                "id": message,
                "type": "message",
                "role": "assistant",
                "usage": usage,
            }
            thinking = {"type": "thinking", "thinking": prose(rng, 600), "signature": "x" * 600}
            yield line("assistant", message={**reply, "content": [thinking]}, requestId=message)
            if rng.random() < 0.4:
                use = {
                    "type": "tool_use",
                    "id": call,
                    "name": "Bash",
                    "input": {"command": "uv run pytest -q"},
                }
                result = f"{prose(rng, 2000)}\n{rng.randint(1, 90)} passed in 1.2s"
            elif rng.random() < 0.5:
                path = f"{cwd}/src/module_{rng.randint(1, 80)}.py"
                use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": path}}
                result = prose(rng, 9000)
            else:
                path = f"{cwd}/src/module_{rng.randint(1, 80)}.py"
                edit = {"file_path": path, "old_string": prose(rng, 400), "new_string": prose(rng, 500)}
                use = {"type": "tool_use", "id": call, "name": "Edit", "input": edit}
                result = "The file has been updated."
            yield line("assistant", message={**reply, "content": [use]}, requestId=message)
            for _ in range(rng.randint(0, 2)):
                yield line(
                    "progress", data={"type": "bash_progress", "output": prose(rng, 300)}, toolUseID=call
                )
            block = {"tool_use_id": call, "type": "tool_result", "content": result, "is_error": False}
            extra = {"stdout": result, "stderr": "", "interrupted": False}
            yield line("user", message={"role": "user", "content": [block]}, toolUseResult=extra)
        text = {"type": "text", "text": prose(rng, 500)}
        yield line(
            "assistant",
            message={**reply, "id": f"msg_{number}{message}", "content": [text]},
            requestId=f"r{message}",
        )


def write_corpus(folder: Path, files: int, size: int, cwd: str = "/home/dev/bench") -> list[Path]:
    rng = random.Random(7)
    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        path = folder / f"{uuid.UUID(int=rng.getrandbits(128), version=4)}.jsonl"
        with open(path, "wb") as file:
            file.writelines(session_lines(random.Random(number), cwd, size))
        paths.append(path)
    return paths


def write_giant(path: Path, size: int) -> None:
    """One transcript of `size` bytes, with some lines of tens of megabytes."""
    rng = random.Random(11)
    block = list(session_lines(rng, "/home/dev/bench", 8_000_000))
    written = number = 0
    with open(path, "wb") as file:
        while written < size:
            number += 1
            salt = f"{number:06x}".encode()
            for data in block:
                # New identities each time, or all but the first block would be copies that are skipped.
                fresh = data.replace(b'"uuid":"', b'"uuid":"' + salt).replace(
                    b'"id":"msg_', b'"id":"msg_' + salt
                )
                file.write(fresh)
                written += len(fresh)
            if number % 40 == 0:
                file.write(b'{"type":"progress","data":"' + b"y" * 40_000_000 + b'"}\n')
                written += 40_000_000


def _iso(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
