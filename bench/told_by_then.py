"""What a session has been told when it needs a file, and how much of what later prompts are told is used.

replay.py asks at the prompts that matter only, counts what was said at the first prompt and at the very prompt under
which a file is edited, and counts precision at first prompts. A hook is asked at every prompt and says a file once; so
here every prompt up to the last that matters is asked, and a file counts as told from then on. BM25 is asked likewise.

    python -m bench.told_by_then CORPUS [hook | LEAST ...]        run from the repository, with ../shared beside it
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT.parent / "shared" / "eval"))


def measure(corpus: str, ways: list[str]) -> dict[str, dict[str, float]]:
    import replay  # type: ignore[import-not-found, unused-ignore]

    from bench.replay_provider import answer

    facts = [replay.Facts(session) for session in replay.load_corpus(corpus)]
    ended = sorted(facts, key=lambda one: (one.s.end, one.id))
    past, count = replay.Past(), 0
    totals: dict[str, list[float]] = {way: [0.0] * 6 for way in ("bm25", *ways)}
    with tempfile.TemporaryDirectory() as scratch:
        given = dict.fromkeys(ways, 0)
        for one in facts:
            while count < len(ended) and ended[count].s.end <= one.s.start:
                past.add(ended[count])
                count += 1
            if len(past.F) < 3:
                continue
            wanted = _later(replay, one, past)
            prompts = [prompt[1] for prompt in one.s.prompts]
            last = min(max((turn for _, _, turn in wanted), default=0), len(prompts) - 1)
            for way in totals:
                told: set[str] = set()
                by_turn = []
                for turn in range(last + 1):
                    if way == "bm25":
                        text = replay.baseline("bm25", past, prompts[turn], 200, one, [])
                    else:
                        request: dict[str, Any] = {
                            "state_dir": f"{scratch}/{way}",
                            "new_sessions": [str(session.s.path) for session in past.F[given[way] :]],
                            "session_id": one.id,
                            "turn": turn,
                            "prompt": prompts[turn],
                            "earlier_prompts": prompts[:turn],
                            "budget_tokens": 200,
                        }
                        given[way] = len(past.F)
                        text = answer(request, way)
                    text = replay.cut(text, 200)
                    paths = set(replay.Brief(text, past).paths)
                    told |= paths
                    by_turn.append(set(told))
                    _count(totals[way], one, paths, turn, replay.ntok(text))
                totals[way][0] += sum(cost for path, cost, turn in wanted if path in by_turn[min(turn, last)])
                totals[way][1] += sum(cost for _, cost, _ in wanted)
    return {way: _shares(total) for way, total in totals.items()}


def _later(replay: Any, one: Any, past: Any) -> list[tuple[str, float, int]]:
    return [
        (target["id"], target["cost"], one.s.calls[target["i"]].turn)
        for target in replay.targets(one, past)
        if target["type"] == "file_later" and target["resolvable"] and target["cost"]
    ]


def _count(total: list[float], one: Any, paths: set[str], turn: int, tokens: int) -> None:
    """A path is used when the session reads or edits it at this prompt or later."""
    if turn:
        used = {path for call in one.s.calls if call.turn >= turn for path in call.paths}
        total[2] += len(paths & used)
        total[3] += len(paths)
        total[4] += tokens
        total[5] += 1


def _shares(total: list[float]) -> dict[str, float]:
    covered, cost, used, offered, tokens, prompts = total
    return {
        "told_by_then": round(covered / cost, 3) if cost else 0.0,
        "cost": cost,
        "later_precision": round(used / offered, 3) if offered else 0.0,
        "offered_later": offered,
        "tokens_a_later_prompt": round(tokens / prompts, 1) if prompts else 0.0,
    }


def main() -> None:
    for way, found in measure(sys.argv[1], sys.argv[2:] or ["hook"]).items():
        print(json.dumps({"corpus": Path(sys.argv[1]).name, "way": way, **found}))


if __name__ == "__main__":
    main()
