"""Dot products of one vector with very many, and the rows where they are largest.

Above a hundred thousand rows it goes in two steps, if the embedder says that its first values carry the most (the
shipped table lies on its principal axes): those alone find some thousands of rows, and all values order them. The
first values are copied once, because a third of every row takes as long to gather as the whole takes to read. Rows
are chosen by value and never by their place, so an index that was made again in another order answers the same.
Apart from `vectors`, because numpy takes longer to import than a small index to scan.
"""

from __future__ import annotations

import os
from itertools import pairwise
from threading import Thread

import numpy
from numpy.typing import NDArray

Rows = NDArray[numpy.int64]
Bytes = NDArray[numpy.int8]
Floats = NDArray[numpy.float32]

EXHAUSTIVE = 100_000  # rows up to which every value of every row is looked at
_KEPT_LEAST, _KEPT_SHARE = 4000, 200  # rows that the first step keeps: so many at least, and one in 200
_BLOCK_VALUES = (
    512 * 384
)  # they stay in the cache, and are too few for the matrix library to start threads over
_ROWS_FOR_A_THREAD = 100_000
_MOST_THREADS = 4
_TIES = 4  # keep at most this many times the wanted number of equally near rows


class Leading:
    """The first values of every row, side by side in memory. What is written is never changed, only added to."""

    def __init__(self, width: int) -> None:
        self._values: Bytes = numpy.empty((0, width), dtype=numpy.int8)
        self._filled = 0

    def of(self, matrix: Bytes) -> Bytes:
        width = self._values.shape[1]
        if len(matrix) > len(self._values):
            roomy = numpy.empty((len(matrix) + len(matrix) // 16, width), dtype=numpy.int8)
            roomy[: self._filled] = self._values[: self._filled]
            self._values = roomy
        if len(matrix) > self._filled:
            self._values[self._filled : len(matrix)] = matrix[self._filled :, :width]
            self._filled = len(matrix)
        return self._values[: len(matrix)]


def nearest(matrix: Bytes, query: Floats, most: int, leading: Leading | None) -> tuple[Rows, Floats]:
    """About `most` rows with the largest products, and the products."""
    if leading is None or len(matrix) <= EXHAUSTIVE:
        return nearest_of_all(matrix, query, most, None)
    first = leading.of(matrix)
    row_count = max(_KEPT_LEAST, len(matrix) // _KEPT_SHARE, 2 * most)
    rows = largest(products(first, query[: first.shape[1]]), row_count)
    return nearest_of_all(matrix, query, most, rows)


def nearest_of_all(matrix: Bytes, query: Floats, most: int, rows: Rows | None) -> tuple[Rows, Floats]:
    """The same, with every value of every row, or of the named ones."""
    values = products(matrix, query, rows)
    chosen = largest(values, most)
    return (chosen if rows is None else rows[chosen]), values[chosen]


def products(matrix: Bytes, vector: Floats, rows: Rows | None = None) -> Floats:
    """Exact: every partial sum is a whole number below 2**24, which 32-bit floats hold."""
    count, width = len(matrix) if rows is None else len(rows), matrix.shape[1]
    values = numpy.empty(count, dtype=numpy.float32)
    together = max(1, _BLOCK_VALUES // width)

    def scan(first: int, last: int) -> None:
        block = numpy.empty((min(together, last - first), width), dtype=numpy.float32)
        for start in range(first, last, together):
            stop = min(start + together, last)
            numbers = block[: stop - start]
            numpy.copyto(numbers, matrix[start:stop] if rows is None else matrix[rows[start:stop]])
            numpy.dot(numbers, vector, out=values[start:stop])

    threads = max(1, min(os.cpu_count() or 1, _MOST_THREADS, count // _ROWS_FOR_A_THREAD))
    places = [count * part // threads for part in range(threads + 1)]
    workers = [Thread(target=scan, args=place) for place in pairwise(places[1:])]
    for worker in workers:
        worker.start()
    scan(places[0], places[1])
    for worker in workers:
        worker.join()
    return values


def largest(values: Floats, most: int) -> Rows:
    """Where the `most` largest are, with all that equal the least of them: to leave out some would be chance."""
    if len(values) <= most:
        return numpy.arange(len(values))
    least = numpy.partition(values, len(values) - most)[len(values) - most]
    chosen = numpy.flatnonzero(values >= least)
    if len(chosen) > _TIES * most:  # the same text thousands of times
        chosen = numpy.concatenate(
            [numpy.flatnonzero(values > least), numpy.flatnonzero(values == least)[: _TIES * most]]
        )
    return chosen
