"""A pass by tasks: a function of each part, and a tree of combinations.

Tasks hand on bytes: a combination may change its arguments, and a task whose worker died is done again with
what the others have kept.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

#: Results that are combined by one task.
FAN_IN = 8


def reduce_tasks(
    client: Any,
    read: Callable[[Any, Callable[[Any], Any], Callable[[Any, Any], Any]], Any],
    parts: Sequence[Any],
    function: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
) -> Any:
    """What the function gives for all parts; an error in a task is raised here.

    Parameters
    ----------
    client
        A client of a cluster; None leaves it to Dask's own threads.
    read
        Makes of a part, the function and the combination what a task hands on.
    parts
        What tasks work on: descriptions, or results of other tasks (delayed).
    """
    from dask import delayed

    work = delayed(pickle.dumps((read, function, combine), protocol=5), pure=True)
    level = [delayed(_first)(work, part) for part in parts]
    while len(level) > 1:
        level = [delayed(_combined)(work, level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return pickle.loads(gather(client, level)[0])


def gather(client: Any, tasks: list[Any]) -> list[Any]:
    """The results of tasks."""
    import dask

    if client is None:
        return list(dask.compute(*tasks))
    return list(client.gather(client.compute(tasks)))


def _first(work: bytes, part: Any) -> bytes:
    read, function, combine = pickle.loads(work)
    return pickle.dumps(read(part, function, combine), protocol=5)


def _combined(work: bytes, parts: list[bytes]) -> bytes:
    _, _, combine = pickle.loads(work)
    return pickle.dumps(reduce(combine, map(pickle.loads, parts)), protocol=5)
