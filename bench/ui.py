"""The page over 10,000 sessions and 100,000 statements: what starting it and each screen cost, and how that grows.

Costs are CPU time in multiples of `python -c pass`, in turn with it: a busy machine makes both dearer. A screen is
measured warm: what it read is kept until files change.
"""

from __future__ import annotations

import re
import resource
import subprocess
import time
from pathlib import Path

from tests.web.served import Served

from bench.measuring import PYTHON, report, scratch_env
from bench.ui_home import make_home
from holdfast.web.screens import loaded

SIZES = ((100, 1_000), (1_000, 10_000), (10_000, 100_000))  # sessions, statements
START, SCREEN, MEGABYTES = 25.0, 15.0, 200.0
ASKED = 12  # times that each screen is asked for


def bench_ui(folder: Path) -> bool:
    ok = True
    costs: dict[int, dict[str, float]] = {}
    for sessions, statements in SIZES:
        home = folder / str(sessions)
        home.mkdir()
        make_home(home, sessions, statements)
        env = {**scratch_env(home), "HOLDFAST_HOME": str(home / "home")}
        subprocess.run(
            [PYTHON, "-m", "holdfast", "index"],
            cwd=home / "tidepool",
            env=env,
            check=True,
            capture_output=True,
        )
        start, first, costs[sessions], megabytes = _measured(home / "tidepool", env)
        if sessions == SIZES[-1][0]:
            slowest = max(costs[sessions], key=lambda name: costs[sessions][name])
            each = {name: round(cost, 1) for name, cost in costs[sessions].items()}
            ok &= report(
                "ui_start_to_first_byte", start, "x python -c pass (CPU)", START, first_page=round(first, 1)
            )
            ok &= report(
                "ui_screen",
                costs[sessions][slowest],
                "x python -c pass (CPU)",
                SCREEN,
                slowest=slowest,
                each=each,
            )
            ok &= report("ui_memory", megabytes, "MB", MEGABYTES)
    largest, middle = SIZES[-1][0], SIZES[-2][0]
    growth = {name: cost / max(costs[middle][name], 0.2) for name, cost in costs[largest].items()}
    steepest = max(growth, key=lambda name: growth[name])
    more = {
        f"sessions_{size}": {name: round(cost, 2) for name, cost in found.items()}
        for size, found in costs.items()
    }
    return (
        report(
            "ui_growth",
            growth[steepest],
            "x a screen, 10,000 to 1,000 sessions",
            10.0,
            screen=steepest,
            **more,
        )
        and ok
    )


def _measured(project: Path, env: dict[str, str]) -> tuple[float, float, dict[str, float], float]:
    """The cost of a start and of each screen, and the megabytes that the page then holds."""
    bare = min(_bare(env) for _ in range(3))
    starts, first = [], []
    for _ in range(3):
        serving = Served(project, env)
        serving.sign_in()
        starts.append(_spent(serving) / bare)
        time.sleep(1)  # a browser starts; meanwhile the templates are compiled
        before = _spent(serving)
        serving.get(f"/{serving.slug}/")
        first.append((_spent(serving) - before) / bare)
        if len(starts) < 3:
            serving.stop()
    costs = {}
    for name, path in _addresses(serving).items():
        serving.get(path)
        before = _spent(serving)
        for _ in range(ASKED):
            serving.get(path)
        costs[name] = (_spent(serving) - before) / ASKED / _bare(env)
    status = Path(f"/proc/{serving.process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+)", status)
    serving.stop()
    return min(starts), min(first), costs, int(found[1]) / 1024 if found else 0.0


def _addresses(serving: Served) -> dict[str, str]:
    """Every page that is shown without more than a session, by the name of its route."""
    found = {
        "session": serving.first_session(),
        "find": f"/{serving.slug}/search?q=retry+of+the+export+client",
    }
    for screen in loaded():
        for route in screen.routes:
            path, name = f"/{serving.slug}{route.path}", screen.name_of(route)
            if route.method == "GET" and "{" not in path and name not in found and _is_page(serving, path):
                found[name] = path
    return found


def _is_page(serving: Served, path: str) -> bool:
    """Whether it is one that stays: the page that shows a count in progress leads on when that is done."""
    time.sleep(0.5)
    replies = [serving.ask("GET", path) for _ in range(2)]
    return all(reply.status == 200 and reply.text.startswith("<!doctype") for reply in replies)


def _bare(env: dict[str, str]) -> float:
    """Seconds of CPU of an interpreter that does nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(5):
        subprocess.run([PYTHON, "-c", "pass"], env=env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 5


def _spent(serving: Served) -> float:
    """Seconds of CPU of the page's process, with its threads that have ended."""
    return time.clock_gettime((~serving.process.pid << 3) | 2)  # Linux: the clock of another process
