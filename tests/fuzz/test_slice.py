"""A fixed slice of the fuzz, chosen by counts and seed."""

from __future__ import annotations

import pytest

from tests.fuzz.findings import KNOWN
from tests.fuzz.referee import signature
from tests.fuzz.runner import Run

SEED = 2026
#: Cases per part, about two minutes on one core in all; a case of certificates has 40 forgeries.
COUNTS = {
    "engine": 1800,
    "totals": 400,
    "mip": 150,
    "norms": 120,
    "kernels": 120,
    "classes": 500,
    "files": 400,
    "models": 1500,
    "certificates": 25,
}
#: A proof that is missing is no wrong claim; this share of tiny, mild cases may lack one.
MAX_MISSING = 0.002


@pytest.mark.parametrize("part", COUNTS)
def test_slice(part, tmp_path):
    run = Run([part], 30.0, 1, SEED, tmp_path, {part: COUNTS[part]}, hard_limit=20.0)
    run.run()
    known = KNOWN.get(part, ())
    new = [
        f"--case {part}:{i} --seed {SEED}: {kind}: {message}"
        for part, i, kind, message in run.all
        if kind != "missing" and not signature(kind, message).startswith(known)
    ]
    assert new == []
    assert run.findings[part]["missing"] <= 1 + MAX_MISSING * COUNTS[part]
    assert run.notes[part]["no oracle"] <= 0.05 * COUNTS[part]
    assert run.counts[part] >= 0.9 * COUNTS[part]
