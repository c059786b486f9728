"""Kilo Code: made from OpenCode, it takes the same plugin and tools, in `kilo.json` or `kilo.jsonc`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.agent_kit.host_contract import Host, Scope
from holdfast.agents.opencode.host import OpenCode


class Kilo(OpenCode):
    agent = "kilo"
    title = "Kilo Code"
    folder = "kilo"
    names: Mapping[Scope, tuple[str, ...]] = {
        "user": ("kilo.jsonc", "kilo.json", "opencode.jsonc", "opencode.json", "config.json"),
        "project": ("kilo.jsonc", "kilo.json"),
    }
    new = "kilo.json"
    empty = '{\n  "$schema": "https://app.kilo.ai/config.json"\n}\n'  # else Kilo Code writes that into it
    options: Mapping[str, Any] = {"host": "kilo"}


HOST: Host = Kilo()
