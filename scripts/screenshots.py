"""Takes pictures of the page: of every screen of the demonstration, or of any address of any project.

    .venv/bin/python scripts/screenshots.py --out /tmp/shots                      every screen, 3 widths, 2 themes
    .venv/bin/python scripts/screenshots.py --out /tmp/shots --widths 1280,1900 --themes light /cost "/search?q=retry"
    .venv/bin/python scripts/screenshots.py --out docs/screens --webp             the pictures of docs/ui.md
    .venv/bin/python scripts/screenshots.py --out /tmp/shots --project ~/work/api --holdfast-home ~/.holdfast /

Paths are within the project: /cost is the cost screen. Prints what the browser's console said, if anything. Needs the
Chromium of scripts/install_browser.sh, which it runs.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
WIDTHS = (700, 1280, 1900)
THEMES = ("light", "dark")
HEIGHTS = {700: 1000, 1280: 860, 1900: 1100}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", help="addresses within the project (default: every screen)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--project", type=Path, help="a repository (default: the demonstration)")
    parser.add_argument("--holdfast-home", type=Path, help="its HOLDFAST_HOME")
    parser.add_argument(
        "--widths", default=WIDTHS, type=lambda text: [int(width) for width in text.split(",")]
    )
    parser.add_argument("--themes", default=THEMES, type=lambda text: text.split(","))
    parser.add_argument("--full", action="store_true", help="the whole page, not a screenful")
    parser.add_argument("--webp", action="store_true", help="small pictures, for the docs")
    parser.add_argument("--all", action="store_true", help="run holdfast ui --all")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    browser_file = chromium()
    with tempfile.TemporaryDirectory() as scratch:
        project, home = options.project, options.holdfast_home
        if project is None:
            project, home = demonstration(Path(scratch))
            os.environ["HOME"] = scratch  # paths are shown from ~
        with running(project, home, *(["--all"] if options.all else [])) as link, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
            for theme in options.themes:
                for width in options.widths:
                    pictures = Pictures(options.out, width, theme, full=options.full, webp=options.webp)
                    take(browser, link, options.paths, pictures)
            browser.close()


@dataclass(frozen=True)
class Pictures:
    """Where pictures go, and what of a page they show."""

    out: Path
    width: int
    theme: str
    full: bool
    webp: bool

    def of(self, page: Page, path: str) -> None:
        words = re.sub(r"\W+", "-", path.partition("?")[0]).strip("-") or "now"
        name = "session" if words.startswith("session-") else words
        file = self.out / f"{name}-{self.width}-{self.theme}.{'webp' if self.webp else 'png'}"
        if not self.webp:
            page.screenshot(path=file, full_page=self.full)
            return
        asked = {"format": "webp", "quality": 55}
        taken = page.context.new_cdp_session(page).send("Page.captureScreenshot", asked)
        file.write_bytes(b64decode(taken["data"]))


def take(browser: Browser, link: str, paths: Sequence[str], pictures: Pictures) -> None:
    size = {"width": pictures.width, "height": HEIGHTS.get(pictures.width, 1000)}
    context = browser.new_context(viewport=size, color_scheme=pictures.theme, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.on("console", lambda message: print(f"console: {message.text} at {page.url}"))
    page.on("pageerror", lambda error: print(f"error: {error} at {page.url}"))
    # A link works once, and every theme and width is a new browser profile: the cookie is handed on.
    cookies = getattr(take, "cookies", None)
    if cookies:
        context.add_cookies(cookies)
    page.goto(re.sub(r"/open\?.*", "/", link) if cookies else link)
    page.wait_for_selector("main")
    take.cookies = context.cookies()  # type: ignore[attr-defined]
    base = page.url.rstrip("/")
    for path in paths or screens(page):
        page.goto(base + path)
        pictures.of(page, path)
    context.close()


def screens(page: object) -> list[str]:
    """The tabs, a session, and a search."""
    hrefs = page.eval_on_selector_all("nav.tabs a", "links => links.map(link => link.getAttribute('href'))")  # type: ignore[attr-defined]
    session = page.eval_on_selector_all(
        "[data-open]", "links => links.map(link => link.getAttribute('href'))"
    )  # type: ignore[attr-defined]
    own = [href for href in session if "/session/" in href][:1]
    return [re.sub(r"^/[^/]+", "", href) for href in [*hrefs, *own]] + ["/search?q=retry"]


def demonstration(scratch: Path) -> tuple[Path, Path]:
    command = [sys.executable, "-m", "holdfast", "demo", "--keep", str(scratch)]
    subprocess.run(command, check=True, capture_output=True, cwd=scratch)
    project, home = scratch / "tidepool", scratch / "home"
    env = {**os.environ, "HOME": str(scratch), "HOLDFAST_HOME": str(home), "CI": "", "HOLDFAST": ""}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "holdfast", *words]
        done = subprocess.run(
            command, check=True, capture_output=True, cwd=project, env=env, encoding="utf-8"
        )
        return done.stdout

    run("backtest", str(ROOT / "src" / "holdfast" / "demo_sessions"))  # for Proof
    run("team", "create", "Harbour")
    decisions = re.findall(r"^D-\w+", run("note", "decision", "list"), re.MULTILINE)
    run("team", "share", *decisions)
    (scratch / "shared").mkdir()
    run("sync", str(scratch / "shared"), "--yes")
    return project, home


@contextmanager
def running(project: Path, home: Path | None, *options: str) -> Iterator[str]:
    """The link of a page that runs for this project."""
    env = {**os.environ, **({"HOLDFAST_HOME": str(home)} if home else {})}
    command = [sys.executable, "-m", "holdfast", "ui", "--print-url", *options]
    process = subprocess.Popen(command, cwd=project, env=env, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        if not link:
            raise SystemExit(process.wait())
        yield link
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def chromium() -> str:
    script = ["bash", str(ROOT / "scripts" / "install_browser.sh")]
    folder = subprocess.run(script, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.strip()
    return f"{folder}/chromium/chromium"


if __name__ == "__main__":
    main()
