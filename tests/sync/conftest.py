"""Machines for the tests of sync."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.sync.machines import Machines, Person


@pytest.fixture
def machines(home: Path, tmp_path: Path) -> Machines:
    return Machines(tmp_path)


@pytest.fixture
def two(machines: Machines) -> tuple[Person, Person]:
    """A laptop and a desktop of one person."""
    return machines.two_of_one()
