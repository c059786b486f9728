"""A bad line in a process of its own: the rig forks, and a process with threads must not.

    python -m tests.sync.rig.line PORT

prints its own port, then obeys one line of JSON at a time: how the next connections fare. It answers each with a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.sync.bad_line import BadLine

_ROOT = Path(__file__).parents[3]


class RemoteLine:
    """The handle of a line that is in another process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.port = int(self._read())

    def set(
        self, *, cut_after: int | None = None, repeat_at: int | None = None, delay_s: float = 0.0
    ) -> None:
        assert self._process.stdin is not None
        said = {"cut_after": cut_after, "repeat_at": repeat_at, "delay_s": delay_s}
        self._process.stdin.write(f"{json.dumps(said)}\n")
        self._process.stdin.flush()
        self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def remote_line(port: int) -> Iterator[RemoteLine]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.sync.rig.line", str(port)],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield RemoteLine(process)
    finally:
        process.kill()
        process.wait()


def main() -> None:
    line = BadLine(int(sys.argv[1]))
    print(line.port, flush=True)
    for said in sys.stdin:
        for name, value in json.loads(said).items():
            setattr(line, name, value)
        print("done", flush=True)


if __name__ == "__main__":
    main()
