"""One machine of 0.1.0 for each process that runs tests: its paths are in it, so it cannot be moved, only put back."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from scripts.old_home import missing_history, old_package
from tests.upgrade.world import Machine


@pytest.fixture(scope="session")
def machine_of_0_1_0(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    if os.name == "nt":
        pytest.skip("commands of hooks are run by a POSIX shell here")
    if problem := missing_history():
        pytest.skip(problem)
    old_package()
    made = Machine.make(tmp_path_factory.mktemp("upgrade"))
    yield made
    made.close()


@pytest.fixture
def before(machine_of_0_1_0: Machine) -> Iterator[Machine]:
    """As 0.1.0 left it, with 0.1.0 still installed."""
    machine_of_0_1_0.settle()
    machine_of_0_1_0.put_back()
    yield machine_of_0_1_0
    machine_of_0_1_0.settle()


@pytest.fixture
def machine(before: Machine) -> Machine:
    """The same with the current code at the place of 0.1.0."""
    before.upgrade()
    return before
