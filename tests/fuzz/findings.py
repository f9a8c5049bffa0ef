"""Findings of the fuzz that still stand: each has a test that fails today.

Who closes one removes its line here and the mark of its test in ``test_findings.py``.
"""

#: By part: how the signature of the finding begins (its kind and message without numbers).
KNOWN: dict[str, tuple[str, ...]] = {
    "engine": ("wrongfeasible without a point", "wronginfeasible, but a plane exists"),
    "mip": ("wrongfeasible without a point", "wronginfeasible, but a plane exists"),
    "norms": ("wrongfeasible without a point", "wronginfeasible, but a plane exists"),
    "files": ("crashread_table: UnicodeDecodeError",),
    "models": ("crashfrom_json: OverflowError",),
    "certificates": ("wrongconfirmed a point with sides",),
}
