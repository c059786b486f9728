"""Vectors in one memory-mapped file beside the database: passage n has row n, and rows are never used twice.

The database is the truth and says which file belongs to it by a random name (the generation). A row is written
before the transaction that makes it visible commits, so every visible passage has its vector; what a dead
process left behind is overwritten by the next one. Files are never made shorter: others have them mapped.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.core import open_files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.search.scan import Leading

_MAGIC = b"holdfast vectors 1\n"
_HEADER = 64
_PLAIN_ROWS = 3000  # below this a loop is done before numpy is imported
_FEW_ROWS = 4  # a loop over them is done before numpy has begun
_PLAIN_SCANS = 3  # a process that asks more often than this is better off with numpy
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Vanished(Exception):
    """Another process replaced the file before it could be read."""


class VectorFile:
    """The rows of one generation, for reading by number and by likeness, and for writing."""

    def __init__(self, path: Path, width: int, leading: int) -> None:
        self.path = path
        self.width = width
        self._leading_width = leading
        self._leading: Leading | None = None
        self._map: mmap.mmap | None = None
        self._scans = 0
        self._is_ours = False

    # --- writing: only inside the database's write transaction ------------------------------------------

    def create(self) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | _BINARY, 0o600)
        try:
            os.write(descriptor, _MAGIC.ljust(_HEADER, b"\0"))
        finally:
            os.close(descriptor)

    def write(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Stores rows by number, durably: they must not be behind the database after a power cut."""
        descriptor = open_files.descriptor_for(self.path, os.O_WRONLY | _BINARY)
        try:
            for first, together in _runs(rows):
                os.lseek(descriptor, self._place(first), os.SEEK_SET)
                view = memoryview(together)
                while view:
                    view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            open_files.leave(self.path, os.O_WRONLY | _BINARY, descriptor)

    def blank(self, numbers: Iterable[int]) -> None:
        """Clears rows of deleted passages. Only tidiness: the database no longer has them."""
        with contextlib.suppress(OSError):
            self.write((number, bytes(self.width)) for number in numbers)

    def sweep(self, stem: str) -> None:
        """Removes the files of earlier generations; a process that has one mapped can still use it."""
        for file in self.path.parent.glob(f"{stem}-*.vec"):
            if file != self.path:
                with contextlib.suppress(OSError):
                    file.unlink()

    # --- reading ----------------------------------------------------------------------------------------

    def rows(self) -> int:
        """How many rows the file has, as it is now; none if it is something else."""
        try:
            size = os.stat(self.path).st_size
            if not self._is_ours:
                with open(self.path, "rb") as file:
                    self._is_ours = file.read(len(_MAGIC)) == _MAGIC
        except OSError:
            return 0
        if not self._is_ours:
            return 0
        return max(0, (size - _HEADER) // self.width)

    def close(self) -> None:
        # An array over it may still be in use; the memory is freed with the array.
        if self._map is not None:
            with contextlib.suppress(BufferError):
                self._map.close()
            self._map = None

    def nearest(self, query: bytes, most: int, last: int, among: Sequence[int] | None) -> dict[int, int]:
        """The rows with the largest dot products among the first `last` rows, or among those named."""
        if among is not None and len(among) <= most:
            return self.dots(query, among)
        self._scans += 1
        if last <= _PLAIN_ROWS and self._scans <= _PLAIN_SCANS and not _has_numpy():
            return self._nearest_plainly(query, most, last, among)
        if not _can_import_numpy():
            if last <= _PLAIN_ROWS:
                return self._nearest_plainly(query, most, last, among)
            return {}  # without numpy a large index is ranked by words, and meaning orders what they found
        return self._nearest_with_numpy(query, most, last, among)

    def _nearest_plainly(
        self, query: bytes, most: int, last: int, among: Sequence[int] | None
    ) -> dict[int, int]:
        values = self.dots(query, range(1, last + 1) if among is None else among)
        best = sorted(values, key=lambda number: (-values[number], number))[:most]
        return {number: values[number] for number in best if values[number] > 0}

    def dots(self, query: bytes, numbers: Sequence[int]) -> dict[int, int]:
        """The dot product of each row that exists."""
        content, count = self._mapped(max(numbers, default=0))
        if content is None:
            return {}
        present = [number for number in numbers if 0 < number <= count]
        if _has_numpy() and len(present) > _FEW_ROWS:
            import numpy

            from holdfast.search.scan import products

            values = products(self._matrix(content, count), _floats(query), numpy.array(present) - 1)
            return {number: int(value) for number, value in zip(present, values, strict=True)}
        signed = array("b", query)
        view = memoryview(content)
        products_by_number = {}
        for number in present:
            start = self._place(number)
            with view[start : start + self.width].cast("b") as row:
                products_by_number[number] = _dot(signed, row)
        view.release()
        return products_by_number

    def _nearest_with_numpy(
        self, query: bytes, most: int, last: int, among: Sequence[int] | None
    ) -> dict[int, int]:
        import numpy

        from holdfast.search.scan import Leading, nearest, nearest_of_all

        content, count = self._mapped(last)
        if content is None:
            return {}
        matrix, vector = self._matrix(content, min(count, last)), _floats(query)
        if among is None:
            if self._leading is None and self._leading_width < self.width:
                self._leading = Leading(self._leading_width)
            chosen, values = nearest(matrix, vector, most, self._leading)
        else:
            rows = numpy.array(among, dtype=numpy.int64) - 1
            chosen, values = nearest_of_all(matrix, vector, most, rows[rows < len(matrix)])
        return {int(row) + 1: int(value) for row, value in zip(chosen, values, strict=True) if value > 0}

    def _matrix(self, content: mmap.mmap, rows: int) -> NDArray[np.int8]:
        import numpy

        flat = numpy.frombuffer(content, dtype=numpy.int8, count=rows * self.width, offset=_HEADER)
        return flat.reshape(rows, self.width)

    def _mapped(self, needed: int) -> tuple[mmap.mmap | None, int]:
        """The file in memory, mapped again when more rows are needed, and how many rows it holds."""
        if self._map is None or (len(self._map) - _HEADER) // self.width < needed:
            if needed < 1:
                return None, 0
            try:
                with open(self.path, "rb") as file:
                    self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:  # not there, or empty
                raise Vanished from error
        return self._map, (len(self._map) - _HEADER) // self.width

    def _place(self, number: int) -> int:
        return _HEADER + (number - 1) * self.width


if sys.version_info >= (3, 12):
    from math import sumprod as _dot
else:

    def _dot(one: array[int], other: memoryview) -> int:
        return sum(map(mul, one, other))


def _runs(rows: Iterable[tuple[int, bytes]]) -> Iterable[tuple[int, bytes]]:
    """Rows that follow each other, together: one write for a batch."""
    first, together = 0, bytearray()
    expected = -1
    for number, row in rows:
        if number != expected or len(together) > 1 << 22:
            if together:
                yield first, bytes(together)
            first, together = number, bytearray()
        together += row
        expected = number + 1
    if together:
        yield first, bytes(together)


def _floats(query: bytes) -> NDArray[np.float32]:
    import numpy

    return numpy.frombuffer(query, dtype=numpy.int8).astype(numpy.float32)


def _has_numpy() -> bool:
    return sys.modules.get("numpy") is not None


def _can_import_numpy() -> bool:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True
