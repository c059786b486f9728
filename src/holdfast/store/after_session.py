"""Whether a person wants a sync after each session: for the process that captured it, which may not import sync."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import HoldfastError

SYNC_SETTINGS = "sync.json"


class _Wanted(Struct):
    after_session: bool = False


def syncs_after_session(memory: Path) -> bool:
    """False also if the settings cannot be read: `holdfast sync` says why."""
    try:
        data = files.read(memory / SYNC_SETTINGS)
        return data is not None and msgspec.json.decode(data, type=_Wanted).after_session
    except (HoldfastError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
