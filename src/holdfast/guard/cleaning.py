"""A text as it may be stored: without our own injected blocks, private parts and secrets. The one way there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from holdfast.guard.fence import strip_fences
from holdfast.guard.private import strip_private
from holdfast.guard.redact import Redactor, Scanner, secrets_of


def redactor_for(env: Mapping[str, str], scanner: Scanner | None) -> Redactor:
    """Knows the secrets of this environment by their values."""
    return Redactor(secrets=secrets_of(env), scanner=scanner)


def cleaner(redactor: Redactor) -> Callable[[str], str]:
    redact = redactor.redact
    return lambda text: redact(strip_private(strip_fences(text)))
