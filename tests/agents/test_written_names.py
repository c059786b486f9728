"""What an edit wrote, from the arguments of its call: one text a file, its beginning, whole lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.builders import CWD, ClaudeFile, CodexFile, digest_of, read_claude, read_codex

from holdfast.agent_kit.loose import LONGEST_WRITTEN, patched_paths, written_by, written_in_patch
from holdfast.model.events import ToolCall


@pytest.mark.parametrize(
    "arguments",
    [
        {"old_string": "sumOf(cart)", "new_string": "grandTotal(cart)"},
        {"oldString": "sumOf(cart)", "newString": "grandTotal(cart)"},
        {"edits": [{"old_string": "sumOf(cart)"}, {"new_string": "grandTotal(cart)"}, "torn", None]},
        {"command": "str_replace", "old_str": "sumOf(cart)", "new_str": "grandTotal(cart)"},
        {"content": "sumOf(cart)\ngrandTotal(cart)"},
        {"file_text": "sumOf(cart)\ngrandTotal(cart)"},
    ],
)
def test_what_goes_and_what_comes_is_read_whatever_the_agent_calls_it(arguments: dict[str, Any]) -> None:
    assert written_by("edit", arguments, ("cart.ts",)) == ("sumOf(cart)\ngrandTotal(cart)",)


def test_only_an_edit_of_one_file_says_what_was_written_where() -> None:
    assert written_by("read", {"content": "x"}, ("a.py",)) == ()
    assert written_by("edit", {"content": "x"}, ()) == ()
    assert written_by("edit", {"content": "x"}, ("a.py", "b.py")) == ()


def test_a_long_text_is_cut_at_a_line() -> None:
    text = "".join(f"line_number_{number} = {number}\n" for number in range(500))
    (kept,) = written_by("edit", {"content": text}, ("a.py",))
    assert len(kept) <= LONGEST_WRITTEN
    assert text.startswith(kept + "\n")
    assert written_by("edit", {"content": "x" * 5000}, ("a.py",)) == ("",), "one line of what may be anything"


def test_each_file_of_a_patch_has_its_own_text() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-old_total\n+new_total\n*** Add File: b.py\n+class PaidCart\n"
        "*** Update File: c.py\n*** Move to: d.py\n+moved_here\n*** End Patch"
    )
    a, b, c, d = written_in_patch(patch, ("a.py", "b.py", "c.py", "d.py"))
    assert "old_total" in a and "new_total" in a and "PaidCart" not in a
    assert "PaidCart" in b
    assert c.strip() == "" and "moved_here" in d


@given(st.text(), st.lists(st.sampled_from(["a.py", "b/c.go", "d e.md"])))
def test_any_patch_gives_one_text_for_each_of_its_files(noise: str, files: list[str]) -> None:
    patch = noise + "".join(f"\n*** Update File: {file}\n+{noise}\n" for file in files)
    paths = patched_paths(patch)
    found = written_in_patch(patch, paths)
    assert len(found) == len(paths)
    assert all(len(text) <= LONGEST_WRITTEN for text in found)


def test_an_edit_of_claude_code_names_what_it_wrote(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user(1, "Take the voucher off the total")
    text = "def total_of(cart):\n    return apply_voucher(cart)"
    file.call(2, "Edit", {"file_path": f"{CWD}/cart.py", "old_string": "pass", "new_string": text})
    reading = read_claude(file.save(tmp_path / "s.jsonl"))
    assert [call.written for call in reading.of(ToolCall)] == [("pass\n" + text,)]
    assert digest_of(reading.events).names == {"cart.py": ["total_of", "apply_voucher"]}


def test_a_patch_of_codex_names_what_it_wrote(tmp_path: Path) -> None:
    file = CodexFile()
    patch = (
        "*** Begin Patch\n*** Update File: cart.ts\n@@\n+const grandTotal = sumOfLines(cart)\n*** End Patch"
    )
    file.custom(1, "apply_patch", patch)
    file.call(2, "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{patch}\nEOF"]})
    reading = read_codex(file.save(tmp_path / "s.jsonl"))
    assert all("grandTotal" in call.written[0] for call in reading.of(ToolCall))
    assert digest_of(reading.events).names == {"cart.ts": ["grandTotal", "sumOfLines"]}
