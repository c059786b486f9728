"""Fits the model that says which decision, noted by hand, a prompt is about, if any.

    .venv/bin/python scripts/train_by_hand.py                 # fits on the open half and prints the weights for hooks/by_hand.py
    .venv/bin/python scripts/train_by_hand.py --judge         # leaves each project of the open half out, and prints the curve
    .venv/bin/python scripts/train_by_hand.py --score sealed  # the shipped weights at the shipped floor
    .venv/bin/python scripts/train_by_hand.py --others FILE   # evidence for prompts of other repositories, a JSON object a line

bench/data/by_hand has six invented projects with the decisions and prompts of somebody who had not read the code: for each
prompt the decisions that a teammate would want the agent to see. Three projects are open, three were scored at the end.
other.jsonl.gz holds the evidence that real prompts of other repositories give for these decisions: figures, no text.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parent)]

from train_telling import Fit  # noqa: E402

from holdfast.briefing.told_index import line_words, weight_of  # noqa: E402
from holdfast.core.stopwords import ENGLISH  # noqa: E402
from holdfast.hooks import by_hand  # noqa: E402

DATA = Path(__file__).parents[1] / "bench/data/by_hand"
OTHER = DATA / "other.jsonl.gz"
NAMES = list(by_hand.WEIGHTS)


class _Weights(dict[str, float]):
    def __missing__(self, word: str) -> float:
        return weight_of(word)

    def get(self, word: str, default: Any = None) -> Any:
        return weight_of(word)


def projects(half: str) -> Iterator[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]]:
    rows = [json.loads(line) for line in (DATA / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()]
    for project in sorted({row["project"] for row in rows}):
        own = [row for row in rows if row["project"] == project]
        yield (
            project,
            [row for row in own if row["kind"] == "decision"],
            [row for row in own if row["kind"] == "prompt"],
        )


def evidence(prompt: str, decisions: list[dict[str, Any]]) -> list[dict[str, float]]:
    said = [row["text"] + (f" (because {row['because']})" if row["because"] else "") for row in decisions]
    words = [frozenset(line_words(text).split(" ")) for text in said]
    rules = [
        some.intersection(line_words(row["text"]).split(" "))
        for row, some in zip(decisions, words, strict=True)
    ]
    return by_hand.evidence(by_hand.windows(prompt, ENGLISH), words, rules, _Weights())


def prompts(half: str) -> list[dict[str, Any]]:
    found = []
    for project, decisions, asked in projects(half):
        ids = [row["id"] for row in decisions]
        for row in asked:
            right = [ids.index(id) for id in row["wants"]]
            found.append(
                {"group": project, "kind": "own", "found": evidence(row["text"], decisions), "right": right}
            )
    return found


def others() -> list[dict[str, Any]]:
    with gzip.open(OTHER, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_others(path: Path) -> None:
    said = [
        text
        for line in path.read_text(encoding="utf-8").splitlines()
        if (text := json.loads(line).get("prompt"))
    ]
    with gzip.GzipFile(OTHER, "wb", mtime=0) as file:
        for project, decisions, _ in projects("open"):
            for number, text in enumerate(said):
                found = [{k: round(v, 4) for k, v in one.items()} for one in evidence(text, decisions)]
                kind = "other" if number % 2 == 0 else "held back"
                row = {"group": project, "kind": kind, "found": found, "right": []}
                file.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")


def fitted(rows: list[dict[str, Any]]) -> tuple[dict[str, float], float]:
    fit = Fit([row for row in rows if row["kind"] != "held back"], NAMES)
    return dict(zip(NAMES, (round(float(value), 3) for value in fit.weights), strict=True)), round(
        fit.none, 3
    )


def judge() -> None:
    rows = prompts("open") + others()
    results = []
    for group in sorted({row["group"] for row in rows}):
        by_hand.WEIGHTS, by_hand.NONE = fitted([row for row in rows if row["group"] != group])
        results += [(row, by_hand.chances_of(row["found"])) for row in rows if row["group"] == group]
    print("floor  told the right one  told though none was wanted  told for prompts of other repositories")
    for floor in (0.15, 0.2, 0.25, 0.3, 0.33, 0.4, 0.5):
        print(f"{floor:.2f}   {figures(results, floor)}")


def chosen(chances: list[float], floor: float) -> list[int]:
    if sum(chances) < floor:
        return []
    best = max(chances)
    order = sorted(range(len(chances)), key=lambda place: -chances[place])[: by_hand.MOST_LINES]
    return [place for place in order if chances[place] >= by_hand.SECOND * best]


def figures(results: list[tuple[dict[str, Any], list[float]]], floor: float) -> str:
    told = [(row, chosen(chances, floor)) for row, chances in results]
    wanted = [(row, places) for row, places in told if row["right"]]
    lines = sum(len(places) for _, places in wanted)
    right = sum(place in row["right"] for row, places in wanted for place in places)

    def share(kind: str) -> str:
        some = [bool(places) for row, places in told if row["kind"] == kind and not row["right"]]
        return f"{sum(some) / len(some):.2f} (n {len(some)})" if some else "-"

    hits = sum(any(place in row["right"] for place in places) for row, places in wanted)
    return (
        f"{hits / len(wanted):.2f} (n {len(wanted)}), lines right {right / max(lines, 1):.2f}   "
        f"{share('own')}   {share('held back')}"
    )


def score(half: str) -> str:
    rows = prompts(half) + (others() if half == "open" else [])
    return figures([(row, by_hand.chances_of(row["found"])) for row in rows], by_hand.FLOOR)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--score", choices=("open", "sealed"))
    parser.add_argument("--others", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.others:
        write_others(options.others)
    elif options.judge:
        judge()
    elif options.score:
        print(score(options.score))
    else:
        weights, none = fitted(prompts("open") + others())
        print(f"WEIGHTS = {weights}\nNONE = {none}")


if __name__ == "__main__":
    main()
