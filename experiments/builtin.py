"""Datasets that need no files: three that come with scikit-learn and three that are generated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Builtin:
    rows: int
    twin: str  # PMLB's name
    difference: str


BUILTIN = {
    "builtin_iris": Builtin(
        149,
        "iris",
        "two rows more, which scikit-learn corrected and which repeat others at PMLB",
    ),
    "builtin_wine": Builtin(178, "wine_recognition", "none: the same rows in the same order"),
    "builtin_breast_cancer": Builtin(
        569, "breast_cancer_wisconsin", "none: the same rows in the same order, malignant is positive in both"
    ),
    "builtin_parity5": Builtin(32, "parity5", "the same rows in another order, so other samples"),
    "builtin_mux6": Builtin(64, "mux6", "the same distinct rows in another order, so other samples"),
    "builtin_parity5+5": Builtin(
        1024, "parity5+5", "the same distinct rows in another order, so other samples"
    ),
}


def builtin_table(name: str) -> pd.DataFrame:
    """The table with its column ``target``, in which 1 is the positive class; repeated rows are dropped."""
    bundled = {"builtin_iris": _iris, "builtin_wine": _wine, "builtin_breast_cancer": _breast_cancer}
    if name in bundled:
        return bundled[name]().drop_duplicates()
    return {"builtin_parity5": _parity5, "builtin_mux6": _mux6, "builtin_parity5+5": _parity5_5}[name]()


def _iris() -> pd.DataFrame:
    from sklearn.datasets import load_iris

    return load_iris(as_frame=True).frame


def _wine() -> pd.DataFrame:
    from sklearn.datasets import load_wine

    table = load_wine(as_frame=True).frame
    return table.assign(target=table["target"] + 1)  # PMLB's classes are 1, 2, 3


def _breast_cancer() -> pd.DataFrame:
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=True).frame
    return table.assign(target=1 - table["target"])  # PMLB's class 1 is malignant, scikit-learn's is 0


def _bits(count: int) -> np.ndarray:
    return (np.arange(2**count)[:, None] >> np.arange(count)[::-1]) & 1


def _table(bits: np.ndarray, target: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(bits, columns=[f"bit {j + 1}" for j in range(bits.shape[1])]).assign(target=target)


def _parity5() -> pd.DataFrame:
    bits = _bits(5)
    return _table(bits, bits.sum(axis=1) % 2)


def _mux6() -> pd.DataFrame:
    """Two address bits choose one of the four others."""
    bits = _bits(6)
    return _table(bits, bits[np.arange(64), 2 + 2 * bits[:, 0] + bits[:, 1]])


def _parity5_5() -> pd.DataFrame:
    """The parity of bits 2, 3, 4, 6 and 8; the other five say nothing."""
    bits = _bits(10)
    return _table(bits, bits[:, [1, 2, 3, 5, 7]].sum(axis=1) % 2)
