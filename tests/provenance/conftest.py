"""A history for every test of this room."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.provenance.history import History


@pytest.fixture
def history(repo: Path, home: Path, holdfast: Holdfast, scanner_off: None) -> History:
    return History(repo, home, holdfast)
