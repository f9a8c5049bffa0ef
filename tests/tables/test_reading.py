"""Reading tables: formats, dialects of text, and errors that name the place."""

import sys

import numpy as np
import pandas as pd
import pytest

from cs3vm.exceptions import MissingPackageError, OutputError, TableError
from cs3vm.tables.files import check_outputs, write_atomically
from cs3vm.tables.reading import read_table, suggestion, write_csv

FRAME = pd.DataFrame({"name": ["a", "b", "c"], "size": [1.5, 2.5, 3.5], "cash": ["yes", None, "no"]})


def write(tmp_path, content, name="people.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("t.csv", lambda f, p: f.to_csv(p, index=False)),
        ("t.tsv", lambda f, p: f.to_csv(p, index=False, sep="\t")),
        ("t.parquet", lambda f, p: f.to_parquet(p)),
        ("t.feather", lambda f, p: f.to_feather(p)),
        ("t.xlsx", lambda f, p: f.to_excel(p, index=False)),
    ],
)
def test_every_format_gives_the_same_table(tmp_path, name, save):
    save(FRAME, tmp_path / name)
    table = read_table(tmp_path / name, as_text=["cash"])
    assert table.columns == ["name", "size", "cash"]
    assert table.frame["size"].tolist() == [1.5, 2.5, 3.5]
    assert table.frame["name"].tolist() == ["a", "b", "c"]
    assert table.frame["cash"].isna().tolist() == [False, True, False]
    assert table.notes == ()
    first = 1 if name.endswith(("parquet", "feather")) else 2
    assert table.row_numbers([0, 2]) == [first, first + 2]


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet"])
def test_labels_are_text_without_decimal_points(tmp_path, suffix):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.0, 0.0, np.nan]})
    path = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        path.write_text("x,y\n1,1\n2,0\n3,\n")
    else:
        frame.to_excel(path, index=False) if suffix == "xlsx" else frame.to_parquet(path)
    assert read_table(path, as_text=["y"]).frame["y"].tolist()[:2] == ["1", "0"]


def test_identifiers_keep_leading_zeros_and_odd_names(tmp_path):
    path = write(tmp_path, "id,x\n007,1\nNA,2\n")
    assert read_table(path, verbatim=["id"]).frame["id"].tolist() == ["007", "NA"]


@pytest.mark.parametrize(
    ("content", "encoding", "words"),
    [
        ("name;size\nMüller;1,5\nWeiß;2\n", "utf-8", ("semicolon", "decimal commas")),
        ("name;size\nMüller;1.5\nWeiß;2\n", "latin-1", ("semicolon", "not UTF-8 (line 2, byte 0xfc)")),
        ("name\tsize\nMüller\t1.5\nWeiß\t2\n", "utf-8", ("tab",)),
        ("name|size\nMüller|1.5\nWeiß|2\n", "utf-8-sig", ("vertical bar",)),
        ('name,size\nMüller,"1,5"\nWeiß,2\n', "utf-8", ("decimal commas",)),
        ("name,size\r\nMüller,1.5\r\nWeiß,2\r\n", "utf-16", ()),
        ("name, size \nMüller, 1.5\nWeiß, 2\n", "utf-8", ()),
    ],
)
def test_dialects_are_detected_and_said(tmp_path, content, encoding, words):
    table = read_table(write(tmp_path, content, encoding=encoding))
    assert table.frame["size"].tolist() == [1.5, 2.0]
    assert table.frame["name"].tolist() == ["Müller", "Weiß"]
    assert len(table.notes) == len(words)
    for note, word in zip(table.notes, words[::-1] if "0xfc" in str(words) else words, strict=True):
        assert word in note


def test_thousands_in_a_decimal_comma_file(tmp_path):
    path = write(tmp_path, "a;b\n1.234,5;1\n12,25;2\n")
    assert read_table(path).frame["a"].tolist() == [1234.5, 12.25]


def test_a_comma_that_may_mean_two_things_is_told(tmp_path):
    path = write(tmp_path, "a;b\n7;1\n1,234;1\n2,345;2\n")
    with pytest.raises(TableError, match=r"row 3 .*'1,234' may mean 1\.234 or 1234"):
        read_table(path)


def test_empty_rows_are_left_out_and_numbers_stay(tmp_path):
    table = read_table(write(tmp_path, "a,b\n1,2\n\n,\n3,4\n"))
    assert table.frame["a"].tolist() == [1, 3]
    assert table.row_numbers([0, 1]) == [2, 5]
    assert "2 rows without any value" in table.notes[0]


def test_a_short_row_far_down_is_said_too(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b,c\n" + "1,2,x\n" * 3000 + "1,2\n" + "1,2,x\n")
    table = read_table(path)
    assert "row 3002 of people.csv has fewer cells" in table.notes[0]


def test_short_rows_are_said(tmp_path):
    table = read_table(write(tmp_path, "a,b,c\n1,2,3\n1,2\n\n1\n"))
    assert "row 3 of people.csv has fewer cells than the header, as have 1 more" in table.notes[0]
    assert table.frame["c"].isna().tolist() == [False, True, True]


def test_a_quoted_line_break_is_one_row(tmp_path):
    table = read_table(write(tmp_path, 'a,b\n"two\nlines",2\nx,4\n'))
    assert table.frame["a"].tolist() == ["two\nlines", "x"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "t.csv is empty"),
        ("t.csv", b" \n\n", "t.csv is empty"),
        ("t.csv", b"a,b\n", "header row but no rows"),
        ("t.csv", b"a,b\n\n\n", "header row but no rows"),
        ("t.csv", b"a,b,a\n1,2,3\n", r"several columns named 'a' \(columns 1, 3\)"),
        ("t.csv", b"a,,c\n1,2,3\n", "column 2 has no name"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "Expected 2 fields in line 3, saw 3"),
        ("t.csv", b"a,b\n1,2,3\n1,2,3\n", "as many cells as the header"),
        ("t.csv", b'a,b\n1,"2\n3,4\n', "cannot be read as a table"),
        ("t.csv", b"PK\x03\x04rest", r"content is Excel: give it the right suffix \(.xlsx or .xlsm\)"),
        ("t.csv", b"PAR1rest", "content is Parquet"),
        ("t.csv", b"\x1f\x8brest", "compressed"),
        ("t.csv", b"%PDF-1.4", "a PDF document"),
        ("t.csv", b"<!DOCTYPE html><html>", "a web page"),
        ("t.csv", b'{"a": 1}', "JSON"),
        ("t.csv", b"a\0b\0c\n", "binary data"),
        ("t.xlsx", b"a,b\n1,2\n", "content is text: give it the right suffix"),
        ("t.xlsx", b"PK\x03\x04rest", "cannot be read as an Excel workbook"),
        ("t.parquet", b"a,b\n1,2\n", "content is text"),
        ("t.parquet", b"PAR1 but damaged PAR1", "cannot be read as a Parquet file"),
        ("t.feather", b"ARROW1 but damaged", "cannot be read as a Feather file"),
        ("t.xls", b"\xd0\xcf\x11\xe0", "save it as .xlsx"),
        ("t.doc", b"a,b\n", "files with the suffix .doc cannot be read"),
    ],
)
def test_bad_files_are_explained(tmp_path, name, content, message):
    with pytest.raises(TableError, match=message):
        read_table(write(tmp_path, content, name))


def test_excel_duplicates_and_further_sheets(tmp_path):
    path = tmp_path / "t.xlsx"
    pd.DataFrame([["a", "a"], [1, 2]]).to_excel(path, index=False, header=False)
    with pytest.raises(TableError, match="several columns named 'a'"):
        read_table(path)
    with pd.ExcelWriter(path) as book:
        FRAME.to_excel(book, sheet_name="people", index=False)
        FRAME.to_excel(book, sheet_name="other", index=False)
    assert "first of 2 sheets, 'people'" in read_table(path).notes[0]


def test_a_missing_file_is_named_with_the_nearest(tmp_path):
    write(tmp_path, "a\n1\n", "people.csv")
    with pytest.raises(TableError, match=r"no file .*peple\.csv\. Did you mean 'people\.csv'"):
        read_table(tmp_path / "peple.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("package", "name"), [("pandas", "t.csv"), ("pyarrow", "t.parquet"), ("openpyxl", "t.xlsx")]
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, package, name):
    content = {"t.csv": b"a\n1\n", "t.parquet": b"PAR1", "t.xlsx": b"PK\x03\x04"}[name]
    path = write(tmp_path, content, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingPackageError, match=rf'needs the package {package}.*pip install "cs3vm\[report\]"'
    ):
        read_table(path)


def test_rows_in_words(tmp_path):
    table = read_table(write(tmp_path, "a\n" + "1\n" * 20))
    assert table.rows([3]) == "row 5"
    assert table.rows([0, 3]) == "rows 2 and 5"
    assert table.rows(np.arange(8)) == "rows 2, 3, 4, 5, 6 and 3 more"


def test_names_may_hold_commas(tmp_path):
    table = read_table(write(tmp_path, '"a,b",c,d\n1,2,3\n'))
    assert table.split_names(["a,b", "c, d", "c"], "--features") == ["a,b", "c", "d"]
    with pytest.raises(TableError, match="no column for --features: 'e'"):
        table.split_names(["c,e"], "--features")


def test_suggestions_ignore_case_and_list_what_there_is():
    assert suggestion("AGE", ["age", "income"]) == ". Did you mean 'age'?"
    assert suggestion("zzz", ["age", "income"]) == ": it has 'age', 'income'"


# -- writing -----------------------------------------------------------------------------------------
def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path):
    path = write(tmp_path, "old", "out.txt")

    def fail(file):
        file.write("half")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_csv({"a": [1, 2]}, path)
    assert path.read_text() == "a\n1\n2\n"
    assert list(tmp_path.iterdir()) == [path]


def test_outputs_are_checked(tmp_path):
    old = write(tmp_path, "old", "old.csv")
    new = tmp_path / "folder" / "new.csv"
    check_outputs([new])
    assert list(new.parent.iterdir()) == []
    with pytest.raises(OutputError, match=r"old\.csv exists already: add --force"):
        check_outputs([old, new])
    check_outputs([old, new], force=True)
    with pytest.raises(OutputError, match="is the input itself"):
        check_outputs([old], force=True, inputs=[old])
    with pytest.raises(OutputError, match="it is a folder"):
        check_outputs([new.parent], force=True)
    with pytest.raises(OutputError, match="cannot write into"):
        check_outputs([old / "below.csv"])
