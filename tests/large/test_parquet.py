"""Parquet files as a source: the same answer as arrays, only what is needed is read, damage is named."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.exceptions import InvalidProblemError, TableError
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.parquet import ParquetSource, find_files
from cs3vm.large.pieces import ArraySource
from tests.large.tables import clouds, quick

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
SMALL = {"sample_rows": 400, "near_rows": 300}


def write(folder, X, y, n_files=3, row_group_size=200, **columns):
    """The rows in several files; the label column has integers and gaps."""
    label = pa.array([None if np.isnan(v) else int(v) for v in y], pa.int64())
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"answer": label} | columns)
    step = -(-len(X) // n_files)
    for i in range(n_files):
        pq.write_table(
            table.slice(i * step, step), folder / f"part-{i}.parquet", row_group_size=row_group_size
        )
    return folder


@pytest.fixture(scope="module")
def table():
    X, y, truth = clouds(2500, kind=np.float32)
    return X, y, int(truth[np.isnan(y)].sum())


def test_the_answer_is_that_of_arrays(table, tmp_path):
    X, y, total = table
    region = np.where(np.arange(len(X)) % 3 == 0, "a", "b")
    write(tmp_path, X, y, note=pa.array(["text"] * len(X)), region=region, weight=np.ones(len(X)))
    columns = [f"x{j}" for j in range(X.shape[1])]
    other = ArraySource(X, y)
    arrays = fit_pieces(other, quick(), n_positive=total, **SMALL)
    for rows in (150, 10**6):
        source = ParquetSource(tmp_path, columns, label="answer", piece_rows=rows)
        assert source.n_rows == len(X)
        assert source.kind is np.float32
        assert {len(piece) <= rows for piece in source.pieces()} == {True}
        fit = fit_pieces(source, quick(), n_positive=total, **SMALL)
        assert fit.objective == arrays.objective
        assert np.array_equal(fit.transduction(source), arrays.transduction(other))
    assert fit.labeller.classes.tolist() == [0, 1]
    assert fit.to_local().feature_names_in_.tolist() == columns
    weighted = ParquetSource(tmp_path, columns, label="answer", weight="weight", groups=["region"])
    piece = next(weighted.pieces())
    assert piece.weights.tolist()[:2] == [1.0, 1.0]
    assert piece.groups["region"].tolist()[:2] == ["a", "b"]


def test_files_are_found_by_folder_pattern_and_list(table, tmp_path):
    X, y, _ = table
    write(tmp_path, X, y)
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "x.parquet").write_bytes(b"")
    names = [tmp_path / f"part-{i}.parquet" for i in range(3)]
    assert find_files(tmp_path) == names
    assert find_files(str(tmp_path / "part-*.parquet")) == names
    assert find_files(names[1:]) == names[1:]
    with pytest.raises(TableError, match="no Parquet files"):
        find_files(str(tmp_path / "nothing-*.parquet"))


def test_nan_names_the_file_and_the_row_group(table, tmp_path):
    X, y, total = table
    X = X.copy()
    X[1500, 2] = np.nan
    write(tmp_path, X, y)
    source = ParquetSource(tmp_path, label="answer", piece_rows=200)
    with pytest.raises(
        InvalidProblemError, match=r"part-1.parquet, row group 3: 1 values.* row 1500, column 2"
    ):
        fit_pieces(source, quick(), n_positive=total, **SMALL)


def test_a_truncated_file_is_named(table, tmp_path):
    X, y, _ = table
    write(tmp_path, X, y)
    whole = (tmp_path / "part-2.parquet").read_bytes()
    (tmp_path / "part-2.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match=r"part-2.parquet cannot be read as Parquet.*write it again"):
        ParquetSource(tmp_path, label="answer")


def test_a_file_damaged_in_the_middle_is_named_in_the_pass(table, tmp_path):
    X, y, total = table
    write(tmp_path, X, y)
    content = bytearray((tmp_path / "part-1.parquet").read_bytes())
    start = pq.ParquetFile(tmp_path / "part-1.parquet").metadata.row_group(2).column(0).data_page_offset
    content[start : start + 60] = b"\xff" * 60
    (tmp_path / "part-1.parquet").write_bytes(bytes(content))
    source = ParquetSource(tmp_path, label="answer", piece_rows=200)
    with pytest.raises(TableError, match=r"part-1.parquet cannot be read as Parquet \(row group 2\)"):
        fit_pieces(source, quick(), n_positive=total, **SMALL)


def test_columns_that_differ_or_are_text_are_refused(table, tmp_path):
    X, y, _ = table
    write(tmp_path, X, y)
    with pytest.raises(TableError, match="has no column 'x9'"):
        ParquetSource(tmp_path, ["x0", "x9"], label="answer")
    write(tmp_path, X, y, note=pa.array(["text"] * len(X)))
    with pytest.raises(TableError, match=r"'note' of .* columns of X must be numbers"):
        ParquetSource(tmp_path, label="answer")
