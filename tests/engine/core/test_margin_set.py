"""The basis of the margin set says what the rows in it say, however often rows come and go."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from cs3vm.engine.core import margin_set
from cs3vm.engine.core.arrays import SIZE, new_scratch, new_state

RANK, ROWS = 6, 30


@numba.njit
def add(Z, st, u, dw, j):
    q = st.number[SIZE]
    gamma = margin_set.project(Z, st.Q, st.members, q, u, dw, j)
    margin_set.expand(st, u, dw, j, gamma)


@numba.njit
def push(Z, st, u, dw, j):
    return margin_set.project(Z, st.Q, st.members, st.number[SIZE], u, dw, j)


@numba.njit
def add_during_a_push(Z, st, u, dw, other_u, other_dw, j):
    add(Z, st, other_u, other_dw, j)
    margin_set.enter(st.Q, st.number[SIZE], u, dw)


@numba.njit
def remove(st, tmp, a):
    margin_set.contract(st, tmp, a)


@numba.njit
def combination(Z, st, u, dw, beta):
    margin_set.combine(Z, st.B, st.members[0], st.number[SIZE], u, dw, beta)


def rows_of(seed: int, flat: float = 1.0):
    """Rows of which the last directions are ``flat`` times as long as the first."""
    return np.random.default_rng(seed).normal(size=(ROWS, RANK)) * np.geomspace(1.0, flat, RANK)


def check(Z, st, tolerance):
    """Q is orthonormal, and B takes coordinates in it to coefficients of the differences to z₀."""
    q = int(st.number[SIZE])
    members, Q, B = st.members[:q], st.Q[: q - 1], st.B[: q - 1, : q - 1]
    differences = Z[members[1:]] - Z[members[0]]
    np.testing.assert_allclose(Q @ Q.T, np.eye(q - 1), atol=tolerance)
    np.testing.assert_allclose(differences @ Q.T @ Q, differences, atol=1e-11)
    np.testing.assert_allclose(differences @ Q.T @ B.T, np.eye(q - 1), atol=1e-8)
    assert np.flatnonzero(st.inside).tolist() == sorted(members.tolist())


@pytest.mark.parametrize("flat", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_rows_come_and_go_during_a_push(seed, flat):
    rng, Z = np.random.default_rng(seed), rows_of(seed, flat)
    st, tmp = new_state(4, ROWS, RANK), new_scratch(4, ROWS - 4, RANK, RANK)
    add(Z, st, tmp.u, tmp.dw, 0)
    add(Z, st, tmp.u, tmp.dw, 1)
    j = ROWS - 1
    push(Z, st, tmp.u, tmp.dw, j)
    for _ in range(100):  # then all is rebuilt
        q = int(st.number[SIZE])
        if q < 3 or (q < RANK and rng.random() < 0.5):
            others = np.setdiff1d(np.arange(ROWS - 1), st.members[:q])
            add_during_a_push(Z, st, tmp.u, tmp.dw, tmp.other_u, tmp.other_dw, int(rng.choice(others)))
        else:
            a = int(rng.integers(q))
            remove(st, tmp, a)
            if a == 0:
                push(Z, st, tmp.u, tmp.dw, j)
        check(Z, st, 1e-9)
        kept_u, kept_dw = tmp.u.copy(), tmp.dw.copy()
        push(Z, st, tmp.u, tmp.dw, j)
        q = int(st.number[SIZE])
        np.testing.assert_allclose(kept_u[: q - 1], tmp.u[: q - 1], atol=1e-9)
        np.testing.assert_allclose(kept_dw, tmp.dw, atol=1e-9)
        combination(Z, st, tmp.u, tmp.dw, tmp.beta)
        members, beta = st.members[:q], tmp.beta[1 : q + 1]
        size = 1.0 + np.abs(beta).sum()
        assert beta.sum() == pytest.approx(-1.0, abs=1e-12 * size)
        np.testing.assert_allclose(Z[j] + beta @ Z[members], tmp.dw, atol=1e-11 * size)
        np.testing.assert_allclose(Z[members] @ tmp.dw + tmp.beta[0], 0.0, atol=1e-11)


def test_a_row_that_depends_on_the_others_has_nothing_beyond_them():
    Z = rows_of(7)
    Z[5] = 0.3 * Z[0] + 0.9 * Z[1] - 0.2 * Z[2]
    Z[6] = Z[1]
    st, tmp = new_state(4, ROWS, RANK), new_scratch(4, ROWS - 4, RANK, RANK)
    for j in range(3):
        add(Z, st, tmp.u, tmp.dw, j)
    floor = margin_set._FLOOR * np.max(np.einsum("ij,ij->i", Z, Z))
    for j in (5, 6):
        assert push(Z, st, tmp.u, tmp.dw, j) < floor
    combination(Z, st, tmp.u, tmp.dw, tmp.beta)
    np.testing.assert_allclose(tmp.beta[1:4], [0, -1, 0], atol=1e-14)
    for j in (3, 4, 7, 8):
        add(Z, st, tmp.u, tmp.dw, j)
    assert st.number[SIZE] == RANK + 1
    assert push(Z, st, tmp.u, tmp.dw, 9) == 0.0  # there is no more room
