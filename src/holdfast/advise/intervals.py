"""The interval that holds a true rate 95 times of 100, from counts alone: standard library, nothing left to chance."""

from __future__ import annotations

from math import sqrt

Z95 = 1.959964


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Wilson's interval: it stays within 0 and 1, and says something even where nothing has failed yet."""
    centre = (rate + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * sqrt(rate * (1 - rate) / n + Z95**2 / (4 * n * n))
    return max(centre - half, 0.0), min(centre + half, 1.0)


class Clusters:
    """Sums over sessions (tasks and failed ones), enough for the interval of a rate whose tasks fail together."""

    __slots__ = ("bases", "failed", "failed_squared", "products", "sessions", "tasks", "tasks_squared")

    def __init__(self) -> None:
        self.sessions = 0
        self.bases = 0  # sessions that have a task at all
        self.tasks = 0
        self.failed = 0
        self.tasks_squared = 0
        self.failed_squared = 0
        self.products = 0

    def add(self, tasks: int, failed: int, times: int = 1) -> None:
        """A session, or as many as are alike in this."""
        self.sessions += times
        self.bases += times * (tasks > 0)
        self.tasks += times * tasks
        self.failed += times * failed
        self.tasks_squared += times * tasks * tasks
        self.failed_squared += times * failed * failed
        self.products += times * tasks * failed

    def join(self, other: Clusters) -> None:
        for name in Clusters.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def interval(self) -> tuple[float, float, float] | None:
        """The rate of failed tasks, and from where to where it may be; None without a task.

        Tasks of one session are not independent: they count for as many as their spread over sessions shows.
        """
        if self.tasks <= 0:
            return None
        rate = min(max(self.failed / self.tasks, 0.0), 1.0)
        return rate, *wilson(rate, max(self._effective(rate), 1.0))

    def _effective(self, rate: float) -> float:
        """How many independent tasks these are worth: at most all, at least what they are if sessions fail as a whole.

        That least is taken where there are few sessions, or none or all failed, so that the spread says nothing.
        Few sessions show their spread poorly, which Student's distribution allows for.
        """
        least = self.tasks**2 / self.tasks_squared
        if self.bases < 5 or rate in (0.0, 1.0):
            return least
        squares = self.failed_squared - 2 * rate * self.products + rate * rate * self.tasks_squared
        variance = self.bases / (self.bases - 1) * squares / self.tasks**2
        worth = rate * (1 - rate) / variance if variance > 0 else least
        return min(max(worth, least), self.tasks) * (Z95 / student(self.bases - 1)) ** 2


def student(freedom: int) -> float:
    """What 1.96 becomes when the spread itself is estimated from few (Cornish and Fisher's expansion)."""
    z = Z95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
