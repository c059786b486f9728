"""A world for each end-to-end test, and the check that nothing of ours runs on when it is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.e2e.world import World
from tests.patience import wait_until


@pytest.fixture
def world(home: Path, repo: Path, holdfast: Holdfast) -> Iterator[World]:
    made = World(home, repo, holdfast)
    yield made
    assert wait_until(lambda: made.processes() == []), made.processes()
