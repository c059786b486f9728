"""Every target of `make fuzz` for a moment, the same inputs each time; and proof that an oracle can fail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("resource", reason="CPU limits need POSIX")

from tests.fuzz.engines import Findings, Reached, run_own
from tests.fuzz.minimise import minimised
from tests.fuzz.mutations import join_files, mutate, split_files
from tests.fuzz.oracles import Broken, Target, examine, require
from tests.fuzz.surfaces import _call
from tests.fuzz.targets import makers

from holdfast.agents.registry import importers
from holdfast.core.errors import StoreError
from holdfast.hooks.host_protocol import EVENTS
from holdfast.mcp.tools import TOOLS

ROOT = Path(__file__).parents[2]
TARGETS = makers()
RUNS = 25
RUNS_OF_ENGINE = 5_000
SLOW = {"archive-members": 2, "mcp": 6}  # runs of targets that restore a memory after each


@pytest.mark.promise("F4")
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_its_promises_on_changed_inputs(name: str) -> None:
    target = TARGETS[name]()
    random = Random(name)
    try:
        assert target.seeds
        inputs = list(target.seeds[:12])
        for _ in range(SLOW.get(name, RUNS)):
            inputs.append(mutate(random.choice(target.seeds), random, target.words, target.seeds))
        for data in inputs:
            finding = examine(target, data, cpu_s=60.0)
            assert finding is None, f"{data!r}\n{finding.kind}\n{finding.text}"
    finally:
        target.close()


def test_every_reader_of_the_registry_is_a_target() -> None:
    assert {f"reader-{importer.agent}" for importer in importers()} <= set(TARGETS)


def test_every_host_event_and_tool_is_a_seed() -> None:
    hooks, mcp = TARGETS["hooks"](), TARGETS["mcp"]()
    try:
        calls = {_call(line)[:2] for seed in hooks.seeds for line in seed.split(b"\n")}
        assert calls >= {(host, event) for host, events in EVENTS.items() for event in events}
        assert [
            tool.name for tool in TOOLS if not any(f'"{tool.name}"'.encode() in seed for seed in mcp.seeds)
        ] == []
    finally:
        mcp.close()
        hooks.close()


# --- the oracles can fail ------------------------------------------------------------------------------


def _target(check: Callable[[bytes], object], *seeds: bytes) -> Target:
    return Target("planted", lambda data: check(data) and None, seeds or (b"seed",))


def _spin(data: bytes) -> None:
    while data:
        pass


def _swallow(data: bytes) -> None:
    try:
        _spin(data)
    except Exception:
        pass


def _hoard(data: bytes) -> None:
    bytes(data[:1]) * (400 << 20)


def _gulp(data: bytes) -> None:
    with open("/dev/zero", "rb") as file:
        for _ in range(200):
            file.read(1 << 20)


def _refuse(data: bytes) -> None:
    raise StoreError("refused")


FAULTS: dict[str, Callable[[bytes], object]] = {
    "ZeroDivisionError": lambda data: 1 // 0,
    "RecursionError": lambda data: FAULTS["RecursionError"](data),
    "not caught": _refuse,
    "broken promise: lost": lambda data: require(False, "lost: everything"),
    "too slow": _spin,
    "memory": _hoard,
    "bytes read": _gulp,
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_planted_fault_is_a_finding(kind: str) -> None:
    if kind == "bytes read" and not Path("/proc/self/io").exists():
        pytest.skip("only Linux counts what a process reads")
    finding = examine(_target(FAULTS[kind]), b"x", cpu_s=0.2 if kind == "too slow" else 60.0)
    assert finding is not None
    assert finding.kind.startswith(kind)


def test_a_hang_is_found_behind_code_that_survives_every_exception() -> None:
    finding = examine(_target(_swallow), b"x", cpu_s=0.2)
    assert finding is not None
    assert finding.kind == "too slow"


def test_a_faultless_target_has_no_findings() -> None:
    assert examine(_target(len), b"x") is None


# --- the engine ----------------------------------------------------------------------------------------


def _first() -> int:
    return 1


def _second() -> int:
    return 2


def _third() -> int:
    return 3


def _fourth() -> int:
    return 4


STEPS = (_first, _second, _third, _fourth)


def _locked(data: bytes) -> None:
    """A fault behind four steps, each of which only the one before makes likely."""
    for place, letter in enumerate(b"FUZZ"):
        if data[place : place + 1] != bytes((letter,)):
            return
        STEPS[place]()
    raise Broken("opened")


def test_coverage_leads_our_engine_to_a_fault_that_chance_does_not_find(tmp_path: Path) -> None:
    target = Target("locked", _locked, (b"____",), words=(b"F", b"U", b"Z"))
    findings = Findings(tmp_path)
    runs, steps = run_own(target, findings, runs=RUNS_OF_ENGINE, reached=Reached(inside=__file__))
    assert runs == RUNS_OF_ENGINE
    assert steps >= 5
    (found,) = tmp_path.glob("*.found")
    finding = examine(target, found.read_bytes())
    assert finding is not None
    assert minimised(target, found.read_bytes() + b"\nmore, and more", finding.kind) == b"FUZZ"


def test_the_same_random_numbers_give_the_same_input() -> None:
    for name in ("reader-claude-code", "reader-opencode", "ledger"):
        target = TARGETS[name]()
        first, again = (mutate(target.seeds[0], Random(7), target.words, target.seeds) for _ in range(2))
        target.close()
        assert first == again != target.seeds[0]


def test_several_files_go_into_one_input_and_come_out() -> None:
    files = {"a.json": b"{}\n", "b/c.md": b"", "d": b"\n\nx"}
    names, contents = split_files(join_files(files))
    assert dict(zip(names, contents, strict=True)) == files
    assert split_files(b"anything else") == ([""], [b"anything else"])


def test_the_script_says_what_an_input_does_today(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    file = tmp_path / "ledger" / "x.input"
    file.write_bytes(b"| Session |\n|---|\n| a |\n")
    command = [sys.executable, str(ROOT / "scripts" / "fuzz.py"), "--reproduce", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Nothing is broken.\n"), done.stderr
