"""The tests of `make test`: pytest, and once more, alone, whatever failed.

    python scripts/run_tests.py [arguments of pytest]

A test that fails and then passes in a process of its own is flaky: it is reported and recorded in
docs/research/flaky.md, and the run passes. More than three flaky tests, a test that fails again, a crash, a collection
error and an internal error of pytest make the run fail. The last line printed is a closing line in pytest's form with
the counts after the second run; pytest's own closing lines are left out, so that there is only one.

This is a script and not a plugin because it must outlive pytest: when a worker takes pytest down, or a test hangs.
pytest runs in a child process that writes what happens to a file, a JSON line for each event. Workers of xdist report
to that process, so nothing depends on them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import pytest

RECORD = "--record-events"
LIMIT = 55 * 60.0  # seconds; CI gives up after 60 minutes and says less
LIMIT_VARIABLE = "HOLDFAST_TEST_LIMIT"
MOST_FLAKY = 3
MOST_RERUN = 20  # so many failures have a cause that a second run does not change
SLOWEST = 30
SUITE = Path("bench/out/suite.json")
FLAKY_PAGE = Path("docs/research/flaky.md")
NO_TESTS = 5  # pytest's exit code
# pytest's order and words; `flaky` is ours.
CATEGORIES = (
    "failed",
    "passed",
    "skipped",
    "deselected",
    "xfailed",
    "xpassed",
    "warnings",
    "error",
    "flaky",
)
SINGULAR = {"warnings": "warning", "error": "error"}
PLURAL = {"warnings": "warnings", "error": "errors"}


# --- in the child process: pytest with a plugin that writes events ---


class Recorder:
    """Writes what pytest's controlling process sees to a file, and keeps pytest from printing its closing line."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._config: Any = None
        self._broken: list[str] = []

    def _write(self, **event: Any) -> None:
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: Any) -> None:
        self._config = config
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and not config.option.collectonly:
            reporter.summary_stats = lambda: None

    def pytest_sessionstart(self) -> None:
        self._write(event="begin")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(event="start", test=nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write(event="finish", test=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        category = self._config.hook.pytest_report_teststatus(report=report, config=self._config)[0]
        if report.when not in ("setup", "call", "teardown"):  # xdist's report of a crash
            self._broken.append(f"a worker crashed while running {report.nodeid}")
        load = list(os.getloadavg()) if report.failed and hasattr(os, "getloadavg") else None
        self._write(
            event="report", test=report.nodeid, category=category, seconds=report.duration or 0.0, load=load
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if error:
            self._broken.append(f"worker {node.gateway.id} crashed")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._broken.append(f"{report.nodeid or 'the tests'} cannot be collected")

    def pytest_internalerror(self) -> None:
        self._broken.append("pytest had an internal error")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        if session.shouldfail or session.shouldstop:
            self._broken.append("the run was stopped before its end")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: Any) -> None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        stats = {} if reporter is None else reporter.stats
        counts = {
            name: sum(getattr(report, "count_towards_summary", True) for report in reports)
            for name, reports in stats.items()
            if name
        }
        self._write(event="end", counts=counts, broken=self._broken, listing=config.option.collectonly)


def record(events: str, arguments: list[str]) -> int:
    """Run pytest in this process, as `python -m pytest` would."""
    sys.path[0] = os.getcwd()  # in place of this script's folder
    sys.argv = ["pytest", *arguments]
    with open(events, "w", encoding="utf-8") as file:
        return int(pytest.main(arguments, plugins=[Recorder(file)]))


# --- in the parent process ---


@dataclass
class Run:
    """What one run of pytest did."""

    code: int
    counts: Counter[str] = field(default_factory=Counter)
    reports: dict[str, list[str]] = field(default_factory=dict)  # categories by test
    seconds: Counter[str] = field(default_factory=Counter)
    loads: dict[str, list[float] | None] = field(default_factory=dict)  # when the test failed
    running: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    listing: bool = False

    @property
    def failed(self) -> list[str]:
        return list(self.loads)

    def passed(self, test: str) -> bool:
        return test not in self.loads and "passed" in self.reports.get(test, [])


def read_run(code: int, events: Path) -> Run:
    run = Run(code)
    running: dict[str, None] = {}
    ended = False
    lines = events.read_text(encoding="utf-8").splitlines() if events.exists() else []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # the line at which pytest was killed
            continue
        match event["event"]:
            case "start":
                running[event["test"]] = None
            case "finish":
                running.pop(event["test"], None)
            case "report":
                add_report(run, event)
            case "end":
                ended = True
                run.counts = Counter(event["counts"])
                run.broken += event["broken"]
                run.listing = event["listing"]
    if lines and not ended:
        run.running = list(running)
        run.broken.append("pytest did not reach its end")
    return run


def add_report(run: Run, event: dict[str, Any]) -> None:
    test, category = event["test"], event["category"]
    run.reports.setdefault(test, []).append(category)
    run.seconds[test] += event["seconds"]
    if category:
        run.counts[category] += 1
    if category in ("failed", "error"):
        run.loads[test] = event["load"]


def run_pytest(arguments: list[str], seconds: float) -> Run:
    """Run pytest in a session of its own, so that all it started can be killed with it."""
    with tempfile.TemporaryDirectory(prefix="holdfast-tests-") as folder:
        events = Path(folder, "events.jsonl")
        command = [sys.executable, __file__, RECORD, str(events), *arguments]
        child = subprocess.Popen(command, start_new_session=True)

        def forward(number: int, frame: FrameType | None) -> None:
            child.send_signal(number)

        before = {name: signal.signal(name, forward) for name in (signal.SIGINT, signal.SIGTERM)}
        try:
            code = child.wait(max(seconds, 1))
        except subprocess.TimeoutExpired:
            kill_group(child)
            run = read_run(1, events)
            run.broken.append("the time limit was reached")
            return run
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)
        return read_run(code, events)


def kill_group(child: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()


def rerun_failed(first: Run, seconds: float) -> list[str]:
    """The tests that failed and pass when they are run alone, in one process."""
    if first.code != 1 or first.broken or not first.failed:
        return []
    if len(first.failed) > MOST_RERUN:
        print(f"\n{len(first.failed)} tests failed: too many to run again.", flush=True)
        return []
    print(f"\nRunning again, alone, what failed: {len(first.failed)}.", flush=True)
    again = run_pytest(first.failed, seconds)
    if again.broken:
        print("The second run broke off: " + "; ".join(again.broken) + ".", flush=True)
    return [test for test in first.failed if again.passed(test)]


def merge(first: Run, flaky: list[str]) -> Counter[str]:
    """The counts after the second run. A flaky test counts as passed, and as flaky."""
    counts = Counter(first.counts)
    for test in flaky:
        categories = first.reports[test]
        for category in ("failed", "error"):
            counts[category] -= categories.count(category)
        counts["passed"] += "passed" not in categories
    counts["flaky"] = len(flaky)
    return counts


def load_text(load: list[float] | None) -> str:
    return "/".join(f"{value:.2f}" for value in load) if load else "unknown"


def flaky_row(test: str, load: list[float] | None) -> str:
    name = test.replace("|", "\\|").replace("`", "'")
    return f"| {datetime.now(UTC):%Y-%m-%d} | {commit()[:10]} | `{name}` | {load_text(load)} | open |"


def report_flaky(first: Run, flaky: list[str]) -> None:
    """Print the flaky tests and add them to the page, which CI cannot commit."""
    rows = [flaky_row(test, first.loads[test]) for test in flaky]
    for test in flaky:
        load = load_text(first.loads[test])
        print(f"FLAKY {test} (load {load} when it failed, passed when run alone)", flush=True)
    if os.environ.get("CI", "").lower() in ("", "0", "false") and FLAKY_PAGE.is_file():
        with FLAKY_PAGE.open("a", encoding="utf-8") as page:
            page.writelines(row + "\n" for row in rows)
        print(f"Added to {FLAKY_PAGE}: commit it with your change.")
    else:
        print(f"Add to {FLAKY_PAGE}:", *rows, sep="\n")


def commit() -> str:
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, encoding="utf-8", check=False
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def closing_line(counts: Counter[str], seconds: float) -> str:
    parts = []
    for name in CATEGORIES:
        number = counts[name]
        word = (SINGULAR if number == 1 else PLURAL).get(name, name)
        parts += [f"{number} {word}"] if number > 0 else []
    took = f"{seconds:.2f}s"
    if seconds >= 60:
        took += f" ({int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02})"
    text = f" {', '.join(parts) or 'no tests ran'} in {took} "
    return text.center(max(shutil.get_terminal_size().columns, len(text) + 2), "=")


def cpu_seconds() -> tuple[float, float]:
    """User and system time of the children that have ended, and of theirs."""
    spent = os.times()
    return spent.children_user, spent.children_system


def write_suite(arguments: list[str], first: Run, counts: Counter[str], flaky: int, wall: float) -> None:
    user, system = cpu_seconds()
    figures = {
        "commit": commit(),
        "arguments": arguments,
        "wall": round(wall, 2),
        "cpu_user": round(user, 2),
        "cpu_system": round(system, 2),
        "passed": counts["passed"],
        "skipped": counts["skipped"],
        "failed": counts["failed"] + counts["error"],
        "flaky": flaky,
        "slowest": [[test, round(took, 3)] for test, took in first.seconds.most_common(SLOWEST)],
    }
    SUITE.parent.mkdir(parents=True, exist_ok=True)
    SUITE.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def explain(first: Run) -> None:
    for reason in dict.fromkeys(first.broken):
        print(f"Not run again: {reason}.", flush=True)
    for test in first.running:
        print(f"Was running: {test}", flush=True)


def main(arguments: list[str]) -> int:
    limit = float(os.environ.get(LIMIT_VARIABLE, LIMIT))
    started = time.monotonic()
    first = run_pytest(arguments, limit)
    if first.listing:
        return first.code
    explain(first)
    flaky = rerun_failed(first, limit - (time.monotonic() - started))
    if flaky:
        report_flaky(first, flaky)
    accepted = flaky
    if len(flaky) > MOST_FLAKY:
        print(f"{len(flaky)} flaky tests, more than {MOST_FLAKY}: they count as failed.")
        accepted = []
    counts = merge(first, accepted)
    counts["failed"] += len(first.running)
    code = exit_code(first, counts, accepted)
    wall = time.monotonic() - started
    write_suite(arguments, first, counts, len(flaky), wall)
    print(closing_line(counts, wall), flush=True)
    return code


def exit_code(first: Run, counts: Counter[str], accepted: list[str]) -> int:
    """0 when nothing is wrong in the end. A failure that no test shows is counted as an error."""
    wrong = counts["failed"] + counts["error"] > 0
    settled = first.code == 0 or (first.code == 1 and accepted)
    if settled and not first.broken and not wrong:
        return 0
    if first.code != NO_TESTS and not wrong:
        counts["error"] = 1
    return first.code if first.code > 0 else 1


if __name__ == "__main__":
    if sys.argv[1:2] == [RECORD]:
        sys.exit(record(sys.argv[2], sys.argv[3:]))
    sys.exit(main(sys.argv[1:]))
