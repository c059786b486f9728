"""Runs the page for as long as a person uses it: a port on loopback, a link that works once, and an end.

It ends with Ctrl+C, when its terminal goes (or, without one, the process that started it), and after half an hour in
which nothing asked for anything. Nothing stays: no process, no port, no file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
import time
import webbrowser
from collections.abc import Callable, Generator, Iterator, Sequence
from html import escape
from pathlib import Path
from threading import Thread

import uvicorn
from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import HoldfastError, StoreError
from holdfast.store.machine import Machine
from holdfast.web.access import OPEN, Gate
from holdfast.web.app import App
from holdfast.web.contract import Opened
from holdfast.web.heap import one_heap

IDLE_S = 30 * 60.0
GONE = "its terminal is gone"
LOOK_S = 0.5  # how often it looks whether its terminal is still there
HOST = "127.0.0.1"
_LINK = "ui-"
_MOST_CONNECTIONS = 100


class Life(Struct, frozen=True, kw_only=True):
    """What keeps the page running, and how it speaks to the person."""

    idle_s: float = IDLE_S
    terminal: int | None  # a descriptor of the terminal; None without one: then its parent process counts
    offer: Callable[[str], None]  # shows a link
    open_browser: bool = True


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are ours: uvicorn would raise them again at the end, and Ctrl+C is no error here."""
        yield


def serve(machine: Machine, projects: Sequence[Opened], *, port: int, everywhere: bool, life: Life) -> str:
    """Serves the page until it ends; returns why it did."""
    with _listening(port) as listener:
        number = int(listener.getsockname()[1])
        gate = Gate(number)
        page = _Running(machine, gate, f"http://{HOST}:{number}", life)
        one_heap()
        app = App(machine, projects, gate, everywhere=everywhere, active=page.touch)
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        server = _Server(config)
        asyncio.run(page.run(server, listener, app))
    return page.why


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        if os.name != "nt":  # there it would let a second process take the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "it is not a valid port"
            raise StoreError(
                f"port {port} cannot be used: {reason}",
                fix="Choose another one, or omit --port to use a free one",
            ) from error
        yield listener


class _Running:
    """One run: what it watches, and why it ended."""

    def __init__(self, machine: Machine, gate: Gate, address: str, life: Life) -> None:
        self.why = ""
        self._machine, self._gate, self._address, self._life = machine, gate, address, life
        self._last = time.monotonic()
        self._parent = os.getppid()
        self._link_file: Path | None = None
        self._close: Callable[[], None] = lambda: None

    def touch(self) -> None:
        self._last = time.monotonic()
        if self._link_file is not None:  # the browser has read it
            files.discard([self._link_file])
            self._link_file = None

    async def run(self, server: uvicorn.Server, listener: socket.socket, app: App) -> None:
        self._close = app.live.close
        loop = asyncio.get_running_loop()
        with _signals(loop, lambda why: self._end(server, why)):
            self._read_terminal(loop, server)
            watch = loop.create_task(self._watch(server))
            serving = loop.create_task(server.serve(sockets=[listener]))
            while not server.started and not serving.done():
                await asyncio.sleep(0.005)
            self._offer(open_browser=self._life.open_browser)
            Thread(target=app.warm, daemon=True).start()
            try:
                await serving
            finally:
                watch.cancel()
                if self._link_file is not None:
                    files.discard([self._link_file])

    def _end(self, server: uvicorn.Server, why: str) -> None:
        self.why = self.why or why
        server.should_exit = True
        self._close()

    async def _watch(self, server: uvicorn.Server) -> None:
        while not server.should_exit:
            await asyncio.sleep(min(LOOK_S, self._life.idle_s / 4))
            if time.monotonic() - self._last > self._life.idle_s:
                self._end(server, "it was not used for half an hour")
            elif self._is_alone():
                self._end(server, GONE)

    def _is_alone(self) -> bool:
        if self._life.terminal is None:
            return os.getppid() != self._parent
        if os.name == "nt":
            return False
        try:
            os.tcgetpgrp(self._life.terminal)
        except OSError:
            return True
        return False

    # --- links -----------------------------------------------------------------------------------------

    def _offer(self, *, open_browser: bool) -> None:
        self._life.offer(f"{self._address}{OPEN}?token={self._gate.new_token()}")
        if open_browser and _has_screen(self._machine):
            Thread(target=self._open, daemon=True).start()

    def _open(self) -> None:
        """Opens the browser with a private file that leads on: other users see the arguments of a process."""
        url = f"{self._address}{OPEN}?token={self._gate.new_token()}"
        path = self._machine.home / f"{_LINK}{secrets.token_hex(8)}.html"
        text = (
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(url)}">'
        )
        with contextlib.suppress(OSError, HoldfastError):
            files.discard(self._machine.home.glob(f"{_LINK}*.html"))  # of a run that was killed
            with files.open_new(path, 0o600) as file:
                file.write(text.encode())
            self._link_file = path
            webbrowser.open(path.as_uri())

    def _read_terminal(self, loop: asyncio.AbstractEventLoop, server: uvicorn.Server) -> None:
        """Enter asks for another link."""
        terminal = self._life.terminal
        if terminal is None or os.name == "nt":
            return

        def read() -> None:
            try:
                if os.tcgetpgrp(terminal) != os.getpgrp():
                    return  # in the background: what is typed is for the shell
                typed = os.read(terminal, 4096)
            except OSError:
                typed = b""
            if typed:
                self._offer(open_browser=False)
            else:
                loop.remove_reader(terminal)
                self._end(server, GONE)

        loop.add_reader(terminal, read)


def _has_screen(machine: Machine) -> bool:
    """Whether there is a desktop; without one a browser would open in the terminal, on top of the link."""
    if os.name == "nt" or sys.platform == "darwin" or machine.env.get("BROWSER"):
        return True
    return bool(machine.env.get("DISPLAY") or machine.env.get("WAYLAND_DISPLAY"))


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, end: Callable[[str], None]) -> Iterator[None]:
    reasons = {"SIGINT": "Ctrl+C", "SIGTERM": "it was told to stop", "SIGHUP": GONE}
    before: dict[int, object] = {}
    for name, why in reasons.items():
        if (number := getattr(signal, name, None)) is None:
            continue
        try:
            loop.add_signal_handler(number, end, why)
        except NotImplementedError:  # Windows
            before[number] = signal.signal(number, lambda *_, why=why: loop.call_soon_threadsafe(end, why))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
