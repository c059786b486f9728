"""What was settled in the chat of one agent reaches the first request of the next one, whichever it is, and answers a question."""

from __future__ import annotations

import os

import pytest
from tests.e2e.model_server import serving
from tests.e2e.story import AGENTS
from tests.e2e.world import World, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]

ASKED = "The export to the label printer service fails every evening, its gateway answers 429. What do you propose?"
PROPOSED = "I would retry each label up to ten times and treat a 429 like a 500."
SETTLED = (
    "No, ten is too many: their contract counts attempts. At most five attempts, with waits of 2, 4, 8 and 16 seconds. "
    "Retry a 429 only if the gateway sends Retry-After."
)
DONE = "Agreed: five attempts, waits of 2, 4, 8 and 16 seconds, and a 429 only with Retry-After."
PROMPT = "Labels get lost in the evening when the printer service's gateway throws 429. Make the export survive it."
QUESTION = "How many attempts may the label export make against the gateway?"


@pytest.mark.promise("W1", "W2", "H2")
@pytest.mark.parametrize("first, second", list(zip(AGENTS, [*AGENTS[1:], AGENTS[0]], strict=True)))
def test_a_decision_of_one_agents_chat_is_in_the_next_agents_first_request(
    first: str, second: str, world: World
) -> None:
    speaker, listener = world.install(first), world.install(second)
    with serving([PROPOSED, DONE]) as server:
        session = speaker.run(server, ASKED).session
        speaker.run(server, SETTLED, resume=session)
        world.settled()
    with serving(["I will look at it."]) as server:
        listener.run(server, PROMPT)
        heard = "\n".join(told(server.turns()[0]))
        assert "five attempts" in heard and "Retry-After" in heard, world.state()
        assert "ten times" not in heard, "what was turned down is not told"
        world.settled()
        server.requests.clear()
        listener.run(server, QUESTION)
        assert "five attempts" in "\n".join(told(server.turns()[0])), world.state()
        world.settled()
    said = [line for entry in world.holdfast("why", "--json").json()["injections"] for line in entry["lines"]]
    reasons = [line["reason"] for line in said if "five attempts" in line["text"]]
    assert reasons and all(reasons)
    assert world.confessed() == ""
