"""What sources say as it may be kept and shown: cleaned by whoever knows the secrets here, and nothing hidden in it."""

from __future__ import annotations

import re

from holdfast.guard.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_COLOUR = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")


def shown_by(clean: Callable[[str], str]) -> Callable[[str], str]:
    """A colour code ends in a letter, and would hide where a token begins."""
    return lambda text: visible(clean(_COLOUR.sub(r"\g<0> ", text)))
