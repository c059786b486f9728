"""A repository in which a person has enabled memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import Holdfast


@pytest.fixture
def shop(repo: Path, holdfast: Holdfast) -> Path:
    (repo / "README.md").write_text("A shop.\n", encoding="utf-8")
    holdfast("install", "claude-code", "--yes", check=0)
    return repo
