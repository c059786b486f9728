"""The whole briefing in the replay of ../shared/eval: start, first prompt and later prompts, beside the baselines.

    python -m bench.replay_briefing CORPUS… [--way whole | hook | LEAST] [--branch]

from the repository, with ../shared beside it.

As `replay.py eval CORPUS --per-prompt --provider 'python -m bench.replay_provider whole'`, in one process: a process for each
prompt takes ten times as long. The baselines are those of the same tool over the same sessions, 200 tokens each.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT.parent / "shared" / "eval"))
BASELINES = ("frequency", "recency", "bm25", "hybrid")
PAIRED = ("coverage", "coverage_file_later", "precision")
DRAWN = 2000
MEASURES = (
    "coverage",
    "coverage_stumble",
    "coverage_command",
    "coverage_file",
    "coverage_file_later",
    "precision",
)


def briefings(replay: Any, corpus: str, way: str, branches: bool) -> dict[tuple[str, int], str]:
    """What holdfast says to every prompt that replay asks about."""
    from bench.replay_provider import answer

    facts = [replay.Facts(session) for session in replay.load_corpus(corpus)]
    ended = sorted(facts, key=lambda one: (one.s.end, one.id))
    past, given, said = replay.Past(), 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        for one in facts:
            while len(past.F) < len(ended) and ended[len(past.F)].s.end <= one.s.start:
                past.add(ended[len(past.F)])
            if len(past.F) < 3:
                continue
            later = {
                one.s.calls[target["i"]].turn
                for target in replay.targets(one, past)
                if target["type"] == "file_later" and target["resolvable"] and target["cost"]
            }
            prompts = [prompt[1] for prompt in one.s.prompts]
            for turn in sorted({0, *later}):
                if turn >= len(prompts):
                    continue
                request = {
                    "state_dir": scratch,
                    "new_sessions": [str(session.s.path) for session in past.F[given:]],
                    "session_id": one.id,
                    "turn": turn,
                    "prompt": prompts[turn],
                    "earlier_prompts": prompts[:turn],
                    "budget_tokens": 200,
                    "branch": branch_in(Path(one.s.path)) if branches else "",
                }
                given = len(past.F)
                said[one.id, turn] = answer(request, way)
    return said


def branch_in(path: Path) -> str:
    """The branch that a session began on, as its transcript says (Claude Code's lines, Codex' first): a hook reads it
    from the checkout. Not the one it ended on, whose name may tell what it did."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if '"gitBranch"' not in line and '"git"' not in line:
                continue
            try:
                said = json.loads(line)
                named = said.get("gitBranch") or said["payload"]["git"]["branch"]
            except (ValueError, LookupError, TypeError, AttributeError):
                continue
            if named:
                return str(named)
    return ""


def measured(corpus: str, way: str, branches: bool) -> list[dict[str, object]]:
    import replay  # type: ignore[import-not-found, unused-ignore]

    rows = []
    told = briefings(replay, corpus, way, branches)
    ours: list[dict[str, Any]] = []
    for memory in (way, *BASELINES):
        ran = (
            replay.run(corpus, briefings=told, per_prompt=True)
            if memory == way
            else replay.run(corpus, name=memory, per_prompt=True)
        )
        found = replay.score(ran, boot=200).get("all")
        if found is None:
            continue
        if memory == way:
            ours = ran
        gains = {} if memory == way else {f"gain_{name}": gain(replay, ours, ran, name) for name in PAIRED}
        values = {name: found[name]["value"] for name in MEASURES}
        amounts = {f"n_{name}": found[name]["n"] for name in MEASURES}
        rows.append(
            {
                "corpus": Path(corpus).name,
                "memory": memory,
                **values,
                "tokens": found["tokens_mean"],
                **gains,
                **amounts,
            }
        )
    return rows


def gain(
    replay: Any, ours: list[dict[str, Any]], theirs: list[dict[str, Any]], name: str
) -> list[float] | None:
    """What we have more of than a baseline, and from where to where (95%): sessions drawn again, both sides together."""
    pairs = [
        (*_part(replay, mine, name), *_part(replay, other, name))
        for mine, other in zip(ours, theirs, strict=True)
    ]
    whole = _difference(pairs)
    if whole is None:
        return None
    rng = random.Random(7)
    drawn = [_difference(rng.choices(pairs, k=len(pairs))) for _ in range(DRAWN)]
    spread = sorted(value for value in drawn if value is not None)
    ends = (spread[int(len(spread) * share)] for share in (0.025, 0.975))
    return [round(value, 3) for value in (whole, *ends)]


def _part(replay: Any, row: dict[str, Any], name: str) -> tuple[float, float]:
    """What one session adds above and below the line."""
    if name == "precision":
        return row["used"], row["offered"]
    above, below = replay.agg([row], ("file_later",)) if name == "coverage_file_later" else replay.agg([row])
    return above, below


def _difference(pairs: list[tuple[float, float, float, float]]) -> float | None:
    mine, all_mine, other, all_other = (sum(column) for column in zip(*pairs, strict=True))
    return mine / all_mine - other / all_other if all_mine and all_other else None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("corpora", nargs="+", help="folders of transcripts")
    options.add_argument("--way", default="whole", help="what is told, as bench/replay_provider.py has it")
    options.add_argument("--branch", action="store_true", help="with the branch that a hook knows")
    chosen = options.parse_args()
    for corpus in chosen.corpora:
        for row in measured(corpus, chosen.way, chosen.branch):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
