"""The clients themselves, without us: that the scripted model is one to them, in each protocol."""

from __future__ import annotations

import os

import pytest
from tests.e2e.clients import CLIENTS
from tests.e2e.model_server import Read, Shell, serving
from tests.e2e.world import World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]


@pytest.mark.parametrize("agent", CLIENTS)
def test_a_client_calls_its_tools_and_goes_on_with_a_session(agent: str, world: World) -> None:
    client = world.client(agent)
    with serving([Shell("echo so-it-goes"), Read(str(world.repo / "README.md")), "All done."]) as server:
        first = client.run(server, "Look at the shop")
        shown, read = server.turns()[-1].results
        assert "so-it-goes" in shown and "A shop." in read
        assert "All done." in first.printed
        again = client.run(server, "And once more", resume=first.session)
        assert again.session == first.session
        assert "Look at the shop" in server.turns()[-1].text
        assert "[holdfast " not in server.turns()[-1].text, "nobody installed us"
