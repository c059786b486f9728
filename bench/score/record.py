"""The record of scores: figures by commit in docs/research/score.json, and the page that is made of them.

A run holds every row. A row that a run did not measure keeps its last figure, with the commit that it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.score.rows import BOUND_BY_THE_RUN, HIGHER, LOWER, ROWS, TITLES, Found, Measured, Spec

Run = dict[str, Any]
BASE = "0.1.0"
SHOWN = 3  # runs on the page: the newest, the one before, and 0.1.0; all of them are in the JSON file


def read(path: Path) -> list[Run]:
    """The recorded runs, newest first."""
    return list(json.loads(path.read_text(encoding="utf-8"))["runs"]) if path.exists() else []


def write(path: Path, runs: list[Run]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"runs": runs}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def added(runs: list[Run], about: Mapping[str, Any], found: Found) -> list[Run]:
    """The runs with what was found at a commit; a commit that is measured again is replaced."""
    before = next((run for run in runs if run["commit"] == about["commit"]), runs[0] if runs else None)
    rows: dict[str, Any] = dict(before["rows"]) if before else {}
    rows.update({name: _entry(name, value, str(about["commit"])) for name, value in found.items()})
    rows = {spec.id: _with_todays_bound(spec, rows[spec.id]) for spec in ROWS if spec.id in rows}
    again = before if before and before["commit"] == about["commit"] else {}
    run = {**about, **{name: about.get(name) or again.get(name, "") for name in ("label", "remark")}}
    others = [other for other in runs if other["commit"] != about["commit"]]
    return [{**run, "rows": rows}, *others]


def _with_todays_bound(spec: Spec, row: dict[str, Any]) -> dict[str, Any]:
    """A bound that is changed in the table holds for figures that were measured before."""
    if spec.part in BOUND_BY_THE_RUN:
        return row
    return {**row, "bound": spec.bound, "ok": kept(spec.better, row["value"], spec.bound)}


def _entry(name: str, found: Measured, commit: str) -> dict[str, Any]:
    spec = next(spec for spec in ROWS if spec.id == name)
    bound = spec.bound if found.bound is None else found.bound
    return {
        "name": spec.name,
        "value": None if found.value is None else round(found.value, 4),
        "n": found.n,
        "unit": spec.unit,
        "better": spec.better,
        "bound": bound,
        "ok": kept(spec.better, found.value, bound),
        "note": found.note,
        "commit": commit,
    }


def kept(better: str, value: float | None, bound: float | None) -> bool | None:
    """Whether a figure keeps its bound; None where there is no figure or no bound."""
    if value is None or bound is None:
        return None
    return value >= bound if better == HIGHER else value <= bound


# --- the page ------------------------------------------------------------------------------------------


def page(runs: list[Run]) -> str:
    columns = shown(runs)
    told = [
        "# Score",
        "",
        'Made by `make score`; do not edit. `make score ARGS="--only told,hooks"` measures a part and keeps the other figures,',
        "each with the commit that it comes from. All runs are in `score.json`. An arrow says which direction is better;",
        "a figure in **bold** misses its bound. CPU figures are user and system time, as ratios within one run.",
        "",
    ]
    told += [f"- {_title(run)}: {run['date']}, {run['machine']}. {run['remark']}".rstrip() for run in columns]
    for part, title in TITLES.items():
        told += ["", f"## {title}", "", *_table([spec for spec in ROWS if spec.part == part], columns)]
    return "\n".join(told) + "\n"


def shown(runs: list[Run]) -> list[Run]:
    """The runs of the page, newest first: the last two, and the base."""
    base = [run for run in runs if run["label"] == BASE][:1]
    return [*[run for run in runs if run not in base][: SHOWN - 1], *base]


def _table(specs: Iterable[Spec], columns: list[Run]) -> list[str]:
    heads = [
        "",
        "unit",
        "n",
        "bound",
        *map(_title, columns),
        *(["change"] if len(columns) > 1 else []),
        "note",
    ]
    rows = [heads, ["---"] * len(heads)]
    for spec in specs:
        newest = columns[0]["rows"].get(spec.id, {})
        cells = [spec.name + {HIGHER: " ↑", LOWER: " ↓"}.get(spec.better, ""), spec.unit, _n(newest)]
        cells += [figure(newest.get("bound"), spec.unit)]
        cells += [_cell(run["rows"].get(spec.id), run["commit"]) for run in columns]
        if len(columns) > 1:
            cells += [change(spec, newest, columns[-1]["rows"].get(spec.id, {}))]
        rows.append([*cells, newest.get("note", "").replace("|", "\\|")])
    return ["| " + " | ".join(row) + " |" for row in rows]


def _n(row: Mapping[str, Any]) -> str:
    return "" if row.get("n") is None else str(row["n"])


def _title(run: Run) -> str:
    return f"{run['label']} ({run['commit']})" if run["label"] else str(run["commit"])


def _cell(row: Mapping[str, Any] | None, commit: str) -> str:
    if row is None or row["value"] is None:
        return "–"
    value = figure(row["value"], row["unit"])
    value = f"**{value}**" if row["ok"] is False else value
    return value if row["commit"] == commit else f"{value} (of {row['commit']})"


def figure(value: float | None, unit: str = "") -> str:
    """Three digits after the point for shares, two for ratios, none for counts."""
    if value is None:
        return ""
    if unit.startswith(("share", "mean")):
        return f"{value:.3f}"
    if unit.startswith("x "):
        return f"{value:.2f}"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def change(spec: Spec, now: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """The difference from the base, and whether it is better."""
    if now.get("value") is None or base.get("value") is None:
        return ""
    difference = now["value"] - base["value"]
    if not difference:
        return "="
    verdict = {HIGHER: difference > 0, LOWER: difference < 0}.get(spec.better)
    word = {True: " better", False: " worse", None: ""}[verdict]
    return f"{'+' if difference > 0 else '−'}{figure(abs(difference), spec.unit)}{word}"


def printed(run: Run) -> str:
    """The newest run as plain text for a terminal."""
    lines = []
    for part, title in TITLES.items():
        lines += ["", title]
        for spec in (spec for spec in ROWS if spec.part == part):
            row = run["rows"].get(spec.id)
            if row is None:
                continue
            value = "–" if row["value"] is None else figure(row["value"], spec.unit)
            bound = f"bound {figure(row['bound'], spec.unit)}" if row["bound"] is not None else ""
            mark = "missed" if row["ok"] is False else ""
            n = "" if row["n"] is None else f"n {row['n']}"
            cells = f"  {spec.name:52} {value:>9} {spec.unit[:24]:24} {n:8} {bound:12} {mark:7} {row['note'][:70]}"
            lines.append(cells.rstrip())
    return "\n".join([f"Score of {_title(run)}", *lines])
