"""A fixed slice of the fuzz, chosen by counts and seed."""

from __future__ import annotations

import pytest

from tests.fuzz.findings import KNOWN
from tests.fuzz.parts import PARTS
from tests.fuzz.referee import signature
from tests.fuzz.runner import Run

SEED = 2026
#: Cases per part, about two minutes on one core in all; a case of certificates has 40 forgeries.
COUNTS = {
    "engine": 6000,
    "totals": 900,
    "mip": 250,
    "norms": 250,
    "kernels": 200,
    "classes": 800,
    "files": 600,
    "models": 2500,
    "certificates": 50,
}
#: Parts that share a process.
TOGETHER = (("engine", "classes"), ("totals", "kernels", "mip", "norms"), ("files", "models", "certificates"))
#: A proof that is missing is no wrong claim; this share of tiny, mild cases may lack one.
MAX_MISSING = 0.002


def test_every_part_has_its_slice():
    assert sorted(part for parts in TOGETHER for part in parts) == sorted(COUNTS) == sorted(PARTS)


@pytest.mark.parametrize("parts", TOGETHER, ids="-".join)
def test_slice(parts, tmp_path):
    run = Run(list(parts), 30.0, 1, SEED, tmp_path, {part: COUNTS[part] for part in parts}, hard_limit=20.0)
    run.run()
    new = [
        f"--case {part}:{i} --seed {SEED}: {kind}: {message}"
        for part, i, kind, message in run.all
        if kind != "missing" and not signature(kind, message).startswith(KNOWN.get(part, ()))
    ]
    assert new == []
    for part in parts:
        assert run.findings[part]["missing"] <= 1 + MAX_MISSING * COUNTS[part], part
        assert run.notes[part]["no oracle"] <= 0.05 * COUNTS[part], part
        assert run.counts[part] >= 0.9 * COUNTS[part], part
