"""How well `holdfast classify` tells labelled prompts apart: precision and recall of code-gen, all of them and by history.

    python scripts/classifier_figures.py FILE…

Each FILE holds JSON lines with `prompt`, `label` (code-gen, exploration, qa or other) and, if there is one, `repo`. Figures of
a file are honest only once: after its errors have been read, they say how well they were read.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path

from holdfast.hooks.classify import classify

Z = 1.96  # 95 of 100 samples
Told = list[tuple[str, str, str]]  # history, label, class


def main(files: list[str]) -> int:
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    for file in files:
        told = [
            (row.get("repo", ""), row["label"], classify(row["prompt"])[0])
            for row in map(json.loads, Path(file).read_text(encoding="utf-8").splitlines())
        ]
        print(f"{file}: {len(told)} prompts, {figures(told)}")
        histories = sorted({history for history, _, _ in told})
        for history in histories if len(histories) > 1 else ():
            some = [row for row in told if row[0] == history]
            print(f"  {history or 'no history'}: {len(some)} prompts, {figures(some)}")
        for (label, found), count in Counter((label, found) for _, label, found in told).most_common():
            if label != found:
                print(f"  {count:4} {label} as {found}")
    return 0


def figures(told: Told) -> str:
    right = sum(label == found == "code-gen" for _, label, found in told)
    claimed = sum(found == "code-gen" for _, _, found in told)
    wanted = sum(label == "code-gen" for _, label, _ in told)
    return f"precision {share(right, claimed)}, recall {share(right, wanted)}"


def share(part: int, whole: int) -> str:
    """A share and its interval after Wilson, which holds for few as well."""
    if not whole:
        return "–"
    rate, spread = part / whole, Z * Z / whole
    middle = (rate + spread / 2) / (1 + spread)
    reach = Z * math.sqrt(rate * (1 - rate) / whole + spread / whole / 4) / (1 + spread)
    return f"{rate:.2f} ({middle - reach:.2f} to {middle + reach:.2f} of {whole})"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
