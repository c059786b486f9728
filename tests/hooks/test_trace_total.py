"""What a session was told in all is known however long its trace is."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.hooks import trace
from holdfast.hooks.prompt import heard_by


def tell(memory: Path, session: str, tokens: int, text: str = "x", **more: object) -> None:
    lines = [{"text": text, "reason": "r"}] if tokens else []
    entry = {
        "session": session,
        "event": "UserPromptSubmit",
        "source": None,
        "tokens": tokens,
        "lines": lines,
    }
    trace.explain(str(memory), {**entry, **more})


@pytest.mark.promise("H7")
def test_the_total_counts_what_is_no_longer_in_the_trace(tmp_path: Path) -> None:
    for number in range(8):
        tell(tmp_path, "long", 100, f"line {number}")
    for number in range(3 * trace.MOST_WHY // 1000):  # others fill the trace three times over
        tell(tmp_path, "other", 10, "y" * 800)
        if not number % 100:
            tell(tmp_path, "long", 0)
    tell(tmp_path, "long", 50)
    assert (tmp_path / "why.jsonl").stat().st_size < trace.MOST_WHY
    assert trace.spent(str(tmp_path), "long") == 850
    assert heard_by(str(tmp_path), "long").tokens == 850


@pytest.mark.promise("H7")
def test_hooks_that_ran_at_once_are_all_counted(tmp_path: Path) -> None:
    """Each wrote the total that it knew: what the lines add up to is more."""
    path = tmp_path / "why.jsonl"
    tell(tmp_path, "s", 100)
    first = path.read_bytes()
    tell(tmp_path, "s", 30)
    one = path.read_bytes()[len(first) :]
    path.write_bytes(first)
    tell(tmp_path, "s", 20)
    path.write_bytes(path.read_bytes() + one)
    assert trace.spent(str(tmp_path), "s") == 150


@pytest.mark.promise("H7")
def test_a_line_is_heard_however_much_others_were_told_since(tmp_path: Path) -> None:
    tell(tmp_path, "s", 10, "run make check")
    for _ in range(200):
        tell(tmp_path, "other", 10, "y" * 800)
    assert (tmp_path / "why.jsonl").stat().st_size > 64 * 1024
    assert "run make check" in trace.heard(str(tmp_path), "s")
    assert "run make check" in heard_by(str(tmp_path), "s").lines
    tell(tmp_path, "s", 5, "next", source="compact")
    assert "run make check" not in trace.heard(str(tmp_path), "s")


def test_a_trace_with_nonsense_is_read_all_the_same(tmp_path: Path) -> None:
    tell(tmp_path, "s", 10)
    with open(tmp_path / "why.jsonl", "ab") as file:
        file.write(b'{"session": "s", "total": "many"}\n{"session": "s", torn\n\xff\xfe "s"\n')
    assert trace.spent(str(tmp_path), "s") == 10


def test_what_another_hook_wrote_since_the_trace_was_read_counts(tmp_path: Path) -> None:
    tell(tmp_path, "s", 100)
    assert trace.spent(str(tmp_path), "s") == 100
    line = (tmp_path / "why.jsonl").read_text(encoding="utf-8").replace('"tokens": 100', '"tokens": 30')
    with (tmp_path / "why.jsonl").open("a", encoding="utf-8") as file:
        file.write(line)
    assert trace.spent(str(tmp_path), "s") == 130
    (tmp_path / "why.jsonl").rename(tmp_path / "why.jsonl.1")
    assert trace.spent(str(tmp_path), "s") == 130
    (tmp_path / "why.jsonl.1").unlink()
    assert trace.spent(str(tmp_path), "s") == 0
