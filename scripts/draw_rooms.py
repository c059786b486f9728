"""Draws which room imports which: docs/rooms.svg, from the import statements and the tiers in pyproject.toml.

    scripts/draw_rooms.py            write docs/rooms.svg
    scripts/draw_rooms.py --check    write nothing, fail when it is out of date

Sizes are rounded, so that not every commit changes the picture.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "holdfast"
PICTURE = ROOT / "docs" / "rooms.svg"

WIDTH, BOX, HEIGHT, STEP, MARGIN = 1120, 164, 50, 128, 60
FEWEST = 5  # imports: thinner arrows would only hide the others
GROUND = ("store", "guard", "model", "core")  # nearly all rooms use them, so their arrows say nothing
# Where these stand, of the width: out of the way of arrows that pass.
BESIDE = {"flows": 0.72, "briefing": 0.44, "hooks": 0.86, "agents": 0.25, "sessions": 0.75}
STYLE = """
text{font:13px system-ui,sans-serif;fill:#1d2733}.name{font-weight:600;font-size:15px}.small{fill:#5b6773;font-size:12px}
.box{fill:#f4f7fa;stroke:#8fa1b3}.tier{stroke:#e3e8ee}.arrow{fill:none}.few{stroke:#c3cfda}.some{stroke:#7d9cb8}
.many{stroke:#2f6690}.paper{fill:#fff}
"""


def tiers() -> list[list[str]]:
    """The rooms of each tier, the surfaces first, as import-linter holds them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    return [[room.strip().removeprefix("holdfast.") for room in layer.split("|")] for layer in layers]


def imported(path: Path) -> Iterator[str]:
    """The rooms that a module names in its imports, those inside functions included, once for each statement."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == "holdfast":
            names = [f"holdfast.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from {name.split(".")[1] for name in names if name.startswith("holdfast.")}


def arrows(rooms: list[str]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for room in rooms:
        for path in sorted((SOURCE / room).rglob("*.py")):
            found.update((room, other) for other in imported(path) if other in rooms and other != room)
    return found


def size(room: str) -> str:
    paths = list((SOURCE / room).rglob("*.py"))
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
    return f"{len(paths)} modules, {round(lines, -2):,} lines"


def _share(row: list[str], number: int) -> float:
    """Where a room stands in its tier; the ground is drawn in boxes that fill it."""
    return (
        0.5 + ((number + 0.5) / len(row) - 0.5) * (1 - 2 * MARGIN / WIDTH)
        if set(row) <= set(GROUND)
        else (number + 1) / (len(row) + 1)
    )


def picture() -> str:
    rows = tiers()
    rooms = [room for row in rows for room in row]
    places = {
        room: (WIDTH * _share(row, number), MARGIN + STEP * level)
        for level, row in enumerate(rows)
        for number, room in enumerate(row)
    }
    places.update(
        {room: (WIDTH * share, places[room][1]) for room, share in BESIDE.items() if room in places}
    )
    found = arrows(rooms)
    height = MARGIN + STEP * (len(rows) - 1) + HEIGHT + 70
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>Which room imports which</title>",
        f'<style>{STYLE}</style><rect class="paper" width="{WIDTH}" height="{height}"/>',
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" fill="#5b7f9e"/></marker></defs>',
    ]
    parts += [
        f'<line class="tier" x1="20" x2="{WIDTH - 20}" y1="{y}" y2="{y}"/>'
        for y in (MARGIN + STEP * level - (STEP - HEIGHT) // 2 for level in range(1, len(rows)))
    ]
    drawn = [(pair, n) for pair, n in found.items() if n >= FEWEST and not set(pair) & set(GROUND)]
    parts += [arrow(places, pair, n) for pair, n in sorted(drawn, key=lambda item: (item[1], item[0]))]
    for room, (x, y) in places.items():
        beside = next(len(row) for row in rows if room in row)
        wide = (WIDTH - 2 * MARGIN) / beside - 20 * (beside > 1) if room in GROUND else BOX
        users = [n for (_, other), n in found.items() if other == room]
        used = f", imported {round(sum(users), -1):,} times by {len(users)} rooms" if room in GROUND else ""
        parts.append(
            f'<rect class="box" x="{x - wide / 2:.0f}" y="{y}" width="{wide:.0f}" height="{HEIGHT}" rx="6"/>'
            f'<text class="name" x="{x:.0f}" y="{y + 21}" text-anchor="middle">{room}</text>'
            f'<text class="small" x="{x:.0f}" y="{y + 39}" text-anchor="middle">{size(room)}{used}</text>'
        )
    notes = (
        f"Arrows are imports of a lower room, the thicker the more there are (from {FEWEST} on).",
        "The wide boxes are what the house stands on; their arrows are left out. Drawn by scripts/draw_rooms.py.",
    )
    parts += [
        f'<text class="small" x="{WIDTH / 2:.0f}" y="{height - 34 + 18 * n}" text-anchor="middle">{note}</text>'
        for n, note in enumerate(notes)
    ]
    return "\n".join([*parts, "</svg>\n"])


def arrow(places: dict[str, tuple[float, int]], pair: tuple[str, str], number: int) -> str:
    """From the lower edge of a box to the upper edge of another; ends are spread over the edges."""
    (x1, y1), (x2, y2) = places[pair[0]], places[pair[1]]
    x1 += max(-BOX / 2 + 12, min(BOX / 2 - 12, (x2 - x1) * 0.14))
    x2 += max(-BOX / 2 + 12, min(BOX / 2 - 12, (x1 - x2) * 0.14))
    y1 += HEIGHT
    bend = (y2 - y1) * 0.45
    kind = "many" if number >= 40 else "some" if number >= 20 else "few"
    width = {"few": 1.2, "some": 2.2, "many": 4.0}[kind]
    return (
        f'<path class="arrow {kind}" stroke-width="{width}" marker-end="url(#end)" '
        f'd="M{x1:.0f} {y1} C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2 - 1}"/>'
    )


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--check", action="store_true", help="write nothing, fail when it is out of date")
    check = options.parse_args().check
    new = picture()
    same = PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == new
    if check:
        if not same:
            print("docs/rooms.svg is out of date: run make docs and commit it.", file=sys.stderr)
        return 0 if same else 1
    PICTURE.write_text(new, encoding="utf-8", newline="\n")
    print(f"docs: {'rooms.svg is up to date' if same else 'rooms.svg written'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
