"""Results that are computed once within a context, for work that asks the same of one memory again and again.

Outside of `reusing` every call computes. A function says for how long its result holds: for the same arguments, for the
same object as its first argument, until `changed` is called because what it reads has changed, or until `renew` is
called because it is worth computing again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_MOST = 100_000  # results of one kind


class Reuse:
    """The results so far."""

    def __init__(self) -> None:
        self.lasting: dict[Hashable, Any] = {}
        self.current: dict[Hashable, Any] = {}
        self.slow: dict[Hashable, Any] = {}

    def changed(self) -> None:
        """Call this when the memory or its checkout was written."""
        self.current.clear()

    def renew(self) -> None:
        """Call this now and then: one session more among hundreds changes little."""
        self.slow.clear()


_reuse: ContextVar[Reuse | None] = ContextVar("reuse", default=None)


@contextmanager
def reusing() -> Iterator[Reuse]:
    reuse = Reuse()
    token = _reuse.set(reuse)
    try:
        yield reuse
    finally:
        _reuse.reset(token)


def for_same_arguments(make: Callable[P, R]) -> Callable[P, R]:
    """For a function of its arguments alone, whose result nobody changes."""

    @wraps(make)
    def reused(*given: P.args, **named: P.kwargs) -> R:
        reuse = _reuse.get()
        if reuse is None or named or not given:
            return make(*given, **named)
        key = (make, *given)
        if key not in reuse.lasting:
            if len(reuse.lasting) >= _MOST:
                reuse.lasting.clear()
            reuse.lasting[key] = make(*given, **named)
        result: R = reuse.lasting[key]
        return result

    return reused


def for_same_object(make: Callable[P, R]) -> Callable[P, R]:
    """The same, where comparing the first argument by value would cost too much."""

    @wraps(make)
    def reused(*given: P.args, **named: P.kwargs) -> R:
        reuse = _reuse.get()
        if reuse is None or named or not given:
            return make(*given, **named)
        key = (make, id(given[0]), *given[1:])
        known = reuse.lasting.get(key)
        if known is None or known[0] is not given[0]:
            known = reuse.lasting[key] = given[0], make(*given, **named)
        result: R = known[1]
        return result

    return reused


def until_changed(make: Callable[P, R]) -> Callable[P, R]:
    """For a function that reads the memory or its checkout."""
    return _kept_in(make, lambda reuse: reuse.current)


def until_renewed(make: Callable[P, R]) -> Callable[P, R]:
    """For a function over all sessions that may miss the last few of them."""
    return _kept_in(make, lambda reuse: reuse.slow)


def _kept_in(make: Callable[P, R], results_of: Callable[[Reuse], dict[Any, Any]]) -> Callable[P, R]:
    @wraps(make)
    def reused(*given: P.args, **named: P.kwargs) -> R:
        reuse = _reuse.get()
        if reuse is None or named or not given:
            return make(*given, **named)
        results, key = results_of(reuse), (make, *given)
        if key not in results:
            results[key] = make(*given, **named)
        result: R = results[key]
        return result

    return reused
