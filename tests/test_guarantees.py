"""docs/guarantees.md says what is so: what it names exists, what it promises is shown, and nothing else reaches out."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from tests.test_promises import promised_in

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
PROMISES = tomllib.loads((ROOT / "docs" / "promises.toml").read_text(encoding="utf-8"))
ROWS = re.findall(r"^\| ([A-Z]\d+) \| .*$", PAGE, re.MULTILINE)
# The one module that opens a connection, to a model that a person configured.
MAY_CONNECT = {"extraction/model_calls.py"}
# The page of `holdfast ui`: serve.py listens on the loopback, the others answer what it hands them.
MAY_SERVE = {"web/serve.py", "web/app.py", "web/live.py", "web/routes.py"}
CONNECTS = {
    "socket",
    "ssl",
    "http",
    "urllib.request",
    "ftplib",
    "smtplib",
    "imaplib",
    "poplib",
    "telnetlib",
    "xmlrpc",
}
CONNECTS |= {
    "socketserver",
    "asyncio",
    "httpx",
    "httpx2",
    "requests",
    "aiohttp",
    "urllib3",
    "websockets",
    "uvicorn",
    "starlette",
}


def rows() -> dict[str, list[str]]:
    """The tests that each guarantee of the first table names."""
    lines = re.findall(r"^\| ([A-Z]\d+) \| (.*)$", PAGE, re.MULTILINE)
    return {id: re.findall(r"\]\(\.\./(tests/[^)#]+)\)", line) for id, line in lines}


def test_the_page_has_guarantees() -> None:
    assert len(rows()) > 10


@pytest.mark.parametrize("id", ROWS)
def test_a_guarantee_is_a_promise_that_is_kept_and_its_tests_show_it(id: str) -> None:
    assert PROMISES[id]["state"] == "done"
    named = rows()[id]
    assert named or "](#" in PAGE, id
    shown = {
        promise
        for name in named
        for promise, _ in promised_in((ROOT / name).read_text(encoding="utf-8"), name)
    }
    assert id in shown, f"none of {named} carries @pytest.mark.promise({id!r})"


def test_every_promise_that_the_page_mentions_exists() -> None:
    assert [id for id in re.findall(r"\b[A-Z]\d{1,2}\b", PAGE) if id not in PROMISES] == []


def test_every_command_of_make_that_the_page_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in re.findall(r"`make ([a-z0-9]+)", PAGE):
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"make {name}"


def test_every_anchor_of_the_page_leads_somewhere() -> None:
    for page, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", PAGE):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8") if page else PAGE
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert anchor in [
            re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
        ], anchor


@pytest.mark.parametrize("page", ["README.md", "SECURITY.md", "docs/privacy.md"])
def test_the_page_is_found(page: str) -> None:
    assert "guarantees.md" in (ROOT / page).read_text(encoding="utf-8")


def test_one_module_alone_can_open_a_connection_and_the_page_alone_listens() -> None:
    source = ROOT / "src" / "holdfast"
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for name in _imported(ast.parse(path.read_text(encoding="utf-8")))
        if name in CONNECTS or name.partition(".")[0] in CONNECTS
    }
    assert found == MAY_CONNECT | MAY_SERVE


def _imported(tree: ast.AST) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names
