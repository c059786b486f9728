"""`holdfast know` as people and programs run it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.command import Holdfast


@pytest.fixture
def shop(repo: Path) -> Path:
    (repo / "tests").mkdir()
    for n in range(5):
        (repo / f"order_file_{n}.py").write_text(
            f"import httpx\n\n\ndef load_it_{n}():\n    return httpx\n", encoding="utf-8"
        )
        (repo / "tests" / f"test_order_{n}.py").write_text(
            "def test_it():\n    assert True\n", encoding="utf-8"
        )
    (repo / "requirements.txt").write_text("httpx\npytest\n", encoding="utf-8")
    for words in (["add", "-A"], ["commit", "--quiet", "-m", "Add orders"]):
        subprocess.run(["git", *words], cwd=repo, check=True)
    return repo


@pytest.mark.promise("K1", "K5")
def test_json_has_the_shape_of_the_contract(shop: Path, holdfast: Holdfast) -> None:
    found = holdfast("know", "--json", check=0).json()
    assert {"conventions", "patterns", "facts", "files"} <= found.keys()
    for one in found["conventions"]:
        assert {"category", "pattern", "example", "confidence", "count", "counter", "evidence"} <= one.keys()
        assert all(evidence.keys() == {"path", "field"} for evidence in one["evidence"])
    assert {"path", "language", "complexity", "is_test", "is_hot"} <= found["files"][0].keys()
    assert any(one["is_test"] for one in found["files"])
    naming = next(one for one in found["conventions"] if one["category"] == "naming")
    assert naming["pattern"] == "snake_case"


@pytest.mark.promise("K8")
def test_scan_keeps_and_a_second_one_finds_nothing_new(shop: Path, holdfast: Holdfast) -> None:
    assert "conventions" in holdfast("know", "scan", check=0).stdout
    assert (shop / ".holdfast" / "local" / "session.json").is_file()
    assert "Nothing has changed" in holdfast("know", "scan", check=0).stdout
    assert holdfast("know", "scan", "--json", check=0).json()["scan"]["files"] == 11


@pytest.mark.promise("K7")
def test_context_is_markdown_within_its_bound(shop: Path, holdfast: Holdfast) -> None:
    text = holdfast("know", "context", "--max", "300", check=0).stdout
    assert text.startswith("## Project Knowledge\n### Conventions\n- ")
    assert len(text) <= 300
    assert "(left out: " in text
    assert len(holdfast("know", "context", check=0).stdout) > 300
    assert holdfast("know", "context", "--max", "300", "--json", check=0).json()["context"] == text


def test_know_writes_nothing_and_shows_tables_in_a_pipe(shop: Path, holdfast: Holdfast) -> None:
    shown = holdfast("know", check=0).stdout
    assert "naming" in shown and "snake_case" in shown and "\x1b" not in shown
    assert not (shop / ".holdfast").exists()


@pytest.mark.parametrize("words", [("--max", "0"), ("--max", "-3"), ("--max", "many")])
def test_a_wrong_bound_is_a_usage_error(shop: Path, holdfast: Holdfast, words: tuple[str, ...]) -> None:
    assert holdfast("know", "context", *words).returncode == 2


def test_an_empty_folder_and_a_bare_repository(tmp_path: Path, holdfast: Holdfast) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert holdfast("know", "--json", cwd=empty, check=0).json()["conventions"] == []
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "bare.git")], check=True)
    done = holdfast("know", cwd=tmp_path / "bare.git")
    assert done.returncode == 2 and "bare repository" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.promise("K4")
def test_forgotten_words_leave_the_knowledge_too(shop: Path, holdfast: Holdfast) -> None:
    holdfast(
        "fact",
        "add",
        "Deploys go to zebrahost",
        "--command",
        "deploy",
        "--evidence",
        "zebrahost ok",
        "--category",
        "environment",
        check=0,
    )
    holdfast("know", "scan", check=0)
    kept = shop / ".holdfast" / "local" / "session.json"
    assert "zebrahost" in kept.read_text(encoding="utf-8")
    holdfast("forget", "--text", "zebrahost", "--yes")
    assert "zebrahost" not in kept.read_text(encoding="utf-8")
