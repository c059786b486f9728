"""Makes the import of msgspec faster. Import this first, where start-up time counts.

If `typing_extensions` is installed, msgspec imports three names from it that `typing` has since Python 3.11. That also
loads `inspect`, `ast` and `tokenize`: a tenth of the modules of a session end.
"""

from __future__ import annotations

import sys

if "msgspec" not in sys.modules and "typing_extensions" not in sys.modules:
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # makes the import fail
    try:
        import msgspec  # noqa: F401
    except ImportError:
        pass  # the module that needs it raises the error
    finally:
        del sys.modules["typing_extensions"]
