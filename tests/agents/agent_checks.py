"""Checks that several agents' tests share: the short session that every sample holds, growing files, real files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.builders import CWD, Read, digest_of, grown, plain, read
from tests.agents.samples_files import ANSWER, COMMAND, EDITED, PROMPT

from holdfast.agent_kit.contract import Importer
from holdfast.model.events import AgentTurn, Began, ToolCall, ToolResult, UserTurn


def assert_the_short_session(done: Read, *, results: bool = True) -> None:
    """What the sample tells, told back."""
    assert done.warnings == []
    began = done.of(Began)[0]
    assert began.session
    assert began.cwd == CWD
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    calls = [(call.action, call.target) for call in done.of(ToolCall)]
    assert calls == [("shell", COMMAND), ("edit", EDITED), ("shell", COMMAND)]
    assert done.of(AgentTurn)[-1].text == ANSWER
    if results:
        first = done.of(ToolResult)[0]
        assert (first.ok, first.exit_code) == (False, 1)
        digest = digest_of(done.events)
        assert (digest.tool_calls, digest.failed_calls) == (3, 1)
        assert digest.files == {"src/cart.py": (0, 1)}


def assert_growing_is_the_same_as_at_once(importer: Importer, sample: Callable[[Path], Path]) -> None:
    """Cut anywhere, read after every cut: the digest is that of one pass over the whole file."""
    with TemporaryDirectory() as folder:
        path = sample(Path(folder))
        data = path.read_bytes()
        whole = plain(digest_of(read(importer, path).events, importer.agent))

        @settings(max_examples=60, deadline=None)
        @given(st.lists(st.integers(0, len(data)), max_size=5))
        def check(cuts: list[int]) -> None:
            digest, warnings, position = grown(importer, path, data, cuts)
            assert warnings == []
            assert position == len(data)
            assert plain(digest) == whole

        check()


def read_all(importer: Importer, files: Sequence[Path]) -> list[Read]:
    """Real files: each is recognised and read without a warning."""
    reads = []
    for file in files:
        head = file.read_bytes()[: 64 * 1024]
        assert importer.recognise(file, head), file
        assert list(importer.sessions(file, head))
        done = read(importer, file)
        assert done.warnings == []
        assert done.position == file.stat().st_size
        reads.append(done)
    assert reads
    return reads
