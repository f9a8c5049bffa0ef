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
def local_cluster(**options: Any) -> Iterator[Any]:
    """Workers on this machine, with memory to work in.

    Dask has its workers give memory back to the system at once. A pass takes and frees arrays all the time:
    to get fresh pages for each takes workers as long again as the work itself.
    """
    import dask
    from distributed import LocalCluster

    environ = "distributed.nanny.pre-spawn-environ"
    kept = {
        name: value
        for name, value in dask.config.get(environ, {}).items()
        if name != "MALLOC_TRIM_THRESHOLD_"
    }
    with dask.config.set({environ: kept}), LocalCluster(dashboard_address=":0", **options) as cluster:
        yield cluster


@contextmanager
def connect(cluster: str) -> Iterator[Any]:
    """A client of the cluster at an address, or of one on this machine while it is needed."""
    need_dask()
    from distributed import Client

    if cluster == "local":
        with local_cluster() as own, Client(own) as client:
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
