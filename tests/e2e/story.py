"""What happens in the sessions of the end-to-end tests: the same words for every client."""

from __future__ import annotations

from tests.e2e.clients import CLIENTS
from tests.e2e.model_server import Mcp, Shell, Step

from holdfast.agents.registry import HOSTS

AGENTS = [agent for agent in CLIENTS if agent in HOSTS]

FIRST = "Make the refund tests pass"
NEXT = "wire the refund endpoint"
FINAL = f"The refund tests pass now.\n\nNext steps:\n- {NEXT}\n"
WRONG, RIGHT = Shell("make tests"), Shell("make test")
LEARNT: list[Step] = [WRONG, RIGHT, FINAL]

DECISION = "Refunds go through the ledger service"
REMEMBER = Mcp("remember", {"kind": "decision", "text": DECISION, "because": "audits need one place"})
RECALL = Mcp("recall", {"task": "where do refunds go through?"})

CODING = "Implement the refund endpoint: refunds go through the ledger service"
LOOKING = "Explain how the refund endpoint works"
LESSON = "refund amounts are whole cents, never floats"
