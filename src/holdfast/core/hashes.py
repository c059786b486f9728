"""Hash functions without OpenSSL: `hashlib` loads it, which takes longer than all hashes of a session end."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b
    except ImportError:  # an interpreter built without it
        from hashlib import blake2b
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # its name until 3.11
        except ImportError:
            from hashlib import sha256

__all__ = ["blake2b", "sha256"]
