"""What is typed into the page passes the gate: no secret, private part or forgotten text is left in any byte of the home."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from tests.every_byte import leftovers
from tests.web.conftest import make_demo, served

from holdfast.flows.forget import forget, resolve
from holdfast.store.machine import Machine
from holdfast.web import memory_writes, now
from holdfast.web.memory_writes import ACTIONS

SECRET = "ghp_" + "q7W2e9R4t6Y1u8I3o5P0a2S4d6F8g1H3j5K7"
HIDDEN = "walrusoxide"
FORGOTTEN = "zebrafinch tarragon"
KEPT = "harbourlight"
# Every field that a write of the page reads, found in its source, so that a new one is swept too.
FIELDS = sorted(
    {
        name
        for module in (memory_writes, now)
        for name in re.findall(r'(?:_of\(\w+, |_whole\(\w+, |form\.get\()"(\w+)"', inspect.getsource(module))
    }
)
CHOICES = {"category": "", "priority": "", "kind": "", "days": "", "place": "", "branch": "main", "id": ""}


def texts(number: int) -> str:
    return (
        f"{KEPT}{number} serves the harbour, token {SECRET} stays out\n"
        f"<private>\nthe {HIDDEN} is mine\n</private>\nand {FORGOTTEN} too"
    )


@pytest.mark.promise("G1", "G6")
def test_no_secret_private_part_or_forgotten_text_gets_past_the_page(tmp_path: Path) -> None:
    folder = make_demo(tmp_path)
    env = {"HOME": str(folder), "HOLDFAST_HOME": str(folder / "home")}
    machine = Machine(cwd=folder / "tidepool", env=env)
    project = machine.project()
    forget(machine, project, resolve(project, (), (), (FORGOTTEN,)))
    kept = 0
    for server in served(folder):
        writes = [f"/{server.slug}/memory/do/{action}" for action in ACTIONS] + [
            f"/{server.slug}/now/handoff"
        ]
        for number, path in enumerate(writes):
            whole = {name: CHOICES.get(name, texts(number)) for name in FIELDS}
            server.post(path, {**whole, "name": f"canary-{number}"})
            # Without what was forgotten, which is refused: what remains is kept, and must be clean.
            clean = {name: value.replace(f"and {FORGOTTEN} too", "") for name, value in whole.items()}
            kept += server.post(path, {**clean, "name": f"rule-{number}"}).status == 200
    assert {"text", "because", "evidence", "command", "rules"} <= set(FIELDS)
    assert kept >= 6
    assert leftovers([folder / "home", folder / "tidepool"], [KEPT]) != [], (
        "nothing was kept, so nothing was shown"
    )
    assert leftovers([folder / "home", folder / "tidepool"], [SECRET, HIDDEN, FORGOTTEN]) == []
