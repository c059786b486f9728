"""The reading of lessons takes sessions in the order in which they began, whoever recorded them."""

from __future__ import annotations

import json
from pathlib import Path

from bench.lessons_reading import in_order


def export(folder: Path, name: str, created: int) -> None:
    """A session as OpenCode exports it: its moments are numbers."""
    info = {
        "id": f"ses_{name}",
        "directory": "/home/ada/shop",
        "time": {"created": created, "updated": created},
    }
    said = {"id": f"msg_{name}", "role": "user", "sessionID": f"ses_{name}", "time": {"created": created}}
    part = {"id": f"prt_{name}", "type": "text", "text": "Mend the cart; it is of 2020-01-01T00:00:00"}
    data = {"info": info, "messages": [{"info": said, "parts": [part]}]}
    (folder / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")


def test_sessions_whose_moments_are_numbers_come_in_order(tmp_path: Path) -> None:
    for name, day in (("a", 3), ("b", 1), ("c", 2)):
        export(tmp_path, name, 1_770_000_000_000 + day * 86_400_000)
    (tmp_path / "notes.txt").write_text("no transcript", encoding="utf-8")
    assert [one.path.stem for one in in_order(tmp_path, 9)] == ["b", "c", "a"]
    assert [one.path.stem for one in in_order(tmp_path, 1)] == ["b"]
