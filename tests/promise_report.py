"""A pytest plugin: a promise that is done counts as kept only if one of its tests ran and passed.

Each test's promises travel with its reports, which pytest-xdist passes on to the controller. The terminal summary
names those whose tests were all skipped in this run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

PROPERTY = "promise"


class PromiseReport:
    """Collects what became of each promise's tests; `done` are the promises that are said to be kept."""

    def __init__(self, done: set[str]) -> None:
        self.done = done
        self.shown: set[str] = set()
        self.skipped: dict[str, list[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for mark in item.iter_markers(PROPERTY):
                item.user_properties += [(PROPERTY, name) for name in mark.args]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        names = [str(value) for key, value in report.user_properties if key == PROPERTY]
        if report.when == "call" and not report.skipped:  # a failed one is reported as failed
            self.shown.update(names)
        elif report.skipped:
            for name in names:
                self.skipped.setdefault(name, []).append(reason(report))

    def not_shown(self) -> Mapping[str, list[str]]:
        """Promises that are done, whose tests in this run were all skipped, with the reasons."""
        return {
            name: list(dict.fromkeys(reasons))
            for name, reasons in sorted(self.skipped.items())
            if name in self.done - self.shown
        }

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        missing = self.not_shown()
        if missing:
            told = ", ".join(f"{name} (skipped: {'; '.join(why)})" for name, why in missing.items())
            terminalreporter.section("promises", sep="-")
            terminalreporter.write_line(f"promises not shown in this run: {told}")


def reason(report: pytest.TestReport) -> str:
    """Why a test was skipped, or expected to fail."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(getattr(report, "wasxfail", "")) or "no reason given"


def done_in(manifest: Path) -> set[str]:
    import tomllib

    promises = tomllib.loads(manifest.read_text(encoding="utf-8"))
    return {name for name, promise in promises.items() if promise["state"] == "done"}
