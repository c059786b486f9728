"""Import this before anything that imports msgspec, where start-up counts.

msgspec takes three names from `typing_extensions`, if that is installed, that `typing` has since Python 3.11. It brings
`inspect`, `ast` and `tokenize`: a tenth of the modules of a session end.
"""

from __future__ import annotations

import sys

if "msgspec" not in sys.modules and "typing_extensions" not in sys.modules:
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # Python's way to say: cannot be imported
    try:
        import msgspec  # noqa: F401
    except ImportError:
        pass  # whoever needs it says so
    finally:
        del sys.modules["typing_extensions"]
