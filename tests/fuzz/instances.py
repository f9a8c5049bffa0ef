"""Random tiny problems with everything that can go wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cs3vm import Problem
from cs3vm.model.totals import Total, Totals

MARGINS = (1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0)


def tiny(rng: np.random.Generator, norm: str = "l2", extreme: bool | None = None, m_max: int = 5) -> Problem:
    """At most 5 + 5 rows and 3 features; in a quarter of the cases with extreme scales."""
    extreme = rng.random() < 0.25 if extreme is None else extreme
    n, m, d = int(rng.integers(1, 6)), int(rng.integers(1, m_max + 1)), int(rng.integers(1, 4))
    rows = points(rng, n + m, d, extreme)
    X, U = rows[:n], rows[n:]
    if rng.random() < 0.25:
        U[rng.integers(m)] = U[rng.integers(m)]
    if rng.random() < 0.08:  # equal up to the last digits
        i, j = rng.integers(m, size=2)
        U[i] = U[j] * (1.0 + 2.0**-52 * rng.integers(0, 4, d) * 2.0 ** rng.integers(0, 30))
    if rng.random() < 0.12:  # a few kinds of rows
        U = U[rng.integers(min(m, 2), size=m)]
    if rng.random() < 0.15:
        U[rng.integers(m)] = X[rng.integers(n)]
    y = np.where(rng.random(n) < 0.6, 1, -1)
    if rng.random() < 0.12:
        y[:] = rng.choice([-1, 1])
    weights, tau = weights_and_total(rng, m, extreme)
    side = np.where(rng.random(m) < 0.35, rng.choice([-1, 1], m), 0) if rng.random() < 0.3 else None
    return Problem(
        X,
        y,
        U,
        tau,
        weights=weights,
        side=side,
        C=prices(rng, n, extreme),
        count_penalty=float(prices(rng, 1, extreme)[0]),
        side_margin=0.0 if rng.random() < 0.65 else float(rng.choice(MARGINS)),
        norm=norm,
    )


def several(rng: np.random.Generator, m_max: int = 5) -> Problem:
    """The same with up to three totals, which may overlap: exact ones, intervals, half-open ones."""
    extreme = bool(rng.random() < 0.25)
    plain = tiny(rng, extreme=extreme, m_max=m_max)
    totals = []
    for _ in range(int(rng.integers(0, 4))):
        rows = np.flatnonzero(rng.random(plain.m) < rng.uniform(0.2, 1.1))
        weights = plain.weights[rows]
        low, high = np.sort(rng.uniform(0.0, weights.sum(), 2))
        kind = rng.random()
        if kind < 0.3:  # a count that can be met
            low = float(weights[rng.random(len(rows)) < 0.5].sum())
        elif np.all(plain.weights == np.round(plain.weights)) or rng.random() < 0.3:
            low, high = np.floor([low, high])
        high = low if kind < 0.55 else np.inf if kind < 0.7 else max(low, high)
        price = None if rng.random() < 0.5 else float(prices(rng, 1, extreme)[0])
        totals.append(Total(rows, float(low), float(high), price))
    return replace(plain, n_positive=Totals(totals))


def points(rng: np.random.Generator, rows: int, d: int, extreme: bool) -> np.ndarray:
    kind = rng.integers(7)
    made = rng.normal(size=(rows, d))
    if kind == 1:
        made = rng.integers(-2, 3, (rows, d)).astype(float)
    elif kind == 2:
        made = rng.integers(0, 2, (rows, d)).astype(float)
    elif kind == 3:
        made += 10.0 * rng.normal()
    elif kind == 4:
        made[:, 0] = 3.0
    elif kind == 5:
        made = np.round(made, 1)
    elif kind == 6:
        made = np.outer(rng.integers(-3, 4, rows), rng.integers(-2, 3, d)).astype(float)  # on a line
    if not extreme:
        return made * (10.0 ** rng.uniform(-2, 2) if rng.random() < 0.4 else 1.0)
    scaling = rng.integers(4)
    if scaling == 0:
        made *= 10.0 ** rng.uniform(-8, 8)
    elif scaling == 1:
        made *= 10.0 ** rng.uniform(-8, 8, d)  # each column its own
    elif scaling == 2:
        made += 10.0 ** rng.uniform(0, 8)  # far from the origin
    else:
        made *= 10.0 ** rng.uniform(-4, 4, rows)[:, None]  # each row its own
    return made


def prices(rng: np.random.Generator, number: int, extreme: bool) -> np.ndarray:
    if rng.random() < 0.3:
        return np.ones(number)
    width = 6.0 if extreme else 2.0
    if rng.random() < 0.6:
        return np.full(number, 10.0 ** rng.uniform(-width, width))
    return 10.0 ** rng.uniform(-width, width, number)


def weights_and_total(rng: np.random.Generator, m: int, extreme: bool) -> tuple[np.ndarray | None, float]:
    kind = rng.integers(7 if extreme else 4)
    weights: np.ndarray | None = None
    if kind == 2:
        weights = rng.integers(1, 8, m).astype(float)
    elif kind == 3:
        weights = rng.uniform(0.1, 5.0, m)
    elif kind == 4:
        weights = 10.0 ** rng.uniform(-4.5, 4.5, m)
    elif kind == 5:
        weights = rng.integers(1, 5_000_000, m).astype(float)
    elif kind == 6:
        weights = np.round(2.0 ** rng.uniform(0, 54, m))
    total = float(m if weights is None else weights.sum())
    ends = rng.random()
    if ends < 0.08:
        return weights, 0.0
    if ends < 0.16:
        return weights, total
    whole = weights is None or bool(np.all(weights == np.round(weights)))
    if rng.random() < 0.4 and weights is not None:  # a count that can be met
        return weights, min(total, float(weights[rng.random(m) < 0.5].sum()))
    share = rng.uniform(0.0, total)
    return weights, float(np.floor(share)) if whole else share
