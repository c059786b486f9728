"""Who may talk to the page, over real sockets: one browser of this user, at one address, and nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.patience import wait_until
from tests.web.conftest import QUIET
from tests.web.served import Served

from holdfast.web.access import HEADERS, LARGEST_BODY

pytestmark = [pytest.mark.slow, pytest.mark.promise("U1")]

WRITE = {"Content-Type": "application/x-www-form-urlencoded", "HX-Request": "true"}


def home_page(server: Served) -> str:
    return f"/{server.slug}/"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1",
        "127.0.0.1.nip.io",
        "localhost",
        "[::1]",
        "0.0.0.0",
        "*",
    ],
)
def test_a_name_that_was_rebound_to_this_address_is_refused(demo_server: Served, host: str) -> None:
    """The cookie does not help: what a rebound page sends carries that page's own name."""
    for name in (host, f"{host}:{demo_server.port + 1}"):
        assert demo_server.ask("GET", home_page(demo_server), {"Host": name}).status == 421
    assert demo_server.ask("GET", home_page(demo_server), {"Host": ""}).status in (400, 421)


def test_the_two_usual_names_of_the_loopback_are_answered(demo_server: Served) -> None:
    for name in ("127.0.0.1", "localhost"):
        assert (
            demo_server.ask("GET", home_page(demo_server), {"Host": f"{name}:{demo_server.port}"}).status
            == 200
        )


@pytest.mark.parametrize("cookie", ["", "holdfast={}", "holdfast-{}=", "holdfast-{}=guess", "holdfast-1=x"])
def test_without_the_cookie_there_is_nothing_but_a_page_that_says_what_to_do(
    demo_server: Served, cookie: str
) -> None:
    for path in ("/", home_page(demo_server), f"/{demo_server.slug}/memory", "/events", "/nothing"):
        reply = demo_server.ask("GET", path, {"Cookie": cookie.format(demo_server.port)})
        assert reply.status == 401
        assert "Open the link from your terminal" in reply.text
        assert "tidepool" not in reply.text
    assert demo_server.ask("POST", f"/{demo_server.slug}/undo", {"Cookie": "", **WRITE}, "").status == 401


def test_a_link_works_once_and_a_guess_never(demo_server: Served) -> None:
    path = demo_server.link.removeprefix(demo_server.address)
    again = demo_server.ask("GET", path, {"Cookie": ""})
    assert again.status == 401
    assert "has been used" in again.text
    assert "set-cookie" not in again.headers
    for wrong in (
        "/open",
        "/open?token=",
        "/open?token=x",
        f"{path}x",
        path.upper(),
        f"/open/?{path}",
        f"/./{path}",
    ):
        reply = demo_server.ask("GET", wrong, {"Cookie": ""})
        assert reply.status == 401, wrong
        assert "set-cookie" not in reply.headers
    assert demo_server.ask("POST", path, {"Cookie": "", **WRITE}, "").status in (401, 405)


def test_the_cookie_is_for_this_page_alone(tmp_path: Path, demo: Path) -> None:
    serving = Served(demo / "tidepool", {"HOLDFAST_HOME": str(demo / "home"), "HOME": str(demo), **QUIET})
    reply = serving.ask("GET", serving.link.removeprefix(serving.address))
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"holdfast-{serving.port}=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Domain" not in cookie
    assert "Max-Age" not in cookie  # it goes with the browser
    serving.stop()


FOREIGN: list[Mapping[str, str]] = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:{port}.evil.example"},
    {"X-Holdfast": ""},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},  # another port of this machine
]


@pytest.mark.parametrize("changed", FOREIGN, ids=str)
def test_a_write_that_another_page_sends_is_refused(demo_server: Served, changed: Mapping[str, str]) -> None:
    before = demo_server.get(f"/{demo_server.slug}/memory")
    ours = {"Origin": demo_server.address, "X-Holdfast": "1", "Sec-Fetch-Site": "same-origin", **WRITE}
    path = f"/{demo_server.slug}/undo"
    foreign = {name: value.replace("{port}", str(demo_server.port)) for name, value in changed.items()}
    assert demo_server.ask("POST", path, {**ours, **foreign}, "change=x").status == 403
    assert (
        demo_server.ask("POST", path, ours, "change=x").status == 200
    )  # ours: it answers why it does nothing
    assert demo_server.get(f"/{demo_server.slug}/memory") == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_elsewhere_cannot_load_ours_even_with_the_cookie(demo_server: Served, site: str) -> None:
    for path in (home_page(demo_server), "/events", "/static/page.js"):
        assert demo_server.ask("GET", path, {"Sec-Fetch-Site": site}).status == 403


def test_every_answer_forbids_framing_sniffing_keeping_and_foreign_content(demo_server: Served) -> None:
    paths = [
        "/",
        home_page(demo_server),
        "/static/page.css",
        "/nothing",
        f"/{demo_server.slug}/session/none",
        "/open",
    ]
    replies = [demo_server.ask("GET", path) for path in paths]
    replies.append(demo_server.ask("GET", "/", {"Host": "evil.example"}))
    replies.append(demo_server.ask("GET", "/", {"Cookie": ""}))
    for reply in replies:
        assert {name: reply.headers.get(name) for name in HEADERS} == dict(HEADERS)
        assert "access-control-allow-origin" not in reply.headers
        assert "server" not in reply.headers
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


def test_a_browser_refuses_to_show_the_page_in_a_frame(chromium: Any, demo_server: Served) -> None:
    context = chromium.new_context()
    name, _, value = demo_server.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": demo_server.address, "sameSite": "Strict"}])
    page = context.new_page()
    page.set_content(f'<iframe src="{demo_server.address}{home_page(demo_server)}"></iframe>')
    page.wait_for_timeout(500)
    assert all("holdfast" not in frame.content() for frame in page.frames[1:])
    context.close()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../access.py",
        "/static/%2e%2e/access.py",
        "/static/..%2faccess.py",
        "/static/..\\access.py",
        "/static//etc/passwd",
        "/static/%00page.css",
        "/static/vendor/../../../pyproject.toml",
        "/static/vendor/package.json",
        "/static/",
        "//evil.example/",
        "/tidepool/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/tidepool/session/..%2f..%2f..%2fetc%2fpasswd",
        "/tidepool/session/%00",
        "/tidepool/session/%ff%fe",
        "/other/",
        "/all/",
    ],
)
def test_no_path_leads_out_of_the_page(demo_server: Served, path: str) -> None:
    reply = demo_server.ask("GET", path)
    assert reply.status in (400, 404)
    assert "root:" not in reply.text
    assert "import " not in reply.text
    assert "location" not in reply.headers


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "GETX", "get"])
def test_other_methods_do_nothing(demo_server: Served, method: str) -> None:
    ours = {"Origin": demo_server.address, "X-Holdfast": "1", **WRITE}
    assert demo_server.ask(method, f"/{demo_server.slug}/undo", ours).status in (400, 404, 405)


def test_a_write_is_not_done_by_get_and_a_page_is_not_read_by_post(demo_server: Served) -> None:
    assert demo_server.ask("GET", f"/{demo_server.slug}/undo?change=x").status == 404
    assert demo_server.post(f"/{demo_server.slug}/memory", {}).status == 404
    override = {"X-HTTP-Method-Override": "POST", "Origin": demo_server.address, "X-Holdfast": "1"}
    assert demo_server.ask("GET", f"/{demo_server.slug}/undo", override).status == 404
    assert demo_server.ask("HEAD", home_page(demo_server)).text == ""


def test_large_and_odd_bodies_are_refused_before_they_are_read(demo_server: Served) -> None:
    ours = {"Origin": demo_server.address, "X-Holdfast": "1", **WRITE}
    path = f"/{demo_server.slug}/undo"
    assert demo_server.ask("POST", path, {**ours, "Content-Length": str(10**12)}).status == 413
    chunked = {**ours, "Transfer-Encoding": "chunked", "Content-Length": ""}
    piece = b"a" * 65_536
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for _ in range(LARGEST_BODY // len(piece) + 2))
    assert demo_server.ask("POST", path, chunked, body + b"0\r\n\r\n").status == 413
    many = "&".join(f"f{number}=1" for number in range(5_000))
    assert demo_server.ask("POST", path, ours, many).status in (200, 400)
    for kind, body in (
        ("application/json", b"{}"),
        ("multipart/form-data; boundary=x", b"--x--"),
        ("", b"\xff\xfe"),
    ):
        assert demo_server.ask("POST", path, {**ours, "Content-Type": kind}, body).status in (200, 400)
    assert demo_server.ask("GET", "/" + "a" * 20_000).status in (400, 414)
    with contextlib.suppress(ConnectionError):  # it need not be read to its end
        assert demo_server.ask("GET", home_page(demo_server), {"X-Long": "a" * 200_000}).status in (400, 431)
    assert demo_server.get(home_page(demo_server))


def test_half_requests_do_not_hold_the_page_up(demo_server: Served) -> None:
    waiting = [socket.create_connection(("127.0.0.1", demo_server.port)) for _ in range(40)]
    for connection in waiting:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127")
    assert demo_server.get(home_page(demo_server))
    for connection in waiting:
        connection.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_only_the_loopback_is_listened_to(demo_server: Served) -> None:
    listening = {
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{demo_server.port:04X}")
    }
    assert listening == {f"0100007F:{demo_server.port:04X}"}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_second_user_of_the_machine_sees_no_token(tmp_path: Path, demo: Path) -> None:
    """Arguments of processes are public: the browser is opened with a private file that leads on, which then goes."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nprintf "%s" "$1" > {seen}.part\nmv {seen}.part {seen}\n', encoding="utf-8"
    )
    browser.chmod(0o755)
    env = {
        **os.environ,
        "HOLDFAST_HOME": str(demo / "home"),
        "HOME": str(demo),
        "BROWSER": str(browser),
        **QUIET,
    }
    terminal, own_side = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "ui"],
        cwd=demo / "tidepool",
        env=env,
        stdin=own_side,
        stdout=own_side,
        stderr=own_side,
        start_new_session=True,
    )
    assert wait_until(seen.exists, 60)
    shown = seen.read_text(encoding="utf-8")
    assert shown.startswith("file://")
    leads = Path(shown.removeprefix("file://"))
    assert stat.S_IMODE(leads.stat().st_mode) == 0o600
    link = re.search(r"url=(http://127\.0\.0\.1:\d+/open\?token=[\w-]+)", leads.read_text(encoding="utf-8"))
    assert link is not None
    arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
    environment = Path(f"/proc/{process.pid}/environ").read_bytes().decode()
    printed = os.read(terminal, 100_000).decode()
    for token in re.findall(r"token=([\w-]+)", printed + link[1]):
        assert token not in arguments + environment + shown
    port = int(re.findall(r":(\d+)/open", link[1])[0])
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", link[1].partition(str(port))[2])
    assert connection.getresponse().status == 200
    connection.close()
    assert wait_until(lambda: not leads.exists(), 30)
    process.terminate()
    assert process.wait(20) == 0
    os.close(own_side)
    os.close(terminal)
    assert list((demo / "home").glob("ui-*")) == []


def test_nothing_is_written_and_the_token_is_in_no_file(tmp_path: Path, demo: Path) -> None:
    def state() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes()
            for path in demo.rglob("*")
            if path.is_file() and not path.is_symlink()
        }

    before = state()
    serving = Served(demo / "tidepool", {"HOLDFAST_HOME": str(demo / "home"), "HOME": str(demo), **QUIET})
    serving.sign_in()
    for path in ("/", "/memory", "/sessions", "/cost", "/search?q=retry"):
        serving.get(f"/{serving.slug}{path}")
    token, cookie = serving.link.partition("token=")[2], serving.cookie.partition("=")[2]
    said = serving.stop()
    after = state()
    assert not any(secret.encode() in data for data in after.values() for secret in (token, cookie))
    assert token not in said
    # Searching brings the derived index up to date; nothing else may differ.
    derived = ("/index", "told.db", "-shm", "-wal", "hot.db", "patterns")
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert {path for path in changed if not any(name in path for name in derived)} == set()


# --- how it ends ---------------------------------------------------------------------------------------


def in_terminal(demo: Path, *options: str) -> tuple[subprocess.Popen[bytes], int]:
    terminal, own_side = os.openpty()
    env = {**os.environ, "HOLDFAST_HOME": str(demo / "home"), "HOME": str(demo), **QUIET}
    process = subprocess.Popen(
        [sys.executable, "-c", _WITH_TERMINAL, *options],
        cwd=demo / "tidepool",
        env=env,
        stdin=own_side,
        stdout=own_side,
        stderr=own_side,
        start_new_session=True,
    )
    os.close(own_side)
    return process, terminal


# The terminal of the process is the one that it writes to, as in a shell.
_WITH_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from holdfast.cli.main import main
raise SystemExit(main(["ui", "--no-open", *sys.argv[1:]]))
"""


def read_until(terminal: int, wanted: str) -> str:
    text, end = "", time.monotonic() + 60
    while wanted not in text and time.monotonic() < end:
        try:
            text += os.read(terminal, 10_000).decode()
        except OSError:
            break
    return text


@pytest.mark.skipif(sys.platform != "linux", reason="needs a terminal of its own")
def test_ctrl_c_ends_it_and_frees_the_port(demo: Path) -> None:
    process, terminal = in_terminal(demo)
    port = int(re.findall(r":(\d+)/open", read_until(terminal, "Ctrl+C"))[0])
    os.write(terminal, b"\x03")
    assert "Ended: Ctrl+C." in read_until(terminal, "Ended")
    assert process.wait(20) == 0
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), 2):
        pass
    os.close(terminal)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a terminal of its own")
def test_enter_gives_another_link(demo: Path) -> None:
    process, terminal = in_terminal(demo)
    first = read_until(terminal, "Ctrl+C")
    os.write(terminal, b"\n")
    time.sleep(0.3)
    second = read_until(terminal, "token=")
    assert re.findall(r"token=([\w-]+)", first)[0] not in second
    assert re.findall(r"token=([\w-]+)", second)
    os.write(terminal, b"\x03")
    assert process.wait(20) == 0
    os.close(terminal)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a terminal of its own")
@pytest.mark.parametrize("ignores_hangup", [False, True])
def test_it_ends_when_its_terminal_goes(demo: Path, ignores_hangup: bool) -> None:
    program = _WITH_TERMINAL
    if ignores_hangup:  # as `nohup` does
        program = program.replace(
            "from holdfast", "import signal; signal.signal(1, signal.SIG_IGN)\nfrom holdfast", 1
        )
    process, terminal = in_terminal(demo)
    read_until(terminal, "Ctrl+C")
    os.close(terminal)
    assert process.wait(20) == 0


def test_without_a_terminal_it_ends_with_the_process_that_started_it(demo: Path) -> None:
    env = {**os.environ, "HOLDFAST_HOME": str(demo / "home"), "HOME": str(demo), **QUIET}
    program = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m', 'holdfast', 'ui', '--print-url'],"
        "stdin=subprocess.DEVNULL, stdout=subprocess.PIPE); print(p.pid, p.stdout.readline().decode(), flush=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=demo / "tidepool",
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    process, link = done.stdout.split()
    port = int(re.findall(r":(\d+)/", link)[0])

    def is_gone() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return True
        return False

    assert wait_until(is_gone, 30), process


def test_it_ends_after_a_while_without_use(demo: Path) -> None:
    """The time is half an hour; here it is given to the function."""
    program = (
        "import sys\nfrom holdfast.store.machine import Machine\nfrom holdfast.web.projects import open_projects\n"
        "from holdfast.web.serve import Life, serve\nmachine = Machine()\n"
        "offer = lambda url: print(url, flush=True)\n"
        "print(serve(machine, open_projects(machine, [], everywhere=False), port=0, everywhere=False,"
        " life=Life(idle_s=2.0, terminal=None, offer=offer, open_browser=False)), flush=True)"
    )
    env = {**os.environ, "HOLDFAST_HOME": str(demo / "home"), "HOME": str(demo), **QUIET}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=demo / "tidepool",
        env=env,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    port = int(re.findall(r":(\d+)/", process.stdout.readline())[0])
    for _ in range(4):  # a refused request is no use of the page
        time.sleep(0.4)
        socket.create_connection(("127.0.0.1", port), 2).close()
    assert "half an hour" in process.communicate(timeout=30)[0]
    assert process.returncode == 0


def test_what_stops_it_is_said_in_one_line(demo: Path, tmp_path: Path) -> None:
    env = {**os.environ, "HOLDFAST_HOME": str(demo / "home"), "HOME": str(demo), **QUIET}

    def refused(*words: str, cwd: Path = demo / "tidepool") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "ui", *words],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        return done.stderr

    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refused("--print-url", "--port", str(taken.getsockname()[1]))
        assert "cannot be used" in said
        assert "Choose another one" in said
    assert "cannot be used" in refused("--print-url", "--port", "70000")
    assert "no project here" in refused("--print-url", cwd=tmp_path)
    assert "needs a terminal" in refused()
    assert "no such directory" in refused("--print-url", "--project", "nowhere")
