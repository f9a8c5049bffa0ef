"""What the known total demands of the intercept in a box.

In a box each row has a smallest and a largest score v·(u - pivot). Where the count misses its total by at
most k, enough rows are positive, so that b + w·pivot ≥ ε - t·q with q an order statistic of the largest
scores, and enough are negative: the same from above with the smallest scores. Misses are put into classes,
each with the least miss in it, which is paid, and the limits of the intercept for the greatest miss in it.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ..exact.bounds import sort_together
from ..jit import ZERO, strict_kernel
from .arrays import (
    BASE,
    CLASSES,
    CUTOFF,
    HIGH,
    LOW,
    NEGATIVE,
    POSITIVE,
    PRICE,
    SLACK,
    TARGET_HIGH,
    TARGET_LOW,
    WEIGHT,
    WORK,
    Cone,
    Data,
    Scratch,
)
from .cuts import UNIT_ROUNDOFF


@strict_kernel
def move_pivot(data: Data, cone: Cone, rows: IntArray, n_open: int) -> None:
    """Put the pivot amid the open rows, which makes their scores vary least; limits are rounded outwards."""
    d = data.U.shape[1]
    least = most = size = 0.0
    for r in range(d):
        mean = 0.0
        for k in range(n_open):
            mean += data.U[rows[k], r]
        mean /= n_open
        change = mean - cone.pivot[r]
        one, other = cone.low[r] * change, cone.high[r] * change
        least += min(one, other)
        most += max(one, other)
        size += abs(mean) + abs(cone.pivot[r])
        cone.pivot[r] = mean
    error = (2 * d + 8) * UNIT_ROUNDOFF
    for end, move in ((LOW, least), (HIGH, most)):
        if abs(cone.number[end]) < np.inf:
            outwards = error * (size + abs(cone.number[end]))
            cone.number[end] += move - outwards if end == LOW else move + outwards


@strict_kernel
def score_rows(data: Data, cone: Cone, rows: IntArray, n_open: int, tmp: Scratch) -> None:
    """The smallest and the largest score of each open row, rounded outwards (|v| ≤ 1)."""
    d = data.U.shape[1]
    error = (2 * d + 8) * UNIT_ROUNDOFF
    for k in range(n_open):
        j, least, most, size = rows[k], 0.0, 0.0, 0.0
        for r in range(d):
            part = data.U[j, r] - cone.pivot[r]
            one, other = cone.low[r] * part, cone.high[r] * part
            least += min(one, other)
            most += max(one, other)
            size += abs(part)
        tmp.lower[k], tmp.upper[k] = least - error * size, most + error * size
    cone.integer[WORK] += 4 * d * n_open


@strict_kernel
def make_classes(data: Data, cone: Cone, lim: FloatArray, tmp: Scratch) -> int:
    """Write the least miss of each class to ``start`` and the greatest to ``most``; return their number.

    Misses that cost more than the cutoff leaves are in none.
    """
    number = cone.number
    least = max(number[POSITIVE] - lim[TARGET_HIGH], lim[TARGET_LOW] - (lim[WEIGHT] - number[NEGATIVE]))
    least = max(0.0, least - lim[SLACK])
    most = (lim[CUTOFF] - number[BASE]) / lim[PRICE] * (1.0 + 1e-14)
    most = min(most, lim[WEIGHT] + lim[TARGET_LOW])
    if not least <= most:
        return 0
    if data.whole:
        n = int(most - least) + 1
        width = (n + CLASSES - 1) // CLASSES
        n = (n + width - 1) // width
        for i in range(n):
            tmp.start[i], tmp.most[i] = least + i * width, least + (i + 1) * width - 1
        return n
    for i in range(CLASSES):
        tmp.start[i] = least + (most - least) * i / CLASSES
        tmp.most[i] = least + (most - least) * (i + 1) / CLASSES
    tmp.most[CLASSES - 1] = most
    return CLASSES


@strict_kernel
def needed_weight(cone: Cone, upper: int, miss: float, open_weight: float, lim: FloatArray) -> float:
    """What the positive open rows, or the negative ones, weigh at least where the miss is at most that."""
    if upper:
        return float(open_weight - (lim[TARGET_HIGH] + miss - cone.number[POSITIVE]) - 2.0 * lim[SLACK])
    return float(lim[TARGET_LOW] - miss - cone.number[POSITIVE] - 2.0 * lim[SLACK])


@strict_kernel
def divide(keys: FloatArray, items: IntArray, begin: int, end: int, place: int) -> None:
    """Move keys within [begin, end) so that those before ``place`` are no larger than those from there on."""
    while end - begin > 1:
        pivot = keys[(begin + end) // 2]
        i, j = begin, end - 1
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                items[i], items[j] = items[j], items[i]
                i += 1
                j -= 1
        if place <= j:
            end = j + 1
        elif place >= i:
            begin = i
        else:
            return


@strict_kernel
def sort_between(keys: FloatArray, items: IntArray, n: int, first: int, last: int) -> None:
    """Put the places [first - 1, last) of the ascending order right; the others only on the right side."""
    first = max(first - 1, 0)
    if last < n:
        divide(keys, items, ZERO, n, last)
    divide(keys, items, ZERO, last, first)
    sort_together(keys[first:last], items[first:last], last - first)


@strict_kernel
def limit_classes(
    data: Data, cone: Cone, rows: IntArray, n_open: int, n: int, lim: FloatArray, tmp: Scratch
) -> None:
    """Write the limits of the intercept of each class, narrower than those of the box or the same."""
    open_weight = lim[WEIGHT] - cone.number[POSITIVE] - cone.number[NEGATIVE]
    for upper in range(2):
        for k in range(n_open):
            tmp.key[k] = tmp.lower[k] if upper else -tmp.upper[k]
            tmp.place[k] = k
        most_needed = needed_weight(cone, upper, tmp.most[0], open_weight, lim)
        k, reached = n_open, open_weight  # the first k in this order weigh as much
        if data.equal:
            least_needed = needed_weight(cone, upper, tmp.most[n - 1], open_weight, lim)
            first, k = int(max(0.0, least_needed)), int(min(max(0.0, most_needed) + 1.0, float(n_open)))
            reached = float(k)
            sort_between(tmp.key, tmp.place, n_open, min(first, k), k)
            cone.integer[WORK] += 8 * n_open + 16 * (k - min(first, k))
        else:
            sort_together(tmp.key, tmp.place, n_open)
            cone.integer[WORK] += 24 * n_open
        for i in range(n):
            needed = needed_weight(cone, upper, tmp.most[i], open_weight, lim)
            while k > 0 and reached - data.weight[rows[tmp.place[k - 1]]] >= needed:
                k -= 1
                reached -= data.weight[rows[tmp.place[k]]]
            if upper:
                tmp.hi[i] = cone.number[HIGH]
                if needed > 0.0 and k > 0:
                    tmp.hi[i] = min(tmp.hi[i], -tmp.key[k - 1])
            else:
                tmp.lo[i] = cone.number[LOW]
                if needed > 0.0 and k > 0:
                    tmp.lo[i] = max(tmp.lo[i], tmp.key[k - 1])
