"""What the tests of the hooks' path share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hot.enabled import Enabled


@pytest.fixture
def enabled(repo: Path) -> Enabled:
    """The repository `shop`, enabled, with two lines to tell."""
    return Enabled(repo)
