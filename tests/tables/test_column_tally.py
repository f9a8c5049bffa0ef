"""Tables in pieces become the same features as tables that are read as a whole, and have the same errors."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cs3vm.exceptions import TableError
from cs3vm.tables.column_tally import TallyColumns, combine_columns, learn_columns
from cs3vm.tables.encoding import Encoding, learn_encoding
from cs3vm.tables.frames import open_frames
from cs3vm.tables.medians import medians
from cs3vm.tables.reading import read_table


def learn_in_pieces(path, names, piece_rows, categorical=(), impute=False):
    """The encoding of a table in pieces."""
    frames = open_frames(Path(path)).reading(piece_rows=piece_rows, as_text=frozenset(categorical))
    look = TallyColumns(tuple(names), frozenset(categorical))
    found = frames.reduce(look, combine_columns)
    mixed = [name for name, tally in found.items() if tally.needs_text]
    if mixed:
        frames = frames.reading(as_text=frames.wanted.as_text | set(mixed))
        found = frames.reduce(look, combine_columns)
    n_rows = sum(len(piece.table) for piece in frames.pieces())
    columns = learn_columns(frames.naming, names, found, n_rows, categorical, impute)
    if not impute:
        return Encoding(tuple(columns))
    wanted = {c.name: found[c.name].n_values for c in columns if c.kind != "category"}
    fills = medians(wanted, frames.reduce)
    return Encoding(tuple(type(c)(c.name, c.kind, c.categories, fills.get(c.name, c.fill)) for c in columns))


def write(tmp_path, columns, suffix="csv"):
    frame = pd.DataFrame(columns)
    path = tmp_path / f"table.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False, row_group_size=3)
    return path, list(frame.columns)


@pytest.mark.parametrize("piece_rows", [1, 3, 100])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_same_features(tmp_path, suffix, piece_rows):
    rng = np.random.default_rng(0)
    flags = np.where(rng.random(20) < 0.2, None, rng.random(20) < 0.5)
    path, names = write(
        tmp_path,
        {
            "age": np.where(rng.random(20) < 0.2, np.nan, rng.integers(0, 9, 20)),
            "income": np.where(rng.random(20) < 0.2, np.nan, rng.normal(size=20)),
            "region": rng.choice(["north", "south", "west", None], 20),
            "member": flags,
            "whole": rng.integers(0, 5, 20),
        },
        suffix,
    )
    whole = learn_encoding(read_table(path), names, impute=True)
    pieces = learn_in_pieces(path, names, piece_rows, impute=True)
    assert pieces == whole
    table = read_table(path)
    own = [pieces.transform(piece.table) for piece in open_frames(path).reading(piece_rows=3).pieces()]
    assert np.array_equal(np.vstack(own), whole.transform(table))


@pytest.mark.parametrize("piece_rows", [1, 2, 100])
def test_text_that_looks_like_flags_in_one_piece(tmp_path, piece_rows):
    path, names = write(tmp_path, {"x": ["true", "true", "FALSE", "perhaps"]})
    assert learn_in_pieces(path, names, piece_rows) == learn_encoding(read_table(path), names)


@pytest.mark.parametrize("piece_rows", [1, 2, 100])
@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "3", "x", "5"],
        ["a", "b", "7", "c", "d"],
        ["2020-01-02", "2021-03-04", "2020-01-05"],
        ["5 %", "6 %", "7 %"],
        ["1", "", "", "4"],
        ["", "", ""],
        ["1", "inf", "2"],
        [f"name{i}" for i in range(30)],
    ],
)
def test_the_same_messages(tmp_path, values, piece_rows):
    path, names = write(tmp_path, {"x": values, "y": range(len(values))})

    def whole():
        learn_encoding(read_table(path), names).transform(read_table(path))

    with pytest.raises(TableError) as expected:
        whole()
    with pytest.raises(TableError) as found:
        learn_in_pieces(path, names, piece_rows)
    first, second = (str(e.value) for e in (expected, found))
    assert first.replace("rows 3 and 4", "row 3 and 1 more") == second


def test_a_column_with_thousands_of_names(tmp_path):
    path, names = write(tmp_path, {"x": [f"name{i}" for i in range(3000)]})
    with pytest.raises(TableError, match=r"at least 1001 different values in 3000 rows.*--id x"):
        learn_in_pieces(path, names, 700)


def test_files_that_hold_a_column_differently(tmp_path):
    pd.DataFrame({"x": [1, 2, 3]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"x": ["u", "v", "1"]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"mixes numbers and text: it holds numbers, but row 1 .*'u'"):
        learn_in_pieces(tmp_path, ["x"], 100)
    encoding = learn_in_pieces(tmp_path, ["x"], 100, categorical=["x"])
    assert encoding.columns[0].categories == ("1", "2", "3", "u", "v")


def test_empty_rows_are_left_out_and_numbers_stay(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n1,2\n,\n3,4\n\n5,6\n")
    for piece_rows in (1, 2, 10):
        pieces = list(open_frames(path).reading(piece_rows=piece_rows).pieces())
        assert sum(piece.left_out for piece in pieces) == 2
        assert [piece.first_row for piece in pieces] == np.cumsum(
            [0, *(len(p.table) for p in pieces[:-1])]
        ).tolist()
        numbers = [n for p in pieces for n in p.table.row_numbers(range(len(p.table)))]
        assert numbers == [2, 4, 6]
