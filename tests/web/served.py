"""A running `holdfast ui` for tests: the real process, the link it prints, and requests as a browser sends them."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.patience import wait_until


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


class Served:
    """`holdfast ui --print-url` in a project. `cookie` is what the browser got for the link."""

    def __init__(self, project: Path, env: Mapping[str, str] | None = None, *options: str) -> None:
        self.project = project
        self.env = {**os.environ, **(env or {})}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "ui", "--print-url", *options],
            cwd=project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip()
        assert self.link, self.process.communicate()[1]
        parts = urlsplit(self.link)
        self.port = parts.port or 0
        self.address = f"http://127.0.0.1:{self.port}"
        self.cookie = ""

    def sign_in(self) -> None:
        """Exchanges the link for the cookie, as the browser does when it opens it."""
        reply = self.ask("GET", self.link.removeprefix(self.address))
        assert reply.status == 200, reply
        self.cookie = reply.headers["set-cookie"].partition(";")[0]

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: str | bytes | None = None,
    ) -> Reply:
        """A request with the cookie; a header that is given as '' is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"Cookie": self.cookie, **(headers or {})}
        connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
        data = body.encode() if isinstance(body, str) else body
        if data is not None and "Content-Length" not in sent:
            sent["Content-Length"] = str(len(data))
        for name, value in sent.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(data)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        connection.close()
        return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, text)

    def get(self, path: str) -> str:
        """The text of a page that must be there."""
        reply = self.ask("GET", path)
        assert reply.status == 200, (path, reply)
        return reply.text

    def post(self, path: str, fields: Mapping[str, str]) -> Reply:
        """A write as our page sends it."""
        headers = {
            "Origin": self.address,
            "X-Holdfast": "1",
            "HX-Request": "true",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.ask("POST", path, headers, urlencode(fields))

    def first_session(self) -> str:
        """The address of a session, from the list."""
        found = re.search(r'href="(/[^"]+/session/[^"]+)"', self.get(f"/{self.slug}/sessions"))
        assert found is not None
        return found[1]

    @property
    def slug(self) -> str:
        return self.ask("GET", "/").headers["location"].strip("/")

    def stop(self) -> str:
        """Ends it; what it wrote to its standard error."""
        self.process.terminate()
        said = self.process.communicate(timeout=20)[1]
        assert self.process.returncode == 0, said
        return said

    def ended(self) -> bool:
        return wait_until(lambda: self.process.poll() is not None)
