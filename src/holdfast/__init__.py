"""holdfast: memory that every coding agent shares."""

__version__ = "1.0.0"

TYPE_CHECKING = False  # hooks load this file: the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from holdfast.api import Brief, Briefing, Hit, HoldfastError, ImportReport, LedgerEntry, Memory, open

__all__ = [
    "Brief",
    "Briefing",
    "Hit",
    "HoldfastError",
    "ImportReport",
    "LedgerEntry",
    "Memory",
    "__version__",
    "open",
]


def __getattr__(name: str) -> object:
    """The public names are loaded when they are first used: hooks and most commands do without."""
    if name not in __all__:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from holdfast import api

    return getattr(api, name)
