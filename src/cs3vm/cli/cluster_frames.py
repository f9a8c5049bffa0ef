"""Frames that the workers of a Dask cluster read: each task reads some row groups and hands back little."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..large.dask_reduce import reduce_tasks
from ..large.parquet import Part
from ..tables.frames import FramePiece, Frames, ParquetFrames, Wanted, no_rows, read_part

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ReadPart:
    """Reads row groups where the task runs."""

    wanted: Wanted

    def __call__(self, part: Part, function: Callable[[FramePiece], T], combine: Callable[[T, T], T]) -> T:
        """What a function gives for them."""
        found: T | None = None
        for piece in read_part(part, self.wanted):
            own = function(piece)
            found = own if found is None else combine(found, own)
        if found is None:
            raise no_rows(part.file)
        return found


class ClusterFrames:
    """The same table, read by a cluster: files must have the same names on all its machines."""

    def __init__(self, frames: Frames, client: Any) -> None:
        assert isinstance(frames, ParquetFrames)
        self.frames, self.client = replace(frames, files=[file.resolve() for file in frames.files]), client

    @property
    def n_rows(self) -> int | None:
        """The number of rows."""
        return self.frames.n_rows

    def reduce(self, function: Callable[[FramePiece], T], combine: Callable[[T, T], T]) -> T:
        """One pass: a task for each part."""
        wanted = self.frames.wanted
        wanted = replace(wanted, columns=wanted.columns or tuple(self.frames.columns))
        parts = [part for part in self.frames.parts() if part.n_rows]
        found: T = reduce_tasks(self.client, ReadPart(wanted), parts, function, combine)
        return found
