"""The tables of ``python -m benchmarks exact`` and ``certificates`` are functions of their rows."""

from benchmarks import certificates, exact


def row(name: str, rows: int, status: str, **more: str) -> dict[str, str]:
    gap = "0" if status == "optimal" else "0.25"
    empty = dict.fromkeys(exact.BOUNDS.values(), "")
    return {"dataset": name, "n": "10", "m": str(rows - 10), "status": status, "gap": gap} | empty | more


def test_datasets_weigh_the_same_and_the_gap_is_of_the_others():
    rows = [row("a", 100, "optimal"), row("a", 100, "time limit"), row("b", 100, "optimal")]
    assert exact.table(rows).splitlines()[-1] == "| N ≤ 500 | 3 | 2 (75%) | > 50 % | 25.0% |"


def test_closed_nodes_are_shares_of_each_instance():
    some = dict(zip(exact.BOUNDS.values(), ["1", "1", "0", "1", "1"], strict=True))
    others = dict(zip(exact.BOUNDS.values(), ["0", "0", "0", "45", "45"], strict=True))
    rows = [row("a", 100, "optimal", **some), row("b", 100, "optimal", **others), row("c", 100, "optimal")]
    assert exact.bounds_table(rows).splitlines()[-1] == "| N ≤ 500 | 2 | 12% | 12% | 0% | 38% | 38% |"


def test_what_the_graph_or_a_block_closed_is_not_counted_twice():
    extras = {"svm_closed": 3, "flips_closed": 9, "joint_closed": 4, "group_closed": 5, "block_closed": 3}
    assert list(exact.closed(extras).values()) == [3, 5, 4, 2, 3]
    assert set(exact.closed({}).values()) == {""}


def test_a_proof_that_is_not_confirmed_is_counted():
    good = {"status": "optimal", "confirmed": "1", "nodes": "5", "values": "40", "check_seconds": "0.5"}
    bad = good | {"confirmed": "0", "values": "70"}
    lines = certificates.table([good, bad]).splitlines()
    assert lines[-1] == "| 2 | 2 | 1 | 70, 70 | 0.5 s |"
