"""Rows in pieces: seconds, passes, peak memory and objective against the number of rows, 20 float32 columns.

The pieces are made on the fly, so that no file of that size is needed: a pass makes every row again. What
making and multiplying them once takes is measured beside the fit, for a pass is compared with that.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.scaling import FEATURES, forget_peak_memory, memory
from cs3vm import CS3VMClassifier
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import Piece, PieceSource
from experiments.rows import Row, run_cells

SIZES = (1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000, 100_000_000)
#: The largest table that the search in memory is run on, too.
IN_MEMORY = 5_000_000
PIECE_ROWS = 250_000
LABELLED = 10_000
#: Rows that are made together; a piece has a whole number of them.
BLOCK = 50_000
WORKERS = 2
#: What is stored of each cell.
COLUMNS = (
    *("objective", "count", "total", "exact", "passes", "seconds", "seconds_in_passes", "seconds_once"),
    *("times_once", "processor_seconds", "processor_seconds_once", "extra_mb", "piece_mb"),
    *("seconds_start", "seconds_stream", "processor_seconds_stream", "same_labels"),
)


class MadeSource(PieceSource):
    """Two overlapping clouds as in ``scaling``: 30 % positives, 10,000 labelled rows, 85 % of them positive.

    A block of rows depends on the seed and its number only. Its normal numbers are those of one long list,
    from a place that the block's number gives: a pass then takes as long as reading, not as drawing.
    """

    n_columns = FEATURES

    def __init__(self, n_rows: int, piece_rows: int = PIECE_ROWS, seed: int = 0) -> None:
        self.n_rows, self.piece_rows, self.seed = n_rows, piece_rows, seed
        rng = np.random.default_rng(seed)
        self.long = rng.standard_normal(4 * BLOCK * FEATURES, dtype=np.float32)
        self.labelled_blocks = -(-n_rows // BLOCK)

    def truth(self, block: int) -> np.ndarray:
        """Which rows of a block are positive."""
        size = min(BLOCK, self.n_rows - block * BLOCK)
        return np.random.default_rng([self.seed, block]).random(BLOCK, dtype=np.float32)[:size] < 0.3

    def rows(self, block: int, truth: np.ndarray) -> np.ndarray:
        """The rows of a block."""
        rng = np.random.default_rng([self.seed, block, 1])
        starts = rng.integers(0, len(self.long) - BLOCK * FEATURES, 2)
        a, b = (self.long[start : start + BLOCK * FEATURES].reshape(BLOCK, FEATURES) for start in starts)
        angle = rng.random()
        X = (np.float32(np.cos(angle)) * a + np.float32(np.sin(angle)) * b)[: len(truth)]
        X[:, :5] += np.where(truth, np.float32(0.6), np.float32(-0.6))[:, None]
        return X

    def labels(self, block: int, truth: np.ndarray) -> np.ndarray:
        """The label of each row of a block, NaN for most: the same number of each class in every block."""
        y = np.full(len(truth), np.nan)
        for positive, number in ((True, round(0.85 * LABELLED)), (False, LABELLED - round(0.85 * LABELLED))):
            first, last = (number * k // self.labelled_blocks for k in (block, block + 1))
            y[np.flatnonzero(truth == positive)[: last - first]] = float(positive)
        return y

    def pieces(self) -> Iterator[Piece]:
        """The blocks of a piece one after the other."""
        for number in range(self.n_pieces):
            yield Piece(number * self.piece_rows, *self.piece(number))

    @property
    def n_pieces(self) -> int:
        """How many there are."""
        return -(-self.n_rows // self.piece_rows)

    def piece(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels of a piece."""
        step = self.piece_rows // BLOCK
        blocks = range(number * step, min((number + 1) * step, self.labelled_blocks))
        truth = [self.truth(block) for block in blocks]
        X = [self.rows(block, own) for block, own in zip(blocks, truth, strict=True)]
        y = [self.labels(block, own) for block, own in zip(blocks, truth, strict=True)]
        return np.concatenate(X), np.concatenate(y)

    def total(self) -> int:
        """Positives among the unlabelled rows."""
        found = 0
        for block in range(self.labelled_blocks):
            truth = self.truth(block)
            found += int(np.count_nonzero(truth[np.isnan(self.labels(block, truth))]))
        return found


def multiply(piece: Piece) -> float:
    """What a pass does at least: every number is looked at once."""
    return float((piece.X @ np.ones(piece.X.shape[1], dtype=piece.X.dtype))[-1])


class Clock:
    """Seconds on the wall, and those of the processors, which others on the machine do not change."""

    def __init__(self) -> None:
        self.began, self.worked = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self.began, time.process_time() - self.worked


def once(source: PieceSource) -> tuple[float, float]:
    """Seconds to read and multiply all rows once."""
    clock = Clock()
    source.reduce(multiply, max)
    return clock.read()


def in_parquet(source: MadeSource, folder: Path) -> PieceSource:
    """The same rows as Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cs3vm.large.parquet import ParquetSource

    for i, piece in enumerate(source.pieces()):
        columns = {f"x{j}": piece.X[:, j] for j in range(FEATURES)}
        table = pa.table(columns | {"label": pa.array(piece.labels, from_pandas=True)})
        pq.write_table(table, folder / f"part-{i:05}.parquet", compression="snappy")
    return ParquetSource(folder, label="label")


def measure(rows: int, what: str, queue: multiprocessing.Queue) -> None:
    made = MadeSource(rows)
    total = made.total()
    if what == "dask":
        queue.put(on_a_cluster(made, total))
        return
    with TemporaryDirectory() as folder:
        source = in_parquet(made, Path(folder)) if what == "parquet" else made
        queue.put(in_memory(made, total) if what == "memory" else stream(source, total))


def warm_up() -> None:
    """Load and compile."""
    small = MadeSource(BLOCK)
    fit_pieces(small, CS3VMClassifier(), n_positive=small.total(), sample_rows=1000)


def stream(source: PieceSource, total: int) -> Row:
    warm_up()
    single = min(once(source) for _ in range(2))
    piece = PIECE_ROWS * FEATURES * 4 / 2**20
    before, clock = forget_peak_memory(), Clock()
    fit = fit_pieces(source, CS3VMClassifier(), n_positive=total)
    seconds, worked = clock.read()
    return {
        "objective": f"{fit.objective:.6g}",
        "count": f"{fit.counts[0]:.0f}",
        "total": total,
        "exact": fit.exact,
        "passes": fit.n_passes,
        "seconds": f"{seconds:.3g}",
        "seconds_in_passes": f"{sum(done.seconds for done in fit.passes):.3g}",
        "seconds_once": f"{single[0]:.3g}",
        "times_once": f"{seconds / (fit.n_passes * single[0]):.2f}",
        "processor_seconds": f"{worked:.3g}",
        "processor_seconds_once": f"{single[1]:.3g}",
        "extra_mb": f"{memory('VmHWM') - before:.0f}",
        "piece_mb": f"{piece:.0f}",
    }


def in_memory(made: MadeSource, total: int) -> Row:
    """The same rows in memory, by the classifier."""
    pieces = list(made.pieces())
    X = np.concatenate([piece.X for piece in pieces]).astype(float)
    y = np.concatenate([piece.labels for piece in pieces if piece.labels is not None])
    del pieces
    before, clock = forget_peak_memory(), Clock()
    clf = CS3VMClassifier("direct").fit(X, y, n_positive=total)
    seconds, worked = clock.read()
    return {
        "objective": f"{clf.result_.objective:.6g}",
        "count": f"{clf.result_.count:.0f}",
        "total": total,
        "exact": True,
        "passes": "",
        "seconds": f"{seconds:.3g}",
        "seconds_in_passes": "",
        "seconds_once": "",
        "times_once": "",
        "processor_seconds": f"{worked:.3g}",
        "processor_seconds_once": "",
        "extra_mb": f"{memory('VmHWM') - before:.0f}",
        "piece_mb": "",
    }


def on_a_cluster(made: MadeSource, total: int) -> Row:
    """The same rows as Dask arrays that tasks make, beside the stream in the same process.

    The cluster is running when the clock of the fit starts; what starting it and loading the package on its
    workers takes is told, too.
    """
    from distributed import Client

    from cs3vm.large.dask import DaskCS3VMClassifier
    from cs3vm.large.dask_client import local_cluster

    warm_up()
    clock = Clock()
    expected = fit_pieces(made, CS3VMClassifier(), n_positive=total)
    streamed, streamed_work = clock.read()
    clock = Clock()
    with local_cluster(n_workers=WORKERS, threads_per_worker=1) as cluster, Client(cluster) as client:
        client.run(warm_up)
        start, _ = clock.read()
        X, y = as_arrays(made, client)
        before, clock = sum(client.run(time.process_time).values()), Clock()
        clf = DaskCS3VMClassifier(client).fit(X, y, n_positive=total)
        seconds, worked = clock.read()
        worked += sum(client.run(time.process_time).values()) - before
        same = np.array_equal(clf.transduction_.compute(), expected.transduction(made))
    fit = clf.large_fit_
    return {
        "objective": f"{fit.objective:.6g}",
        "count": f"{fit.counts[0]:.0f}",
        "total": total,
        "exact": fit.exact,
        "passes": fit.n_passes,
        "seconds": f"{seconds:.3g}",
        "seconds_in_passes": f"{sum(done.seconds for done in fit.passes):.3g}",
        "processor_seconds": f"{worked:.3g}",
        "seconds_start": f"{start:.3g}",
        "seconds_stream": f"{streamed:.3g}",
        "processor_seconds_stream": f"{streamed_work:.3g}",
        "same_labels": same,
    }


def as_arrays(made: MadeSource, client: Any) -> tuple[Any, Any]:
    """Dask arrays of rows and labels, made on the workers in every pass."""
    import dask.array as da
    from dask import delayed

    source = client.scatter(made, broadcast=True)
    parts = [delayed(MadeSource.piece)(source, number) for number in range(made.n_pieces)]
    lengths = [min(made.piece_rows, made.n_rows - i * made.piece_rows) for i in range(made.n_pieces)]
    X = [
        da.from_delayed(part[0], (length, FEATURES), np.float32)
        for part, length in zip(parts, lengths, strict=True)
    ]
    y = [da.from_delayed(part[1], (length,), float) for part, length in zip(parts, lengths, strict=True)]
    return da.concatenate(X), da.concatenate(y)


def cell(rows: int, what: str) -> Row:
    """Each in a process of its own, so that its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure, args=(rows, what, queue), daemon=False)
    process.start()
    found: Row = queue.get()
    process.join()
    return {name: found.get(name, "") for name in COLUMNS}


def table(rows: list[Row]) -> str:
    """The rows as Markdown, beside the fit in memory where there is one; processor seconds in brackets."""
    lines = [
        "| rows | source | seconds | once | passes | times once, per pass | objective | in memory | count "
        "| MB |",
        "|--:|---|--:|--:|--:|--:|--:|--:|---|--:|",
    ]
    in_memory = {row["rows"]: row for row in rows if row["what"] == "memory"}
    for row in sorted(rows, key=lambda one: int(one["rows"])):
        if row["what"] in ("memory", "dask"):
            continue
        other = in_memory.get(row["rows"])
        cells = [
            f"{int(row['rows']):,}",
            "made on the fly" if row["what"] == "stream" else "Parquet",
            f"{row['seconds']} ({row['processor_seconds']})",
            f"{row['seconds_once']} ({row['processor_seconds_once']})",
            row["passes"],
            f"{row['times_once']} ({_times(row):.1f})",
            row["objective"],
            f"{other['objective']}, {other['seconds']} ({other['processor_seconds']}) s" if other else "–",
            "exact" if row["count"] == row["total"] else f"{row['count']} of {row['total']}",
            str(max(0, int(row["extra_mb"]) - int(row["piece_mb"]))),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def dask_lines(rows: list[Row]) -> str:
    """What Dask took beside the stream, as Markdown."""
    lines = ["| rows | Dask, two workers | stream, beside it | times | starting the cluster | labels |"]
    lines.append("|--:|--:|--:|--:|--:|---|")
    for row in rows:
        if row["what"] == "dask":
            times, work = (
                float(row[name]) / float(row[f"{name}_stream"]) for name in ("seconds", "processor_seconds")
            )
            same = "the same" if row["same_labels"] == "True" else "differ"
            lines.append(
                f"| {int(row['rows']):,} | {row['seconds']} ({row['processor_seconds']}) s "
                f"| {row['seconds_stream']} ({row['processor_seconds_stream']}) s | {times:.2f} ({work:.2f}) "
                f"| {row['seconds_start']} s | {same} |"
            )
    return "\n".join(lines)


def _times(row: Row) -> float:
    """The work of a pass in units of reading and multiplying all rows once."""
    return float(row["processor_seconds"]) / (int(row["passes"]) * float(row["processor_seconds_once"]))


def run(out: Path, max_rows: int, parquet_rows: int, dask_rows: int) -> None:
    sizes = [size for size in SIZES if size <= max_rows]
    cells = [{"rows": rows, "what": "stream"} for rows in sizes]
    cells += [{"rows": rows, "what": "memory"} for rows in sizes if rows <= IN_MEMORY]
    cells += [{"rows": parquet_rows, "what": "parquet"}] if parquet_rows else []
    cells += [{"rows": dask_rows, "what": "dask"}] if dask_rows else []
    for row in run_cells(out, sorted(cells, key=lambda one: one["rows"]), cell):
        print(
            f"{row['rows']:>9} rows  {row['what']:<8} {row['seconds']} s  objective {row['objective']}  "
            f"{row['passes'] or '-'} passes  memory {row['extra_mb'] or '-'} MB",
            flush=True,
        )
