"""Files that agents read through the shell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.search.shell_reads import shell_reads


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat src/a.py", ["src/a.py"]),
        ("sed -n '1,80p' src/a.py", ["src/a.py"]),
        ("head -20 README.md && tail -n 5 'docs/my notes.md'", ["README.md", "docs/my notes.md"]),
        ("cd web && nl -ba ui/button.ts | head", ["web/ui/button.ts"]),
        ("bash -lc 'cat src/a.py; cat src/b.py'", ["src/a.py", "src/b.py"]),
        ("Get-Content src\\\\a.ps1", ["src\\\\a.ps1"]),
        ("sed -i s/a/b/ src/a.py", []),
        ("cat > src/a.py <<EOF", []),
        ("grep -rn total src/", []),
        ("git log | cat", []),
        ("cat src/*.py $FILE", []),
        ("cat 'unclosed", []),
        ("", []),
    ],
)
def test_what_was_read_is_told_from_what_was_not(command: str, expected: list[str]) -> None:
    assert list(shell_reads([command])) == expected


@given(st.text(max_size=200))
def test_no_command_line_is_an_error(command: str) -> None:
    list(shell_reads([command, f"cat {command}"]))
