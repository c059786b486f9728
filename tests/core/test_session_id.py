"""Short ids of sessions: people and agents type them into commands."""

from __future__ import annotations

import pytest

from holdfast.core.session_id import short_session


@pytest.mark.parametrize(
    ("session", "short"),
    [
        ("0bb9a2d9-a51e-4d5a-8275-566c766a0ff2", "0bb9a2d9"),
        ("ses_033e82ec1ffe3bR7eZq0pmPZkJ", "ses_033e82ec1"),
        ("aider-a88227f61bc817bb", "aider-a88227f61"),
        ("1752345678901", "1752345678901"),
        ("20260302_3", "20260302_3"),
        ("2026-03-06_16-11-26Z-consider-this-review", "2026-03-06_16-11-2"),
        ("", ""),
    ],
)
def test_it_is_a_beginning_that_tells_sessions_apart(session: str, short: str) -> None:
    assert short_session(session) == short and session.startswith(short)
