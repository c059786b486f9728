"""Draws how search grows from the JSON lines of the benchmark.

.venv/bin/python -m bench.run search_growth search_million > growth.jsonl
.venv/bin/python scripts/plot_search.py growth.jsonl        # writes docs/research/search-growth.svg, prints the table
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "docs" / "search-growth.svg"
SERIES = {
    "index": ("to index, s", "#0b7285"),
    "warm": ("a warm question, p50 ms", "#c92a2a"),
    "rss": ("memory, MB", "#5f3dc4"),
}
LEFT, TOP, WIDTH, HEIGHT = 60, 20, 460, 260
LOWEST, HIGHEST = -1, 4  # powers of ten on the vertical axis


def figures(lines: list[str]) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {name: {} for name in SERIES}
    for line in lines:
        told = json.loads(line)
        match = re.fullmatch(r"search_(index|warm|rss)_(\d+)_chunks", told["name"])
        if match:
            found[match[1]][int(match[2])] = told["value"]
    return found


def quality(lines: list[str]) -> str:
    """The table of the sets, from the lines of `search_quality`."""
    rows = [
        "| set | n | measure | FTS5's own | ours | interval | interval of the gain |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        told = json.loads(line)
        if "gain_interval" in told:
            name, _, measure = told["name"].removeprefix("search_").rpartition("_")
            low, high = told["interval"]
            less, more = told["gain_interval"]
            rows.append(
                f"| {name.replace('_', ' ')} | {told['n']} | {measure} | {told['fts5']:.3f} | {told['value']:.3f} "
                f"| {low:.2f} to {high:.2f} | {less:+.3f} to {more:+.3f} |"
            )
    return "\n".join(rows)


def place(chunks: int, value: float) -> tuple[float, float]:
    x = LEFT + (math.log10(chunks) - 3) / 3 * WIDTH
    y = TOP + HEIGHT - (math.log10(max(value, 10**LOWEST)) - LOWEST) / (HIGHEST - LOWEST) * HEIGHT
    return round(x, 1), round(y, 1)


def drawn(found: dict[str, dict[int, float]]) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 40} {TOP + HEIGHT + 60}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for power in range(LOWEST, HIGHEST + 1):
        _, y = place(1000, 10**power)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}" stroke="#dee2e6"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{10**power:g}</text>')
    for chunks in (1000, 10_000, 100_000, 1_000_000):
        x, _ = place(chunks, 1)
        parts.append(f'<text x="{x}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{chunks:,}</text>')
    for number, (name, (label, colour)) in enumerate(SERIES.items()):
        points = [place(chunks, value) for chunks, value in sorted(found[name].items())]
        line = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points]
        x = LEFT + number * 160
        parts.append(f'<text x="{x}" y="{TOP + HEIGHT + 44}" fill="{colour}">{label}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main(source: Path) -> None:
    lines = source.read_text(encoding="utf-8").splitlines()
    print(quality(lines))
    found = figures(lines)
    TARGET.write_text(drawn(found), encoding="utf-8")
    print("| chunks | " + " | ".join(label for label, _ in SERIES.values()) + " |\n|---|---|---|---|")
    for chunks in sorted(found["index"]):
        values = [found[name].get(chunks) for name in SERIES]
        print(
            f"| {chunks:,} | "
            + " | ".join("" if value is None else f"{value:.3g}" for value in values)
            + " |"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
