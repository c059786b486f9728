"""Recall of what maintainers state of their repositories, by what `holdfast know` finds with agents' files removed.

    python scripts/evaluate_knowledge.py LABELS.json FOLDER

LABELS.json holds `[{repo, category, value, quote}]`; FOLDER a checkout per repository, called as in the labels. A fact is
found when a convention of its category (or of one that says the same) holds the telling words of its value. Repositories
without a checkout are left out and named; without the labels there is nothing to do.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

from holdfast.knowledge.checkout import listed
from holdfast.knowledge.scan import ScanState, scan
from holdfast.model.knowledge import Convention

# Categories under which the same fact may stand.
ALSO = {
    "test_command": {"test_command", "test_runner"},
    "build_command": {"build_command", "build_tool"},
    "run_single_test": {"run_single_test", "test_command"},
    "linter": {"linter", "lint_command", "git_hooks"},
    "formatter": {"formatter", "format_command"},
    "type_checker": {"type_checker", "typecheck_command"},
    "test_layout": {"test_layout", "test_style"},
    "test_style": {"test_style", "test_layout"},
    "snapshot_tests": {"snapshot_tests", "test_helpers"},
}
_WORD = re.compile(r"[a-z0-9][\w.#/-]*")
_WEAK = {
    "via",
    "or",
    "and",
    "optional",
    "over",
    "per",
    "one",
    "run",
    "the",
    "a",
    "root",
    "path",
    "all",
    "s",
    "n",
    "auto",
}


def telling(value: str) -> list[str]:
    return [word for word in _WORD.findall(value.lower()) if word not in _WEAK]


def is_found(category: str, value: str, conventions: list[Convention]) -> Convention | None:
    words = telling(value)
    for one in conventions:
        if one.category in ALSO.get(category, {category}):
            said = f"{one.pattern} {one.example} {one.scope}".lower()
            if words and sum(word.rstrip("s") in said for word in words) >= max(1, 0.5 * len(words)):
                return one
    return None


def main() -> int:
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_file():
        print(__doc__)
        return 0
    labels = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    by_repository: dict[str, list[dict[str, str]]] = defaultdict(list)
    for label in labels:
        by_repository[label["repo"]].append(label)
    found = total = 0
    for name, facts in by_repository.items():
        root = Path(sys.argv[2]) / name
        if not root.is_dir():
            print(f"{name}: no checkout, left out")
            continue
        conventions = list(scan(root, listed(root), ScanState()).items.conventions)
        for fact in facts:
            hit = is_found(fact["category"], fact["value"], conventions)
            total += 1
            found += hit is not None
            told = (
                hit.pattern
                if hit
                else "; ".join(c.pattern for c in conventions if c.category == fact["category"])
            )
            print(
                f"{'yes' if hit else 'NO '} {name:22} {fact['category']:16} {fact['value'][:44]:46} {told[:70]}"
            )
    print(f"recall {found / max(total, 1):.3f} ({found} of {total})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
