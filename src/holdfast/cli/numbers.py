"""Numbers on the command line: whole, not absurd, and refused in words."""

from __future__ import annotations

import argparse

_MOST_DIGITS = 16


def count(text: str) -> int:
    try:
        value = int(text) if len(text) <= _MOST_DIGITS else -1
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 10^15")
    return value


def at_least_one(text: str) -> int:
    if (value := count(text)) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value
