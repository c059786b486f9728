"""All targets by name. Readers come from the registry of agents, so a new agent is fuzzed without a line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from tests.fuzz.oracles import Target
from tests.fuzz.readers import reader_targets
from tests.fuzz.surfaces import surface_targets
from tests.fuzz.texts import memory_targets, text_targets
from tests.fuzz.world import World

MEMORY = ("current", "log", "reference", "open-questions", "decisions")


def makers() -> dict[str, Callable[[], Target]]:
    """What makes each target."""
    memory = {name: partial(_memory_target, name) for name in MEMORY}
    return {**dict(reader_targets()), **text_targets(), **memory, **surface_targets()}


def _memory_target(name: str) -> Target:
    return next(target for target in memory_targets(_memory_files()) if target.name == name)


@cache
def _memory_files() -> dict[str, bytes]:
    world = World()
    try:
        return world.memory_files()
    finally:
        world.close()
