"""What `import holdfast` offers is what docs/api.md says, and it is what the surfaces use."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast import api
from holdfast.demo.run import SESSIONS

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.fixture
def memory(repo: Path) -> holdfast.Memory:
    opened = holdfast.open(repo)
    opened.import_transcripts([SESSIONS])
    return opened


@pytest.mark.promise("U15")
def test_the_example_of_the_documentation_runs(
    memory: holdfast.Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(memory.root)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "docs/api.md", "exec"), {})
    assert "sessions added" in capsys.readouterr().out


@pytest.mark.promise("U15")
def test_every_public_name_is_documented_and_every_documented_name_is_there() -> None:
    assert set(holdfast.__all__) == {*api.__all__, "__version__"}
    methods = {name for name in vars(holdfast.Memory) if not name.startswith("_")}
    assert methods == set(re.findall(r"`Memory\.(\w+)", PAGE))
    assert all(f"`{name}" in PAGE or f"holdfast.{name}" in PAGE for name in holdfast.__all__)
    assert all(getattr(holdfast, name) is not None for name in holdfast.__all__)


@pytest.mark.promise("U15")
def test_the_interface_answers_as_the_command_does(memory: holdfast.Memory) -> None:
    def command(*words: str) -> object:
        line = [sys.executable, "-m", "holdfast", *words, "--json"]
        return json.loads(subprocess.run(line, cwd=memory.root, capture_output=True, check=True).stdout)

    query = "which tests failed"
    shown = command("search", query, "-k", "3")
    assert isinstance(shown, list)
    assert [hit["id"] for hit in shown] == [hit.id for hit in memory.search(query, k=3)]
    listed = command("ledger", "list")
    assert isinstance(listed, list)
    assert {row["session"] for row in listed} == {row.session for row in memory.ledger()}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = holdfast.nonsense
