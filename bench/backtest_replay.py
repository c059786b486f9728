"""Whether `holdfast backtest` and ../shared/eval/replay.py agree where both measure the same.

    python -m bench.backtest_replay CORPUS…          run from the repository, with ../shared beside it

Three comparisons: what the backtest says a session is told, scored by replay; the same for the answers of the provider
(`bench/replay_provider.py whole`); and the list of the latest commands and files, which each of the two has of its own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.backtest.report import BacktestReport, NeedSum
from holdfast.backtest.run import run
from holdfast.store.machine import Machine

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT.parent / "shared" / "eval"))
MEASURES = ("coverage_stumble", "coverage_command", "coverage_file", "coverage_file_later", "precision")


def tested(corpus: str) -> BacktestReport:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        work.mkdir()
        machine = Machine(env={"HOME": folder, "PATH": os.environ["PATH"]}, cwd=work)
        return run(machine, machine.project(), [Path(corpus)])


def briefings(report: BacktestReport, ids: Sequence[str]) -> dict[tuple[str, int], str]:
    """The lines that replay asks for: at the start and the first prompt together, then at each later prompt.

    Replay names a session by its file, which ends with the session's id.
    """
    told: dict[tuple[str, int], list[str]] = {}
    for one in report.tested:
        name = next((id for id in ids if id.endswith(one.session)), one.session)
        for line in one.lines:
            if line.when in ("start", "first prompt", "later prompt"):
                told.setdefault((name, max(line.prompt - 1, 0)), []).append(line.path or line.text)
    return {key: "\n".join(lines) for key, lines in told.items()}


def figures(replay: Any, corpus: str, **how: Any) -> dict[str, Any]:
    found = replay.score(replay.run(corpus, per_prompt=True, **how), boot=50)["all"]
    return {name: (found[name]["value"], found[name]["n"]) for name in MEASURES} | {
        "tokens": found["tokens_mean"]
    }


def share(need: NeedSum) -> str:
    return f"{need.told}/{need.known}"


def main() -> None:
    import replay  # type: ignore[import-not-found, unused-ignore]

    for corpus in sys.argv[1:]:
        report = tested(corpus)
        ids = [session.id for session in replay.load_corpus(corpus)]
        rows = {
            "backtest's lines, scored by replay": figures(replay, corpus, briefings=briefings(report, ids)),
            "replay's recency": figures(replay, corpus, name="recency"),
        }
        for name, row in rows.items():
            print(json.dumps({"corpus": Path(corpus).name, "what": name, **row}))
        for name, tally in (("memory", report.memory), ("rival", report.rival)):
            needs = {kind: share(tally.of(kind)) for kind in ("remedy", "command", "file")}
            precision = round(tally.used / tally.lines, 3) if tally.lines else None
            print(
                json.dumps(
                    {"corpus": Path(corpus).name, "what": f"backtest's {name}", **needs, "used": precision}
                )
            )


if __name__ == "__main__":
    main()
