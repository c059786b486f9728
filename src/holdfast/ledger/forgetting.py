"""Forgets sessions in a ledger: their rows become one tombstone, and texts are removed from the goal."""

from __future__ import annotations

from holdfast.core import markdown_table
from holdfast.ledger.cells import render_cost
from holdfast.ledger.tables import Header, regions
from holdfast.model.ledger import Outcome
from holdfast.store.removal import Removal


def forget_in_ledger(data: bytes, removal: Removal, name: str = "ledger.md") -> bytes:
    """Rows of forgotten sessions become one tombstone, where the table has a column that can say so."""
    lines = data.split(b"\n")
    written: list[bytes | None] = list(lines)
    buried: set[str] = set()
    for start, stop, header in regions([line + b"\n" for line in lines], name):
        if header is not None and header.names_sessions:
            for number in range(start, min(stop, len(lines))):
                written[number] = _row(lines[number], header, removal, buried)
    return b"\n".join(line for line in written if line is not None)


def _row(raw: bytes, header: Header, removal: Removal, buried: set[str]) -> bytes | None:
    line = raw.decode("utf-8", "surrogateescape").rstrip("\r")
    if not markdown_table.is_row(line) or markdown_table.is_separator(line):
        return raw
    cells, _ = markdown_table.split_row(line, foreign=header.foreign)
    names = [column.lower() for column in header.columns]
    decode = markdown_table.decode_foreign_cell if header.foreign else markdown_table.decode_cell
    place = names.index("session")
    session = decode(cells[place]) if place < len(cells) else ""
    if session in removal.sessions:
        return _tombstone(raw, session, header, removal, buried)
    if removal.phrases and "goal" in names and names.index("goal") < len(cells):
        goal = names.index("goal")
        words = markdown_table.decode_list(cells[goal], " ", decode)
        left = removal.keywords(words)
        if left != words:
            cells[goal] = markdown_table.encode_list(left)
            return markdown_table.render_row(cells).encode("utf-8", "surrogateescape")
    return raw


def _tombstone(raw: bytes, session: str, header: Header, removal: Removal, buried: set[str]) -> bytes | None:
    """The tombstone of a session; None for its further rows."""
    is_buried = session in buried
    names = [column.lower() for column in header.columns]
    row = None
    if not header.foreign and "outcome" in names:
        buried.add(session)
        # As a row of such a session is written elsewhere: machines that sync have the same bytes.
        cells = {
            "session": markdown_table.encode_cell(session),
            "outcome": str(Outcome.FORGOTTEN),
            "cost": render_cost(None),
        }
        row = markdown_table.render_row(cells.pop(name, "") for name in names).encode()
    if row == raw and not is_buried:
        return raw
    removal.hits += 1
    return None if is_buried else row
