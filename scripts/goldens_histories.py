"""The histories that goldens.py plays: what they are about, and the scratch project that each of them gets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from goldens_world import World

DEMO = "demo"
DEMO_TITLE = "tidepool"
DEMO_SESSIONS = "src/holdfast/demo_sessions"
MORNING = 9  # o'clock, on the day after the newest session: what is known is fresh

_FILE = re.compile(r'"(?:file_path|filePath|path|absolute_path)"\s*:\s*"([^"\\\n]{1,200})"')
_CWD = re.compile(r'"(?:cwd|directory)"\s*:\s*"([^"\\\n]{2,200})"')
_COMMAND = re.compile(r'"command"\s*:\s*"([^"\\\n]{3,100})"')
_STAMP = re.compile(
    r'"(?:timestamp|created|updated|startTime|lastUpdated)"\s*:\s*(?:"(20\d\d-\d\d-\d\d)T|(1[5-9]\d{11})\b)'
)
_DAY = re.compile(r"(20\d\d-\d\d-\d\d)")
_ENDING = re.compile(r"\.[a-z]{1,4}\Z")


@dataclass
class History:
    """Sessions of one repository by one agent, and what is worth asking about them."""

    name: str
    title: str
    source: Path
    began: int = 0
    files: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    @property
    def topics(self) -> list[str]:
        stems = (re.sub(r"[^A-Za-z]+", " ", Path(name).stem).strip() for name in self.files)
        return list(dict.fromkeys(stem for stem in stems if len(stem) > 3))[:3]


def histories(transcripts: Path | None, tree: Path) -> Iterator[tuple[str, str, Path]]:
    """Name, title and folder of each: the demonstration first."""
    yield DEMO, DEMO_TITLE, tree / DEMO_SESSIONS
    for folder in sorted(transcripts.glob("*/*")) if transcripts else ():
        if folder.is_dir():
            yield f"{folder.parent.name}/{folder.name}", folder.name, folder


def look_at(name: str, title: str, source: Path) -> History:
    """What a history is about, by nothing but its text: its files, its commands, and when it ended."""
    texts = [
        (path, path.read_text(encoding="utf-8", errors="replace"))
        for path in sorted(source.rglob("*"))
        if path.is_file() and path.suffix != ".db"
    ]
    roots = Counter(root for _, text in texts for root in _CWD.findall(text))
    root = (roots.most_common(1) or [("/", 0)])[0][0]
    return History(
        name=name,
        title=title,
        source=source,
        began=_day_after(texts),
        files=_most(_below(root, texts), 40),
        commands=_most((line for _, text in texts for line in _COMMAND.findall(text)), 4),
    )


def _most(found: Iterator[str], most: int) -> list[str]:
    counted = Counter(found)
    return sorted(counted, key=lambda one: (-counted[one], one))[:most]


def _below(root: str, texts: list[tuple[Path, str]]) -> Iterator[str]:
    for _, text in texts:
        for path in _FILE.findall(text):
            name = path.removeprefix(f"{root}/")
            if (
                _ENDING.search(name)
                and not name.startswith(("/", "~", ".git/", ".holdfast"))
                and ".." not in name
            ):
                yield name


def _day_after(texts: list[tuple[Path, str]]) -> int:
    days = {day for path, _ in texts for day in _DAY.findall(path.name)}
    for _, text in texts:
        for day, stamp in _STAMP.findall(text):
            days.add(day or datetime.fromtimestamp(int(stamp) / 1000, UTC).strftime("%Y-%m-%d"))
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    newest = max((day for day in days if day < today), default="2026-11-09")
    moment = datetime.strptime(newest, "%Y-%m-%d").replace(hour=MORNING, tzinfo=UTC) + timedelta(days=1)
    return int(min(moment, datetime.now(UTC) - timedelta(days=1)).timestamp()) // 3600 * 3600


# --- the scratch project -------------------------------------------------------------------------------------


def build(world: World, history: History) -> None:
    """Home, work tree and transcripts, from nothing, each with its pinned time."""
    shutil.rmtree(world.base, ignore_errors=True)
    for folder in (world.home, world.work, world.base / "tmp"):
        folder.mkdir(parents=True)
    shutil.copytree(history.source, world.data, ignore=shutil.ignore_patterns("__pycache__"))
    _write_repository(world, history)
    _write_configurations(world)
    for top in (world.data, world.work):
        for path in sorted(top.rglob("*")):
            os.utime(path, (world.began - 3600, world.began - 3600), follow_symlinks=False)


def _write_repository(world: World, history: History) -> None:
    texts = {
        "README.md": f"# {world.title}\n\nA scratch project.\n",
        "Makefile": "test:\n\tuv run pytest\n\nlint:\n\truff check\n",
        "pyproject.toml": f'[project]\nname = "{world.title.lower()}"\ndependencies = ["httpx"]\n\n[tool.ruff]\n'
        "line-length = 100\n",
        "package.json": '{"scripts": {"test": "vitest run", "lint": "eslint ."}, "devDependencies": {"vitest": "2"}}\n',
    }
    for name in history.files:
        stem = re.sub(r"\W+", "_", Path(name).stem)
        texts.setdefault(name, f"# {name}\n\n\ndef {stem}_first(value):\n    return value\n")
    for name, text in texts.items():
        path = world.work / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError:
            continue  # a name that is another one's folder
    git = ["git", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "feat: begin"]):
        world.step += 1
        subprocess.run([*git, *words], cwd=world.work, env=world.environment(), check=True)


def _write_configurations(world: World) -> None:
    """What people have in their agents' files already."""
    texts = {
        ".claude/settings.json": '{\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": [{"type": "command", '
        '"command": "notify-send done"}]}]}\n}\n',
        ".codex/config.toml": '# mine\nmodel = "o4"\n\n[mcp_servers.other]\ncommand = "other"\n',
        ".gemini/settings.json": '{\n  "theme": "dark"\n}\n',
        ".config/opencode/opencode.json": '{\n  "$schema": "https://opencode.ai/config.json",\n  "theme": "nord"\n}\n',
        ".copilot/mcp-config.json": '{"mcpServers": {"other": {"command": "other"}}}\n',
        ".qwen/settings.json": "{}\n",
    }
    for name, text in texts.items():
        path = world.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
