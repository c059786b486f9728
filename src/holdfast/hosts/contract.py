"""What a host is: how its own configuration looks with our hooks and without. The use case owns the words."""

from __future__ import annotations

from holdfast.app.hosting import PROGRAM, SCOPES, SERVER, Change, Host, Scope, Where, Wired

__all__ = ["PROGRAM", "SCOPES", "SERVER", "Change", "Host", "Scope", "Where", "Wired"]
