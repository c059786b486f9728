"""An agent is no person: its tools work only where somebody enabled them, and not where they are switched off."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.mcp.client import Said, Talk, talk

CALLS = (
    ("recall", {"task": "run the tests"}),
    ("search", {"query": "tests"}),
    ("open", {"place": "current.md"}),
    ("question", {"question": "Which region?"}),
    ("recommend", {"goal": "add a discount"}),
    ("remember", {"kind": "decision", "text": "Use pnpm"}),
    ("question", {"question": "Which region?", "answer": "eu"}),
    ("handoff", {"text": "go on"}),
    ("correct", {"id": "F-abcdef", "action": "reject"}),
)
READING = 5


def all_of(directory: Path, env: dict[str, str] | None = None) -> list[Said]:
    async def scene(said: Talk) -> list[Said]:
        answers = [await said(tool, **arguments) for tool, arguments in CALLS]
        listed = (await said.session.list_resources()).resources
        assert listed == [] or not answers[0].failed
        return answers

    answers: list[Said] = talk(directory, scene, env)
    return answers


def everything(*folders: Path) -> dict[str, bytes]:
    """Every file with its content."""
    return {
        str(path): path.read_bytes()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refused(answers: list[Said], because: str) -> None:
    for answer in answers:
        assert answer.failed, answer
        assert because in answer
        assert "\n" not in answer


@pytest.mark.promise("G9")
def test_where_nobody_enabled_memory_every_tool_says_so_and_nothing_is_written(
    repo: Path, home: Path, holdfast: Holdfast
) -> None:
    before = everything(repo, home)
    refused(all_of(repo), "not enabled")
    assert everything(repo, home) == before
    holdfast("decide", "Use pnpm", check=0)  # by hand, which works anywhere and enables nothing
    before = everything(repo, home)
    refused(all_of(repo), "not enabled")
    assert everything(repo, home) == before


@pytest.mark.promise("G9")
def test_a_memory_that_came_with_a_download_enables_nothing(
    shop: Path, home: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    (memory,) = (home / ".holdfast" / "projects").iterdir()
    download = tmp_path / "download"
    (download / ".holdfast").mkdir(parents=True)
    (download / ".holdfast" / "id").write_text(memory.name + "\n", encoding="utf-8")
    before = everything(download, memory)
    refused(all_of(download), "not enabled")
    assert everything(download, memory) == before


@pytest.mark.promise("G9")
def test_a_session_with_holdfast_off_reads_and_writes_nothing(shop: Path, home: Path) -> None:
    before = everything(shop, home)
    refused(all_of(shop, {"HOLDFAST": "off"}), "switched off")
    refused(all_of(shop, {"CI": "true"}), "switched off")
    assert everything(shop, home) == before


def test_an_excluded_directory_is_neither_read_nor_written(shop: Path, home: Path) -> None:
    (home / ".holdfast" / "config.toml").write_text(f'exclude = ["{shop}/**"]\n', encoding="utf-8")
    before = everything(shop, home)
    refused(all_of(shop), "excluded")
    assert everything(shop, home) == before


def test_without_injection_nothing_is_told_and_without_capture_nothing_is_kept(
    shop: Path, home: Path, holdfast: Holdfast
) -> None:
    holdfast("decide", "Deploy to the region eu-west-1", check=0)
    holdfast("off", "--inject", check=0)
    answers = all_of(shop)
    refused(answers[:READING], "switched off here")
    assert [answer.failed for answer in answers[READING:-1]] == [False, False, False]
    holdfast("on", check=0)
    holdfast("off", "--capture", check=0)
    before = {path: data for path, data in everything(shop, home).items() if path.endswith(".md")}
    answers = all_of(shop)
    refused(answers[READING:], "switched off here")
    assert [answer.failed for answer in answers[:READING]] == [False] * READING
    after = {path: data for path, data in everything(shop, home).items() if path.endswith(".md")}
    assert after == before, "a question that is asked is looked up, and not kept"


@pytest.mark.promise("G9", "H4")
def test_where_memory_is_not_enabled_the_server_takes_none_of_a_models_context(
    repo: Path, home: Path, holdfast: Holdfast
) -> None:
    async def count(said: Talk) -> tuple[int, bool]:
        tools = (await said.session.list_tools()).tools
        return len(tools), bool(said.session.instructions)

    def offered(**env: str) -> tuple[int, bool]:
        found: tuple[int, bool] = talk(repo, count, env)
        return found

    assert offered() == (0, False)
    holdfast("install", "claude-code", "--yes", check=0)
    assert offered() == (8, True)
    assert offered(HOLDFAST="off") == (0, False)
    assert offered(CI="true") == (0, False)
