"""Sessions whose id another tool has blanked: each file is a session of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile
from tests.conftest import Holdfast

from holdfast.flows.distill import is_redacted


@pytest.mark.promise("V2")
def test_sessions_with_a_blanked_id_are_told_apart_by_their_files(
    repo: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    for number in range(2):
        file = ClaudeFile(session="REDACTED", cwd=str(repo), prefix=f"n{number}")
        file.user(number * 10_000, f"add basket {number}")
        file.save(tmp_path / "sent" / f"{number}.jsonl")
    holdfast("import", str(tmp_path / "sent"), check=0)
    assert len(holdfast("ledger", "list", "--json", check=0).json()) == 2


@pytest.mark.parametrize(
    "name", ["REDACTED", "[REDACTED]", "***", "[id]", "<redacted>", "SESSION_REDACTED", "xxxxxxxx"]
)
def test_a_blanked_id_is_none(name: str) -> None:
    assert is_redacted(name)


@pytest.mark.parametrize(
    "name", ["", "0f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a11", "ses_20c0dd689ffe", "aider-1a2b3c4d", "fix-id-7"]
)
def test_an_id_is_not_taken_for_a_blank(name: str) -> None:
    assert not is_redacted(name)
