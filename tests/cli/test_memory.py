"""Whether a table is read as a whole or in pieces."""

from pathlib import Path

import pandas as pd
import pytest
import typer

from cs3vm.cli.memory import free_memory, memory_for_table, needs_pieces, piece_rows, plain_stem, read_bytes


@pytest.mark.parametrize(
    ("text", "size"), [("7", 7), ("2K", 2048), ("1.5GB", 3 << 29), ("3 MiB", 3 << 20), ("1tb", 1 << 40)]
)
def test_sizes(text, size):
    assert read_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "many", "1XB"])
def test_no_sizes(text):
    with pytest.raises(typer.BadParameter, match="500MB or 2GB"):
        read_bytes(text)


def test_the_default_is_a_part_of_what_is_free():
    assert 0 < memory_for_table(None) < free_memory()


def test_which_tables_need_pieces(tmp_path):
    frame = pd.DataFrame({"x": range(1000)})
    frame.to_csv(tmp_path / "a.csv")
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_feather(tmp_path / "a.feather")
    (tmp_path / "bad.parquet").write_text("no table")
    for name in ("a.csv", "a.parquet"):
        assert needs_pieces(tmp_path / name, 100)
        assert not needs_pieces(tmp_path / name, 1 << 20)
    for name in ("a.feather", "bad.parquet", "missing.parquet", "missing.csv"):
        assert not needs_pieces(tmp_path / name, 100)
    assert needs_pieces(tmp_path, 1 << 40)
    assert needs_pieces(tmp_path / "*.parquet", 1 << 40)


def test_pieces_are_shorter_where_rows_are_longer():
    assert 1000 <= piece_rows(1000, 1 << 28) < piece_rows(20, 1 << 28) <= 250_000
    assert piece_rows(10**6, 1) == 1000


def test_names_of_patterns():
    assert plain_stem(Path("big/part-*.parquet")) == "part"
    assert plain_stem(Path("big")) == "big"
    assert plain_stem(Path("*.parquet")) == "table"
