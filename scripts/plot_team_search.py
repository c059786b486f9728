"""Draws how search on the team's server grows, from the JSON lines of bench/team_scale.py, and prints the tables.

.venv/bin/python -m bench.team_scale --out growth.jsonl
.venv/bin/python scripts/plot_team_search.py growth.jsonl     # writes docs/research/team-search-growth.svg
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "docs" / "research" / "team-search-growth.svg"
Figures = dict[int, dict[str, dict[str, Any]]]
Value = Callable[[dict[str, dict[str, Any]]], float | None]
LEFT, TOP, WIDTH, HEIGHT = 60, 40, 300, 240
GAP = 80


def at(name: str, key: str) -> Value:
    return lambda told: told[name].get(key) if name in told else None


def _cpu(name: str) -> Value:
    """What a question costs the processor, here and on the server."""

    def value(told: dict[str, dict[str, Any]]) -> float | None:
        one = told.get(name)
        return one["client_cpu_ms"] + one["server_cpu_ms"] if one else None

    return value


PANELS: list[tuple[str, int, int, list[tuple[str, str, Value]]]] = [
    ("processor time of a question, ms", 0, 3, [
        ("PostgreSQL, all rows", "#0b7285", _cpu("postgres_100_1_client")),
        ("PostgreSQL, 2% of them", "#66a80f", _cpu("postgres_2_1_client")),
        ("SQLite", "#c92a2a", _cpu("sqlite_1_client")),
    ]),
    ("building the graph, s of processor; on disk, MB", 0, 4, [
        ("graph, s", "#5f3dc4", at("build_graph", "server_cpu_s")),
        ("graph, MB", "#e67700", at("disk", "hnsw_mb")),
        ("table, MB", "#868e96", at("disk", "table_mb")),
    ]),
]  # fmt: skip
ROWS: list[tuple[str, Value]] = [
    ("recall@10 of the graph, 98% of the rows", at("recall_100", "graph")),
    ("recall@10 as asked, 98%", at("recall_100", "product")),
    ("recall@10 of the graph, 2% of the rows", at("recall_2", "graph")),
    ("recall@10 as asked, 2%", at("recall_2", "product")),
    ("answers of the graph with fewer than ten, 98% / 2%", lambda told: _sum(told, "short")),
    ("the nearest 200 by the graph, p50 ms", at("recall_100", "graph_ms")),
    ("the nearest 200, all compared, p50 ms", at("recall_100", "exact_ms")),
    ("a question, all rows, 1 client: p50 ms", at("postgres_100_1_client", "p50_ms")),
    ("… p95 ms", at("postgres_100_1_client", "p95_ms")),
    ("… processor of the server, ms", at("postgres_100_1_client", "server_cpu_ms")),
    ("… processor of the client, ms", at("postgres_100_1_client", "client_cpu_ms")),
    ("… 50 clients: p50 ms", at("postgres_100_50_clients", "p50_ms")),
    ("… p95 ms", at("postgres_100_50_clients", "p95_ms")),
    ("… questions a second", at("postgres_100_50_clients", "questions_per_s")),
    ("a question, 2% of the rows, 1 client: p50 ms", at("postgres_2_1_client", "p50_ms")),
    ("… p95 ms", at("postgres_2_1_client", "p95_ms")),
    ("… processor of the server, ms", at("postgres_2_1_client", "server_cpu_ms")),
    ("… 50 clients: p50 ms", at("postgres_2_50_clients", "p50_ms")),
    ("… p95 ms", at("postgres_2_50_clients", "p95_ms")),
    ("SQLite, 1 client: p50 ms", at("sqlite_1_client", "p50_ms")),
    ("… p95 ms", at("sqlite_1_client", "p95_ms")),
    ("… processor, ms", at("sqlite_1_client", "client_cpu_ms")),
    ("… 50 clients: p50 ms", at("sqlite_50_clients", "p50_ms")),
    ("… p95 ms", at("sqlite_50_clients", "p95_ms")),
    ("same first answer as SQLite, share", at("agreement", "same_first")),
    ("of SQLite's ten, share", at("agreement", "of_ten")),
    ("loaded in all, s", at("load", "all_s")),
    ("… rows a second of this size", at("load", "rows_per_s")),
    ("graph built, s", at("build_graph", "s")),
    ("… processor, s", at("build_graph", "server_cpu_s")),
    ("index of words built, s", at("build_words", "s")),
    ("a push of 20 statements, p50 ms", at("push", "p50_ms")),
    ("… processor of the server, ms", at("push", "server_cpu_ms")),
    ("SQLite filled in all, s", at("sqlite_load", "all_s")),
    ("table, MB", at("disk", "table_mb")),
    ("graph, MB", at("disk", "hnsw_mb")),
    ("other indexes, MB", lambda told: told["disk"]["btree_mb"] + told["disk"]["gin_mb"] if "disk" in told else None),
    ("SQLite's database, MB (and 0.38 of vectors for each 1,000)", at("sqlite_load", "mb")),
    ("server's memory with 50 clients, MB", at("postgres_100_50_clients", "server_mb")),
    ("a client's memory, MB", at("postgres_100_1_client", "client_mb")),
    ("a client's memory with SQLite, MB", at("sqlite_1_client", "client_mb")),
    ("load of the machine, least", lambda told: min(one["load"] for one in told.values())),
    ("load of the machine, most", lambda told: max(one["load"] for one in told.values())),
]  # fmt: skip


def _sum(told: dict[str, dict[str, Any]], key: str) -> float | None:
    found = [told[name][key] for name in ("recall_100", "recall_2") if name in told]
    return sum(found) if found else None


def figures(lines: list[str]) -> Figures:
    found: Figures = {}
    for line in lines:
        told = json.loads(line)
        found.setdefault(told["statements"], {})[told["name"]] = told
    return dict(sorted(found.items()))


def table(found: Figures) -> str:
    rows = ["| | " + " | ".join(f"{size:,}" for size in found) + " |", "|---" * (len(found) + 1) + "|"]
    for label, value in ROWS:
        cells = [value(told) for told in found.values()]
        rows.append(
            f"| {label} | " + " | ".join("" if cell is None else f"{cell:,g}" for cell in cells) + " |"
        )
    return "\n".join(rows)


def drawn(found: Figures) -> str:
    sizes = list(found)
    low, high = (
        math.log10(min(sizes)),
        math.log10(max(sizes)) if len(sizes) > 1 else math.log10(min(sizes)) + 1,
    )
    width = LEFT + len(PANELS) * (WIDTH + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 110}" font-family="sans-serif" '
        'font-size="12" role="img" aria-label="How search on the team\'s server grows with the number of statements">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, (title, least, most, series) in enumerate(PANELS):
        left = LEFT + number * (WIDTH + GAP)

        def place(
            size: int, value: float, left: int = left, least: int = least, most: int = most
        ) -> tuple[float, float]:
            up = (math.log10(max(value, 10**least)) - least) / (most - least)
            return round(left + (math.log10(size) - low) / (high - low) * WIDTH, 1), round(
                TOP + HEIGHT * (1 - up), 1
            )

        parts.append(f'<text x="{left}" y="{TOP - 16}">{title}</text>')
        for power in range(least, most + 1):
            _, y = place(sizes[0], 10**power)
            parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y}" y2="{y}" stroke="#dee2e6"/>')
            parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{10**power:,}</text>')
        for size in sizes:
            x, _ = place(size, 1)
            label = f"{size // 1_000_000}M" if size >= 1_000_000 else f"{size // 1000}k"
            parts.append(f'<text x="{x}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{label}</text>')
        for line, (label, colour, value) in enumerate(series):
            points = [place(size, known) for size, told in found.items() if (known := value(told))]
            joined = " ".join(f"{x},{y}" for x, y in points)
            parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points]
            parts.append(
                f'<text x="{left}" y="{TOP + HEIGHT + 44 + 18 * line}" fill="{colour}">{label}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])


def main(source: Path) -> None:
    found = figures(source.read_text(encoding="utf-8").splitlines())
    TARGET.write_text(drawn(found), encoding="utf-8")
    print(table(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
