"""A provider for ../shared/eval/replay.py: what holdfast would say, from records that it imported itself.

`replay.py eval CORPUS --per-prompt --provider 'python -m bench.replay_provider [WAY]'`, run from the repository. WAY:

- `hook` (default): what the prompt hook would say, by its own code (`hooks/prompt.py`) over the tables that are
  prepared for it, with its bars and budgets. Only the earlier prompts come from the request
  instead of the session's record, which does not exist in a replay, and so do no files it touched.
- `whole`: the start as well: what keeps failing and the commands in use, as the start hook has them, before the first
  prompt's lessons and files; together within the budget, of which what fails has three tenths (the product has a
  budget for each). What is open and next is left out: replay has no such targets. A session is taken to have heard at
  its start what was said there.
- a number: every file with at least this chance; 0 fills the budget.

Replay counts a file where the first prompt's answer names it or that of the very prompt under which it is edited. So a
file that the first prompt was told is not told again; one that another prompt was told may be, which a hook says once
only (`bench/told_by_then.py` counts as a hook tells; `ONCE` in the environment makes this provider do so).

`branch` in the request is what a hook reads from the checkout. replay.py's own requests have none; in one process
(`bench/replay_briefing.py --branch`) it comes from the session's transcript.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path

from holdfast.briefing.file_pointers import pointers_for
from holdfast.briefing.prompt import as_prompt
from holdfast.briefing.start import briefings_of
from holdfast.core.tokens import count_tokens
from holdfast.flows.import_sessions import import_into
from holdfast.hooks.prompt import MOST_TOKENS, Heard
from holdfast.hooks.ranking import path_lines
from holdfast.store.machine import Machine
from holdfast.store.project import Project

START_SHARE = 0.3  # what findings.md gives to stumbles
ONCE = bool(os.environ.get("ONCE"))


def answer(request: dict[str, object], way: str) -> str:
    state = Path(str(request["state_dir"]))
    work = state / "work"
    work.mkdir(parents=True, exist_ok=True)
    machine = Machine(env={"HOME": str(state)}, cwd=work)
    project = machine.project()
    new = request["new_sessions"]
    if isinstance(new, list) and new:
        import_into(machine, project, [Path(str(path)) for path in new])
    session, turn, prompt = str(request["session_id"]), int(str(request["turn"])), str(request["prompt"])
    given = request["earlier_prompts"]
    earlier = [str(one) for one in given] if isinstance(given, list) else []
    kept = state / "told.json"
    told = json.loads(kept.read_text(encoding="utf-8")) if turn and kept.exists() else {}
    heard = Heard()
    if told.get("session") == session:
        heard.files, heard.tokens = set(told["files"]), told["tokens"]
    branch = str(request.get("branch") or "")
    if way in ("hook", "whole"):
        heard.lines = set(told["lines"]) if told.get("session") == session else set()
        start = [] if turn or way == "hook" else starting(machine, project, round(START_SHARE * MOST_TOKENS))
        heard.lines.update(start)
        # One budget for both, as replay has it: the start's lines leave less for the prompt's.
        spent = sum(count_tokens(line) for line in start)
        left = MOST_TOKENS - spent
        said = as_prompt(machine, project, prompt, earlier=earlier, heard=heard, budget=left, branch=branch)
        lines, files, tokens = [*start, *(line for line, _ in said.lines)], said.files, said.tokens
    else:
        budget = int(str(request["budget_tokens"]))
        found = pointers_for(
            machine,
            project,
            prompt,
            budget=budget,
            earlier=earlier,
            said=heard.files,
            least=float(way),
            branch=branch,
        )
        files, tokens = [pointer.path for pointer in found], 0
        lines = [line for line, _ in path_lines(files)]
    entry = {
        "session": session,
        "files": [*heard.files, *files] if ONCE or not turn else [*heard.files],
        "tokens": heard.tokens + tokens,
        "lines": [*heard.lines, *lines],
    }
    kept.write_text(json.dumps(entry), encoding="utf-8")
    return "\n".join(lines)


def starting(machine: Machine, project: Project, budget: int) -> list[str]:
    """What a start tells on every branch of what keeps failing, as far as it fits, and of the commands in use."""
    lines = briefings_of(machine, project).digests.get(("startup", ""), ())
    kept = []
    for line in lines:
        if line.text.startswith("Commands here: "):
            kept.append(line.text)
        elif line.reason.startswith(("it failed in", "it passed")) or "[L-" in line.text:
            cost = count_tokens(line.text)
            if cost <= budget:
                budget -= cost
                kept.append(line.text)
    return kept


def main() -> None:
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        text = answer(request, sys.argv[1] if len(sys.argv) > 1 else "hook")
    print(json.dumps({"briefing_text": text}))


if __name__ == "__main__":
    main()
