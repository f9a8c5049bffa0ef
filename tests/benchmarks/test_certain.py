"""The tables of ``python -m benchmarks certain`` and ``bias`` are functions of their rows."""

from benchmarks import bias, certain


def row(sampling="biased", **counts):
    own = dict.fromkeys(certain.GROUPS, 0) | {f"{name}_right": 0 for name in certain.GROUPS}
    return {"sampling": sampling} | {name: str(value) for name, value in (own | counts).items()}


def line(table, title):
    return next(line for line in table.splitlines() if line.startswith(f"| {title}"))


def test_shares_and_the_others_of_the_same_instances():
    rows = [
        row(all=100, all_right=70, certain=40, certain_right=36),
        row(all=100, all_right=10),  # no certain row: not among the others either
    ]
    table = certain.table(rows)
    assert line(table, "all labels") == "| all labels | 100 % | 40 % | – |"
    assert line(table, "certain, by proof") == "| certain, by proof | 20 % | 90 % | 57 % |"


def test_size_and_power_read_the_stored_shares():
    known = {"population": "normal", "labels": "20+80", "d": "5", "detectable": "0.4"}
    rows = [{**known, "choice": "class", "found": "0.04"}, {**known, "choice": "one", "found": "0.9"}]
    assert "| 4.0 % |" in line(bias.size(rows), "20+80, 5 features")
    assert line(bias.power(rows), "20+80, 5 features").startswith("| 20+80, 5 features | 90 % |")


def test_a_cell_of_the_simulation():
    found = bias.cell("normal", "100+400", 5, "one", repeats=3)
    assert float(found["found"]) == 1.0
    assert float(bias.cell("rare", "20+20", 5, "class", repeats=3)["found"]) == 0.0
