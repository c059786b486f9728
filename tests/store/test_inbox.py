"""What hooks leave is read; what others put beside it is not waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.store.inbox import envelopes


@pytest.mark.promise("F5")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_a_pipe_or_a_link_in_the_inbox_is_no_envelope(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "session.1-1.json")
    (tmp_path / "session.2-1.json").symlink_to("/dev/zero")
    (tmp_path / "session.3-1.json").write_text('{"host": "codex", "event": "Stop", "session": "s"}')
    read, broken = envelopes(tmp_path)
    assert [envelope.host for envelope in read] == ["codex"]
    assert sorted(path.name for path in broken) == ["session.1-1.json", "session.2-1.json"]
