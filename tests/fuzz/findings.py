"""Findings of the fuzz that still stand: each has a test that fails today.

Who closes one removes its line here and the mark of its test in ``test_findings.py``.
"""

#: By part: how the signature of the finding begins (its kind and message without numbers).
KNOWN: dict[str, tuple[str, ...]] = {}
