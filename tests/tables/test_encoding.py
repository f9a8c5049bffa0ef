"""From columns to features and back to the same features for new rows."""

import numpy as np
import pandas as pd
import pytest

from cs3vm.exceptions import TableError
from cs3vm.tables.encoding import Column, Encoding, learn_encoding, missing_count
from cs3vm.tables.reading import read_table


@pytest.fixture
def table(tmp_path):
    def make(text, **options):
        path = tmp_path / "t.csv"
        path.write_text(text)
        return read_table(path, **options)

    return make


def test_numbers_flags_and_categories(table):
    data = table("age,member,region\n30,True,north\n40,False,south\n50,True,north\n")
    encoding = learn_encoding(data, data.columns)
    assert [column.kind for column in encoding.columns] == ["number", "flag", "category"]
    assert encoding.feature_names == ["age", "member", "region=north", "region=south"]
    np.testing.assert_array_equal(encoding.transform(data), [[30, 1, 1, 0], [40, 0, 0, 1], [50, 1, 1, 0]])


def test_new_rows_get_the_same_features_in_any_column_order(table):
    encoding = learn_encoding(table("x,region\n1,b\n2,a\n"), ["x", "region"])
    np.testing.assert_array_equal(encoding.transform(table("region,extra,x\nb,9,5\n")), [[5, 0, 1]])


def test_an_unseen_category_is_an_error_or_none_of_the_known(table):
    encoding = learn_encoding(table("region\na\nb\n"), ["region"])
    new = table("region\na\nc\n")
    with pytest.raises(TableError, match=r"'region' of t\.csv has the value 'c' in row 3 .*--allow-unseen"):
        encoding.transform(new)
    np.testing.assert_array_equal(encoding.transform(new, allow_unseen=True), [[1, 0], [0, 0]])


def test_a_column_missing_in_new_rows_is_named(table):
    encoding = learn_encoding(table("income,age\n1,2\n"), ["income", "age"])
    with pytest.raises(TableError, match=r"no column 'income'\. Did you mean 'incomes'"):
        encoding.transform(table("incomes,age\n1,2\n"))


def test_missing_values_name_rows_and_columns(table):
    data = table("age,income,region\n1,,a\n2,5,\n,7,b\n4,,a\n")
    encoding = learn_encoding(data, data.columns)
    with pytest.raises(TableError) as caught:
        encoding.transform(data)
    text = str(caught.value)
    for part in (
        "4 missing",
        "'age' in row 4",
        "'income' in rows 2 and 5",
        "'region' in row 3",
        "--impute median",
    ):
        assert part in text
    assert missing_count(data, data.columns) == 4


def test_imputation_is_learnt_once_and_used_for_new_rows(table):
    data = table("age,region,member\n1,a,True\n2,b,\n9,b,False\n,,True\n")
    encoding = learn_encoding(data, data.columns, impute=True)
    assert [column.fill for column in encoding.columns] == [2.0, "b", 1.0]
    np.testing.assert_array_equal(encoding.transform(data)[3], [2, 0, 1, 1])
    np.testing.assert_array_equal(
        encoding.transform(table("age,region,member\n,a,\n7,,True\n"))[0], [2, 1, 0, 1]
    )


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "2", "x", "y"], "holds numbers, but row 4 .* has the text 'x'"),
        (["a", "b", "c", "3"], "holds text, but row 5 .* has the number '3'"),
        (["1", "2", "inf", "4"], "must hold finite numbers, but row 4 .* has 'inf'"),
        (["1", "2", "1_000", "x"], "mixes numbers and text"),
        (["€ 5", "€ 7", "", "€ 9"], "numbers that cannot be read, such as '€ 5' in row 2"),
        (["", '"1,234.5"', '"2,345.5"', '"3.5"'], "mixes numbers and text"),
        (["", '"1,234.5"', '"2,345.5"', ""], "numbers that cannot be read, such as '1,234.5' in row 3"),
        (["5 %", "7 %", "5 %", "9 %"], "numbers that cannot be read, such as '5 %' in row 2"),
        (["2020-01-31", "2021-02-28", "2020-01-31", ""], "'v' of t.csv holds dates"),
        (["31.1.2020", "28.2.2021", "31.1.2020", ""], "'v' of t.csv holds dates"),
    ],
)
def test_mixtures_name_the_first_row_that_does_not_fit(table, cells, message):
    data = table("id,v\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
    with pytest.raises(TableError, match=message):
        learn_encoding(data, ["v"]).transform(data)


def test_declared_categories_keep_their_text(table):
    data = table("code\n01\n2+\n01\n", as_text=["code"])
    encoding = learn_encoding(data, ["code"], categorical=["code"])
    assert encoding.feature_names == ["code=01", "code=2+"]


def test_too_many_values_and_dates_and_nothing(table, tmp_path):
    data = table("name,empty\n" + "".join(f"n{i}x,\n" for i in range(150)))
    with pytest.raises(TableError, match=r"'name' of t.csv has 150 different values in 150 rows.*--id name"):
        learn_encoding(data, ["name"])
    assert len(learn_encoding(data, ["name"], categorical=["name"]).feature_names) == 150
    with pytest.raises(
        TableError, match=r"'empty' of t.csv has no values: leave it out with --exclude empty"
    ):
        learn_encoding(data, ["empty"])
    with pytest.raises(TableError, match="no columns left to learn from"):
        learn_encoding(data, [])
    pd.DataFrame({"born": pd.to_datetime(["2001-02-03", "2004-05-06"])}).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(TableError, match=r"'born' of d.parquet holds dates"):
        learn_encoding(read_table(tmp_path / "d.parquet"), ["born"])


@pytest.mark.parametrize("value", [[1, 2], b"bytes", {"a": 1}])
def test_nested_values_are_refused(tmp_path, value):
    pd.DataFrame({"v": [value] * 3}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"'v' of t\.parquet holds lists, bytes or other nested values"):
        learn_encoding(read_table(tmp_path / "t.parquet"), ["v"])


def test_ranges_and_codes_are_categories(table):
    data = table("v,w\n18-25,a1\n26-40,b2\n18-25,b2\n")
    assert learn_encoding(data, ["v", "w"]).feature_names == ["v=18-25", "v=26-40", "w=a1", "w=b2"]


def test_mixed_cells_of_a_workbook(tmp_path):
    pd.DataFrame({"v": [1, 2, "x"], "w": [True, None, False], "s": ["1", "2", "3"]}).to_excel(
        tmp_path / "t.xlsx", index=False
    )
    data = read_table(tmp_path / "t.xlsx")
    with pytest.raises(TableError, match=r"row 4 \(the header is row 1\) has the text 'x'"):
        learn_encoding(data, ["v"])
    encoding = learn_encoding(data, ["w", "s"], impute=True)
    assert [column.kind for column in encoding.columns] == ["flag", "number"]
    np.testing.assert_array_equal(encoding.transform(data), [[1, 1], [0.5, 2], [0, 3]])


def test_pandas_categoricals_and_nullable_numbers(tmp_path):
    frame = pd.DataFrame({"c": pd.Categorical(["u", "v", "u"]), "n": pd.array([1, None, 3], dtype="Int64")})
    frame.to_parquet(tmp_path / "t.parquet")
    data = read_table(tmp_path / "t.parquet")
    encoding = learn_encoding(data, ["c", "n"], impute=True)
    np.testing.assert_array_equal(encoding.transform(data), [[1, 0, 1], [0, 1, 2], [1, 0, 3]])


def test_a_number_that_turns_into_text_is_an_error(table):
    encoding = Encoding((Column("x", "number"),))
    with pytest.raises(TableError, match=r"'x' of t.csv must hold finite numbers, but row 3 .* has 'many'"):
        encoding.transform(table("x\n1\nmany\n"))
