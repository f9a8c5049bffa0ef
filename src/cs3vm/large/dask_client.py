"""A Dask client for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..exceptions import MissingPackageError, TableError


def need_dask() -> None:
    """Refuse to go on without Dask, and say how to get it."""
    try:
        import dask
        import distributed  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            'a cluster needs the packages dask and distributed: pip install "cs3vm[dask]"'
        ) from error
    del dask


@contextmanager
def connect(cluster: str) -> Iterator[Any]:
    """A client of the cluster at an address, or of one on this machine while it is needed."""
    need_dask()
    from distributed import Client, LocalCluster

    if cluster == "local":
        with LocalCluster(dashboard_address=":0") as own, Client(own) as client:
            yield client
        return
    try:
        client = Client(cluster, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise TableError(
            f"there is no Dask scheduler at {cluster!r}: give the address that 'dask scheduler' printed, "
            "such as tcp://10.0.0.1:8786, or say --cluster local"
        ) from error
    with client:
        yield client
