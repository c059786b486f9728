"""How the log names sessions."""

from __future__ import annotations

import pytest

from holdfast.memory.log import heading_name


@pytest.mark.parametrize(
    ("session", "shown"),
    [
        ("847ff7d2-4a55-44d7-a3f5-a3afd89f1ee1", "847ff7d2"),
        ("ses_033e82ec1ffe3sFKSsyEVsK7Up", "ses_033e82ec"),
        ("aider-b7d47090f6314c7f", "aider-b7d47090"),
    ],
)
def test_sessions_of_one_agent_can_be_told_apart_by_their_headings(session: str, shown: str) -> None:
    assert heading_name(session) == shown
