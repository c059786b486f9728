"""A provider for ../shared/eval/replay.py: file pointers alone, from records that holdfast itself imported.

`replay.py eval CORPUS --per-prompt --provider 'python -m bench.replay_provider [LEAST]'`, run from the repository.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from datetime import datetime
from pathlib import Path

from holdfast.app.importing import import_into
from holdfast.app.pointing import pointers_for
from holdfast.app.wiring import Machine
from holdfast.search.pointer_text import pointer_text


def answer(request: dict[str, object], least: float) -> str:
    state = Path(str(request["state_dir"]))
    work = state / "work"
    work.mkdir(parents=True, exist_ok=True)
    machine = Machine(env={"HOME": str(state)}, cwd=work)
    project = machine.project()
    new = request["new_sessions"]
    if isinstance(new, list) and new:
        import_into(machine, project, [Path(str(path)) for path in new])
    session, turn = str(request["session_id"]), int(str(request["turn"]))
    told = state / "told.json"
    said = json.loads(told.read_text(encoding="utf-8")) if turn and told.exists() else {}
    already = said.get(session, [])
    earlier = request["earlier_prompts"]
    found = pointers_for(
        machine,
        project,
        str(request["prompt"]),
        budget=int(str(request["budget_tokens"])),
        now=datetime.fromisoformat(str(request["started_at"])).timestamp(),
        earlier=[str(prompt) for prompt in earlier] if isinstance(earlier, list) else [],
        said=already,
        least=least,
    )
    told.write_text(json.dumps({session: [*already, *(pointer.path for pointer in found)]}), encoding="utf-8")
    return pointer_text(found)


def main() -> None:
    request = json.load(sys.stdin)
    least = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    with contextlib.redirect_stdout(io.StringIO()):
        text = answer(request, least)
    print(json.dumps({"briefing_text": text}))


if __name__ == "__main__":
    main()
