"""Breaks sync: five nodes of four people, random operations, kills at any point, and a check of all invariants.

    scripts/sync_rig.py                                     20 seeds of 500 operations through a folder
    scripts/sync_rig.py --seed 7 --operations 500           one of them again
    scripts/sync_rig.py --transport git --seeds 5           hidden refs of a remote
    scripts/sync_rig.py --out bench/out/sync-rig            where failed worlds are kept

Behind git, ssh and postgres is a real server, which is killed, and a line that cuts, delays and repeats. The last line
is JSON. Keys and ids differ from run to run, so that a seed repeats what is done, and nearly where it is killed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
_CLEARED = (
    "HOLDFAST",
    "HOLDFAST_HOME",
    "CI",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--transport", choices=("folder", "git", "ssh", "postgres"), default="folder")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "out" / "sync-rig")
    options = parser.parse_args()
    for name in [*_CLEARED, *(name for name in os.environ if name.startswith("GIT_"))]:
        os.environ.pop(name, None)
    os.environ["TZ"] = "UTC"
    from tests.sync.rig.seeds import run_seed

    seeds = (
        [options.seed] if options.seed is not None else range(options.first, options.first + options.seeds)
    )
    done, killed, line, refused = Counter(), Counter(), Counter(), Counter()
    failed, operations, syncs = [], 0, 0
    for seed in seeds:
        folder = options.out / f"{options.transport}-{os.getpid()}"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            outcome = run_seed(seed, options.operations, options.transport, folder)
        except Exception:
            traceback.print_exc()
            failed.append(seed)
            print(f"seed {seed}: the rig itself failed", flush=True)
            continue
        done.update(outcome.played.operations)
        killed.update(outcome.played.killed)
        line.update(outcome.played.line)
        refused.update(outcome.played.refused)
        operations += sum(outcome.played.operations.values())
        syncs += outcome.syncs
        print(
            f"seed {seed}: {sum(outcome.played.operations.values())} operations, "
            f"{sum(outcome.played.killed.values())} killed, {len(outcome.problems)} problems, {outcome.seconds:.0f} s",
            flush=True,
        )
        for problem in outcome.problems[:12]:
            print(f"  {problem[:1500]}")
        if outcome.problems:
            failed.append(seed)
            print(
                f"  again: scripts/sync_rig.py --seed {seed} --operations {options.operations} "
                f"--transport {options.transport}"
            )
    for text, number in refused.most_common(40):
        print(f"refused {number:4} {text}")
    print(
        json.dumps(
            {
                "transport": options.transport,
                "seeds": len(seeds),
                "operations": operations,
                "by_kind": dict(done),
                "killed": dict(killed),
                "kills": sum(killed.values()),
                "line": dict(line),
                "syncs_at_end": syncs,
                "failed": failed,
            }
        )
    )
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
