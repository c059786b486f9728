"""Makes an input that breaks a promise as small as it can be while it breaks the same one."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.oracles import Target, examine

MOST_RUNS = 3_000


def minimised(target: Target, data: bytes, kind: str, most_runs: int = MOST_RUNS) -> bytes:
    left = most_runs

    def breaks(smaller: bytes) -> bool:
        nonlocal left
        left -= 1
        finding = examine(target, smaller)
        return finding is not None and finding.kind == kind

    for separator in (b"\n", b",", b" ", b""):
        data = _fewer(data, separator, breaks, lambda: left > 0)
    return data


def _fewer(
    data: bytes, separator: bytes, breaks: Callable[[bytes], bool], may_go_on: Callable[[], bool]
) -> bytes:
    """Leaves out ever smaller runs of the pieces between separators."""
    pieces = data.split(separator) if separator else [data[n : n + 1] for n in range(len(data))]
    size = max(1, len(pieces) // 2)
    while may_go_on():
        at, shrunk = 0, False
        while at < len(pieces) and may_go_on():
            fewer = pieces[:at] + pieces[at + size :]
            if fewer and breaks(separator.join(fewer)):
                pieces, shrunk = fewer, True
            else:
                at += size
        if size == 1 and not shrunk:
            break
        size = max(1, size // 2)
    return separator.join(pieces)
