from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.postgres.server import Server, running_server, set_up
from tests.sync.conftest import machines  # noqa: F401


@pytest.fixture(scope="module")
def bare_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("postgres") / "data") as server:
        yield server


@pytest.fixture(scope="module")
def server(bare_server: Server) -> Server:
    """With our schema; `shop` has ana (owner), ben (member) and cleo (reader), `vault` has dan alone."""
    set_up(bare_server)
    bare_server.sql("SELECT holdfast.add_project('shop', 'ana'), holdfast.add_project('vault', 'dan')")
    bare_server.sql("SELECT holdfast.set_member('shop', 'ben', 'member')", login="ana")
    bare_server.sql("SELECT holdfast.set_member('shop', 'cleo', 'reader')", login="ana")
    return bare_server
