"""PostgreSQL as the transport: packs are rows, and the server decides who sees and writes which.

Nothing here remembers a place in a sequence: a slow transaction commits behind it, and its row would be missed for
ever. What there is is asked as a whole, and the state is made of the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from holdfast.core.errors import UsageError
from holdfast.postgres.address import parse_address
from holdfast.postgres.connection import ServerError, connected, explaining
from holdfast.postgres.migrations import SEARCH, require_schema
from holdfast.sync.transport import LARGEST_PACK, SyncError, name_of

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session

_SCHEMA = 1
_AT_ONCE = 16  # packs of one answer
_STATE = """SELECT count(*), coalesce(bit_xor(hashtextextended(author || '/' || machine || '/' || name, 0)), 0)
FROM holdfast.pack WHERE project = %s"""
_LIST = "SELECT author || '/' || machine, name, octet_length(data) FROM holdfast.pack WHERE project = %s"
_FETCH = """SELECT author || '/' || machine, name, data FROM holdfast.pack
WHERE project = %s AND (author || '/' || machine, name) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"""
_ADD = """INSERT INTO holdfast.pack (project, author, machine, name, data) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT DO NOTHING"""
_DROP = "DELETE FROM holdfast.pack WHERE project = %s AND author = %s AND machine = %s AND name = ANY (%s)"


class Postgres:
    """`project` names the project in the database, which may hold those of others."""

    def __init__(self, address: str, project: str) -> None:
        self._address = parse_address(address)
        self._project = project
        self.shown = self._address.shown

    def state(self) -> str:
        with self._session() as session:
            ((count, mixed),) = session.execute(_STATE, [self._project]).fetchall()
            return f"{count} {mixed}"

    def packs(self) -> dict[tuple[str, str], int]:
        with self._session() as session:
            rows = session.execute(_LIST, [self._project]).fetchall()
            return {(str(place), str(name)): int(str(size)) for place, name, size in rows}

    def fetch(self, wanted: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], bytes]]:
        keys = list(wanted)
        if not keys:
            return
        with self._session() as session:
            for start in range(0, len(keys), _AT_ONCE):
                asked = keys[start : start + _AT_ONCE]
                columns = [place for place, _ in asked], [name for _, name in asked]
                for place, name, data in session.execute(_FETCH, [self._project, *columns], binary=True):
                    if isinstance(data, bytes) and name_of(data) == name:
                        yield (str(place), name), data

    def publish(self, place: str, add: Mapping[str, bytes], drop: Collection[str] = ()) -> None:
        if not add and not drop:
            return
        if any(len(data) > LARGEST_PACK for data in add.values()):
            raise UsageError("a pack is too large", fix="This is a bug in holdfast; please report it")
        author, _, machine = place.partition("/")
        with self._session() as session:
            self._require_mine(session, author)
            # One transaction: each pack is there as a whole, and none goes before all are there.
            with session.transaction():
                with session.cursor() as cursor:
                    rows = [(self._project, author, machine, name, data) for name, data in add.items()]
                    cursor.executemany(_ADD, rows)
                session.execute(_DROP, [self._project, author, machine, list(drop)])

    def _require_mine(self, session: Session, author: str) -> None:
        ((is_mine,),) = session.execute("SELECT holdfast.claim(%s, %s)", [self._project, author]).fetchall()
        if not is_mine:
            raise ServerError(
                "you do not have write access to this project",
                where=self.shown,
                fix="Ask an owner to make you a member: holdfast team server member",
            )

    @contextmanager
    def _session(self) -> Iterator[Session]:
        try:
            with connected(self._address) as session:
                require_schema(session, self.shown, _SCHEMA)
                self._require_member(session)
                yield session
        except ServerError as error:
            raise SyncError(error.problem, where=error.where, fix=error.fix) from error

    def _require_member(self, session: Session) -> None:
        """Nothing to see and nothing there look the same: who is no member is told, and does not sync with nobody."""
        ((is_member,),) = session.execute("SELECT %s = ANY (holdfast.readable())", [self._project]).fetchall()
        if not is_member:
            raise ServerError(
                f"you are not a member of project {self._project}",
                where=self.shown,
                fix="Ask an owner to add you: holdfast team server member",
            )


class Listener:
    """Hears that somebody has published in a project. Use it as a context manager, in one thread."""

    def __init__(self, address: str, project: str) -> None:
        self._address, self._project = parse_address(address), project
        self._stack = ExitStack()
        self._session: Session
        self._channel = ""

    def __enter__(self) -> Listener:
        self._session = self._stack.enter_context(connected(self._address))
        try:
            require_schema(self._session, self._address.shown, SEARCH)
            self._listen()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def heard(self, seconds: float) -> bool:
        """Waits for at most so many seconds. Who was let out since gets a ServerError."""
        with explaining(self._address.shown):
            told = any(True for _ in self._session.notifies(timeout=seconds, stop_after=1))
            if told:
                self._listen()  # whoever is let out knew the old channel
        return told

    def _listen(self) -> None:
        query = "SELECT channel FROM holdfast.project WHERE id = %s"
        rows = self._session.execute(query, [self._project]).fetchall()
        channel = str(rows[0][0]) if rows else ""
        if not channel.isidentifier():
            raise ServerError(
                f"you are not a member of project {self._project}",
                where=self._address.shown,
                fix="Ask an owner to add you: holdfast team server member",
            )
        if channel != self._channel:
            self._session.execute("UNLISTEN *")
            self._session.execute(f"LISTEN {channel}".encode())
            self._channel = channel
