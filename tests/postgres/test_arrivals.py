"""What others publish on the server is heard at once: by `sync --watch`, by an open page, and by the next preparation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import wait_until
from tests.postgres.server import Server, running_server, set_up
from tests.postgres.test_team_search import Team
from tests.sync.machines import Machines
from tests.sync.transports import some_packs

from holdfast.postgres.connection import ServerError
from holdfast.sync.arrivals import Arrivals
from holdfast.sync.postgres import Listener, Postgres

pytestmark = pytest.mark.promise("T1")

FIVE = "The export client makes at most five attempts"
LONG_S = 90


@pytest.fixture
def team(machines: Machines, tmp_path: Path) -> Iterator[Team]:
    with running_server(tmp_path / "data") as server:
        set_up(server)
        yield Team(machines, server)


def listening(server: Server, login: str) -> bool:
    query = "SELECT 1 FROM pg_stat_activity WHERE usename = %s AND query LIKE 'LISTEN%%'"
    return bool(server.sql(query, login))


@pytest.mark.slow
def test_watch_hears_what_others_publish_and_does_not_ask_all_the_time(team: Team) -> None:
    ana, ben = team.ana, team.ben
    command = [sys.executable, "-m", "holdfast", "sync", team.address(ben), "--watch", "--every", "600"]
    watching = subprocess.Popen(command, cwd=ben.repo, env=ben.machine.env, stdout=subprocess.PIPE)
    try:
        assert wait_until(lambda: listening(team.server, "ben"), LONG_S)
        ana("team", "share", ana.decide(FIVE))
        ana.sync(team.address(ana))
        assert wait_until(lambda: FIVE in ben("team", "items").stdout, LONG_S)
    finally:
        watching.kill()
        watching.communicate()


@pytest.mark.promise("T7")
def test_an_open_page_fetches_what_others_confirmed_and_sends_nothing(team: Team) -> None:
    ana, ben = team.ana, team.ben
    ana("team", "share", ana.decide("Exports run at night"))
    team.settle()
    ben("team", "trust", "Ana", "--yes")
    ben("team", "share", ben.decide("Invoices are kept in the blue mailbox"))
    sent = team.server.sql("SELECT author, name FROM holdfast.pack ORDER BY 1, 2")
    arrivals = Arrivals(ben.machine)
    arrivals.keep([ben.project])
    try:
        assert wait_until(lambda: listening(team.server, "ben"), LONG_S)
        assert team.server.sql("SELECT author, name FROM holdfast.pack ORDER BY 1, 2") == sent
        ana("team", "share", ana.decide(FIVE))
        ana.sync(team.address(ana))
        assert wait_until(
            lambda: FIVE in ben("recall", "attempts of the export client", check=None).stdout, LONG_S
        )
        assert "blue mailbox" not in ana("team", "items").stdout
    finally:
        arrivals.keep([])
    assert wait_until(lambda: not listening(team.server, "ben"), LONG_S)
    assert ben.sync(team.address(ben))["sent"], "what waited here is still to be sent"


@pytest.mark.promise("T2")
def test_who_is_let_out_hears_nothing_more_and_who_is_no_member_finds_no_channel(server: Server) -> None:
    publisher = Postgres(server.address("ana"), "shop")
    with Listener(server.address("ben"), "shop") as ben, Listener(server.address("cleo"), "shop") as cleo:
        assert not ben.heard(0.01)
        publisher.publish("aaaaaaaaaaaaaaaa/m1", some_packs("one"))
        assert ben.heard(LONG_S) and cleo.heard(LONG_S)
        ((before,),) = server.sql("SELECT channel FROM holdfast.project WHERE id = 'shop'")
        server.sql("SELECT holdfast.set_member('shop', 'ben', NULL)", login="ana")
        with pytest.raises(ServerError, match="not a member"):
            ben.heard(LONG_S)
        assert server.sql("SELECT channel FROM holdfast.project WHERE id = 'shop'") != [(before,)]
        assert cleo.heard(LONG_S), "the others are told that there is another channel"
        publisher.publish("aaaaaaaaaaaaaaaa/m1", some_packs("two"))
        assert cleo.heard(LONG_S)
    with pytest.raises(ServerError, match="not a member"), Listener(server.address("dan"), "shop"):
        pass
