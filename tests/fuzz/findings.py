"""Findings of the fuzz that still stand: each has a test that fails today.

Who closes one removes its line here and the mark of its test in ``test_findings.py``.
"""

_STATUS = ("wrong: feasible without a point", "wrong: infeasible, but a plane exists")
#: By part: how the signature of the finding begins (its kind and message without numbers).
KNOWN: dict[str, tuple[str, ...]] = {
    "engine": (*_STATUS, "wrong: last digits"),
    "mip": (*_STATUS, "wrong: last digits"),
    "norms": (*_STATUS, "wrong: last digits", "slow: no end", "crash: Exception: SCIP"),
    "files": ("crash: read_table: UnicodeDecodeError", "crash: read_table: StopIteration"),
    "models": (
        "crash: from_json: OverflowError",
        "crash: a loaded model: UnicodeEncodeError",
        "crash: load_model: ValueError: Out of range",
    ),
    "certificates": ("wrong: confirmed a point with sides", "wrong: confirmed objective"),
}
