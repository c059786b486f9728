"""The repository of the demonstration: what its sessions wrote, committed when they did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from holdfast.core.git import GitStream, run_git

_AUTHOR = "Mara Lind <mara@example.org>"
_PATIENCE_S = 20.0


class Commit(Struct, frozen=True):
    at: datetime
    message: str
    files: Mapping[str, str]


_GATEWAY = '''"""The HTTP gateway: routes, and what stands before them."""

from tidepool import views
from tidepool.web import App

app = App()
app.add_route("/stations", views.stations)
app.add_route("/forecast", views.forecast)
'''
_LIMITED = _GATEWAY.replace(
    "app = App()\napp.add_route", "app = App()\napp.add_middleware(RateLimit)\napp.add_route", 1
).replace("from tidepool.web", "from tidepool.limits import RateLimit\nfrom tidepool.web")
_LIMITS = '''"""At most 100 requests a minute for each client."""

from tidepool.web import Answer


class TokenBucket: ...


class RateLimit:
    def refuse(self, wait: int) -> Answer:
        return 429, {'Retry-After': wait}
'''
_TOKENS = '''"""Access tokens and their refresh."""

import time

LIFETIME_S = 900


def refresh(token, clock=time.time):
    now = time.time()
    return token.renewed(now + LIFETIME_S)
'''
_CLIENT = '''"""The client of the tide service."""

import time

ATTEMPTS = 5


def fetch(get, url):
    return get(url)
'''
_RETRIES = """    for attempt in range(ATTEMPTS):
        answer = get(url)
        if answer.status < 500:
            return answer
        time.sleep(2 ** (attempt + 1))
    raise TideServiceDown(url)
"""
_RETRYING = _CLIENT.replace("    return get(url)\n", _RETRIES)
_DB = '''"""Everything that asks the database."""

STATIONS = "SELECT * FROM stations JOIN readings USING (station)"


def stations(db):
    rows = db.execute(STATIONS)
    return [dict(row) for row in rows]
'''
_LATERAL = (
    "SELECT * FROM stations JOIN LATERAL (SELECT * FROM readings WHERE station = stations.id "
    "ORDER BY at DESC LIMIT 1) AS last ON true"
)
_FORECASTS = '''"""Forecasts that were asked for in the last hour, in a SQLite file that every worker reads."""

import sqlite3
import time

TO_LIVE_S = 3600


def cached(view):
    def answer(request):
        with sqlite3.connect("forecasts.db") as db:
            row = db.execute("SELECT body FROM forecast WHERE station = ? AND at > ?", since(request)).fetchone()
            return row[0] if row else keep(db, request, view(request))

    return answer


def since(request):
    return request.station, time.time() - TO_LIVE_S
'''
_TEST = """from tidepool import {name}


def test_{name}() -> None:
    assert {name}
"""
_README = """# tidepool

Tides and forecasts of the stations along the coast.

    {install}
    uv run tidepool
"""
_PROJECT = """[project]
name = "tidepool"
version = "0.4.0"
requires-python = ">=3.11"

[tool.ruff]
line-length = 100

[tool.pytest.ini_options]
testpaths = ["tests"]
"""
_MODULES = ("gateway", "tokens", "client", "db")
COMMITS = (
    Commit(
        datetime(2026, 10, 30, 15, 0, tzinfo=UTC),
        "Start tidepool",
        {
            "pyproject.toml": _PROJECT,
            "README.md": _README.format(install="pip install -r requirements.txt"),
            "tidepool/__init__.py": "",
            "tidepool/gateway.py": _GATEWAY,
            "tidepool/tokens.py": _TOKENS,
            "tidepool/client.py": _CLIENT,
            "tidepool/db.py": _DB,
            **{f"tests/test_{name}.py": _TEST.format(name=name) for name in _MODULES},
        },
    ),
    Commit(
        datetime(2026, 11, 2, 9, 15, tzinfo=UTC),
        "feat(gateway): rate limit per client",
        {"tidepool/gateway.py": _LIMITED, "tidepool/limits.py": _LIMITS},
    ),
    Commit(
        datetime(2026, 11, 3, 14, 6, tzinfo=UTC),
        "fix(tokens): take the clock as an argument",
        {"tidepool/tokens.py": _TOKENS.replace("now = time.time()", "now = clock()")},
    ),
    Commit(
        datetime(2026, 11, 4, 9, 44, tzinfo=UTC),
        "feat(client): retry five times with backoff",
        {"tidepool/client.py": _RETRYING},
    ),
    Commit(
        datetime(2026, 11, 7, 10, 9, tzinfo=UTC),
        "fix(client): retry three times, and obey Retry-After",
        {"tidepool/client.py": _RETRYING.replace("ATTEMPTS = 5", "ATTEMPTS = 3")},
    ),
    Commit(
        datetime(2026, 11, 8, 11, 24, tzinfo=UTC),
        "perf(db): index readings by station",
        {
            "tidepool/db.py": _DB.replace("SELECT * FROM stations JOIN readings USING (station)", _LATERAL),
            "migrations/0007_readings_station.sql": "CREATE INDEX readings_station ON readings (station, at);\n",
        },
    ),
    Commit(
        datetime(2026, 11, 9, 9, 17, tzinfo=UTC),
        "feat(gateway): cache forecasts in SQLite",
        {
            "tidepool/forecasts.py": _FORECASTS,
            "tidepool/gateway.py": _LIMITED.replace("views.forecast)", "cached(views.forecast))").replace(
                "from tidepool.limits", "from tidepool.forecasts import cached\nfrom tidepool.limits"
            ),
        },
    ),
    Commit(
        datetime(2026, 11, 9, 16, 50, tzinfo=UTC),
        "docs: install with uv",
        {"README.md": _README.format(install="uv sync")},
    ),
)


def make_repository(root: Path) -> bool:
    """Makes the repository with its history; False without git: the folder stays empty."""
    if not run_git(root, "init", "-q", "-b", "main", seconds=_PATIENCE_S).whole:
        return False
    history = GitStream(
        root / ".git", "fast-import", "--quiet", seconds=_PATIENCE_S, stdin="".join(_stream()).encode()
    )
    for _ in history:
        pass
    return run_git(root, "reset", "-q", "--hard", "main", seconds=_PATIENCE_S).whole


def _stream() -> Iterator[str]:
    """The history as `git fast-import` reads it: one process for all commits."""
    for commit in COMMITS:
        yield f"commit refs/heads/main\ncommitter {_AUTHOR} {commit.at.timestamp():.0f} +0000\n"
        yield _data(f"{commit.message}\n")
        for path, text in commit.files.items():
            yield f"M 100644 inline {path}\n{_data(text)}"


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
