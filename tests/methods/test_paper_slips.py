"""Hand-made cases for the places where the paper slips or leaves something open (docs/paper_notes.md)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from cs3vm import CS3VMClassifier, Problem, Status, solve
from cs3vm.learn.scaling import paper_scaling
from cs3vm.methods.reclustering.clusters import Clustering
from cs3vm.methods.reclustering.reduction import Reduction
from cs3vm.model.result import Result
from cs3vm.solvers import get_solver
from tests.methods.test_methods import blobs


def test_sign_convention_is_w_x_plus_b():
    """P1 is printed with w·x − b: for labels at 1 and 3 the plane is x − 2 = 0, so b = −2."""
    result = solve(Problem([[3.0], [1.0]], [1, -1], np.zeros((0, 1)), 0), "svm")
    assert result.coef[0] == pytest.approx(1.0, abs=1e-5)
    assert result.intercept == pytest.approx(-2.0, abs=1e-5)


def test_point_on_the_plane_counts_either_way_and_transduction_honours_it():
    """P2's h would count all three points at 0 as positive; P3 may choose, and meets the total of one."""
    problem = Problem([[1.0], [-1.0]], [1, -1], np.zeros((3, 1)), 1)
    result = solve(problem, "cs3vm", solver="scip")
    assert (result.count, result.on_plane, result.eta) == (1, 3, (0.0, 0.0))
    X = np.array([[1.0], [-1.0], [0.0], [0.0], [0.0]])
    y = np.array([1, 0, np.nan, np.nan, np.nan])
    with pytest.warns(UserWarning, match="hyperplane"):
        clf = CS3VMClassifier("cs3vm", solver="scip", standardize=None, side_margin=0).fit(X, y, n_positive=1)
    assert clf.transduction_[2:].sum() == 1


def test_rescaling_reaches_from_minus_to_plus_100_and_only_where_needed():
    X = np.column_stack([[0.0, 500.0, 1000.0], [0.0, 50.0, 200.0], [7.0, 7.0, 7.0]])
    scaled = paper_scaling(X).transform(X)
    np.testing.assert_allclose(scaled[:, 0], [-100.0, 0.0, 100.0])  # printed: shifted to [100, 300]
    np.testing.assert_allclose(scaled[:, 1], [-100.0, -50.0, 100.0])  # centred, not stretched
    np.testing.assert_allclose(scaled[:, 2], 0.0)


def paper_quantile(values: np.ndarray, a: float) -> float:
    s, d = np.sort(values), len(values)
    share = np.arange(d) / (d - 1)
    q, r = np.flatnonzero(share <= a).max() + 1, np.flatnonzero(share >= a).min() + 1
    if q == r:  # printed: 0/0
        return s[q - 1]
    return s[q - 1] + (s[q - 1] - s[r - 1]) / (q - r) * ((d - 1) * a - q + 1)


def test_the_papers_quantile_is_numpys():
    rng = np.random.default_rng(0)
    for a in (0.25, 0.5, 0.8, 0.9, 1.0):
        values = rng.normal(size=11)
        assert np.quantile(values, a) == pytest.approx(paper_quantile(values, a))


def line_reduction() -> Reduction:
    """Nine clusters of one point each at -4 … 4; those at -3 and 3 discarded into those at -4 and 4."""
    points = np.arange(-4.0, 5.0)[:, None]
    problem = Problem([[1.0], [-1.0]], [1, -1], points, 4)
    clusters = Clustering(problem, np.arange(9))
    home = np.arange(9)
    home[1], home[7] = 0, 8
    return Reduction(clusters, home)


def step_with(reduction: Reduction, w: float, b: float) -> Result:
    p4 = reduction.problem()
    z = (p4.U[:, 0] * w + b > 0).astype(np.int8)
    return Result(p4, Status.FEASIBLE, np.array([w]), b, z)


def test_residual_carries_the_weight_of_what_is_discarded():
    reduction = line_reduction()
    p4 = reduction.problem()
    assert p4.m == 7
    assert p4.total_weight == 9
    assert p4.weights[0] == p4.weights[-1] == 2


def test_j_compares_with_the_side_of_the_residual():
    reduction = line_reduction()
    same = reduction.look(step_with(reduction, 1.0, 0.0))
    assert not same.opposite.any()
    # All points flip together with their residuals: the count is still right, so J is empty.
    flipped = reduction.look(step_with(reduction, -1.0, 0.0))
    assert not flipped.opposite.any()
    # The plane moves between 3 and 4: the residual at 4 stays positive, the discarded point at 3 does not.
    between = reduction.look(step_with(reduction, 1.0, -3.5))
    assert list(np.flatnonzero(between.opposite)) == [7]


def test_residuals_are_chosen_anew_and_nothing_is_lost():
    reduction = line_reduction()
    view = reduction.look(step_with(reduction, -1.0, 0.2))
    discard = view.distance > 2.5
    following = reduction.next(view, discard & ~reduction.discarded, np.zeros(9, dtype=bool))
    assert following.problem().total_weight == 9
    assert following.discarded.sum() == 2  # of ±3 and ±4, the farthest on each side stays as the residual
    assert list(np.flatnonzero(following.discarded)) == [1, 7]


def test_a_side_without_active_clusters_has_no_residual():
    reduction = Reduction.of(line_reduction().clusters)
    view = reduction.look(step_with(reduction, 1.0, 10.0))  # all positive
    following = reduction.next(view, view.distance > 7.5, np.zeros(9, dtype=bool))
    assert following.problem().total_weight == 9
    assert set(following.home[following.discarded]) == {8}


def test_points_on_the_plane_go_with_their_clusters_side_in_a_split():
    problem = Problem([[1.0], [-1.0]], [1, -1], [[-1.0], [0.0], [2.0]], 1)
    reduction = Reduction.of(Clustering(problem, np.zeros(3, dtype=np.intp)))
    for side, expected in ((1, [[-1.0], [1.0]]), (0, [[-0.5], [2.0]])):
        step = Result(
            reduction.problem(), Status.FEASIBLE, np.array([1.0]), 0.0, np.array([side], dtype=np.int8)
        )
        view = reduction.look(step)
        after = reduction.next(view, np.zeros(1, dtype=bool), np.zeros(1, dtype=bool))
        np.testing.assert_allclose(np.sort(after.clusters.centroids, axis=0), expected)


def test_m_is_updated_on_the_clusters_after_the_split():
    problem = blobs(1)
    result = solve(problem, "ircm", solver="scip", time_limit=30)
    first, second = result.iterations[:2]
    assert first.big_m == problem.paper_big_m
    # The next P4 starts from a point of value f̃ ≥ its optimum, and M is 2√(2f̃)·max‖x‖ + 1.
    f_tilde = ((second.big_m - 1) / (2 * problem.radius)) ** 2 / 2
    assert f_tilde >= second.bound * (1 - 1e-6)
    assert second.big_m < first.big_m


def test_returned_objective_is_the_one_on_the_points():
    problem = blobs(2)
    result = solve(problem, "ircm", solver="scip", time_limit=30)
    assert len(result.z) == problem.m
    assert result.objective == pytest.approx(problem.objective(result.coef, result.intercept, result.z))
    scores = problem.scores(result.coef, result.intercept)
    assert result.count == (result.z > 0).sum()
    assert np.all((scores > 1e-6) <= (result.z > 0))


def test_algorithm_3_fixes_fewer_than_b_max_and_starts_with_the_farthest():
    problem = blobs(1)
    ircm = solve(problem, "ircm", solver="scip")
    result = solve(problem, "wircm", solver="scip", max_fixed=3, fix_factor=1.2)
    p5 = [step for step in result.iterations if step.phase == "P5"]
    assert sum(bool(step.fixed) for step in p5) <= 3
    assert len(p5) <= 4  # ⌈1.2·3⌉
    assert p5[0].point == np.argmax(np.abs(problem.scores(ircm.coef, ircm.intercept)))


def test_p5_is_a_feasibility_problem():
    problem = blobs(1, m=20)
    best = get_solver("scip")(problem)
    loose = get_solver("scip")(problem, cutoff=2 * best.objective, first_improvement=True)
    assert loose.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert loose.objective < 2 * best.objective
    none = get_solver("scip")(problem, cutoff=best.objective * 0.999, first_improvement=True)
    assert none.status is Status.CUTOFF


@pytest.mark.parametrize(
    ("y", "n_positive", "expected"),
    [
        ([1, 1, 1, -1], 5, 2 * 1 + 0),  # b = 1: 2·C₁·n₋ + C₂(m − τ)
        ([1, -1, -1, -1], 0, 2 * 1 + 0),  # b = −1: 2·C₁·n₊ + C₂·τ
        ([1, 1, -1, -1], 3, 4),  # b = 0 with any z: C₁·n
    ],
)
def test_trivial_value_is_the_smallest_of_three(y, n_positive, expected):
    problem = Problem(np.eye(4), y, np.ones((5, 4)), n_positive)
    assert problem.trivial.cost == pytest.approx(expected)
    assert problem.big_m() == pytest.approx(2 * np.sqrt(2 * expected) * np.sqrt(4) + 1)
    assert problem.big_m() <= problem.paper_big_m
    assert problem.big_m(0.5) < problem.big_m()


def test_lemma_1_with_one_class_holds_for_some_optimum_only():
    problem = Problem([[0.0]], [1], [[0.0]], 1)
    far = problem.objective(np.zeros(1), 50.0, np.array([1]))
    assert far == 0.0  # optimal, with |b| far beyond ‖w‖·max‖x‖ + 1
    assert abs(get_solver("scip")(problem).intercept) <= 2.0


def test_as_many_clusters_as_points_still_need_one_solve():
    problem = blobs(0, m=8)
    result = solve(problem, "rcm", solver="scip", n_clusters=8)
    assert len(result.iterations) == 1
    assert result.objective == pytest.approx(get_solver("scip")(problem).objective, rel=1e-6)


def test_gap_divides_by_the_objective_with_a_floor():
    problem = Problem([[1.0], [-1.0]], [1, -1], [[0.0]], 1)
    result = Result(problem, Status.FEASIBLE, np.zeros(1), 0.0, np.array([1]), lower_bound=1.5)
    assert result.objective == 2.0
    assert result.gap == pytest.approx(0.25)
    one = Problem([[1.0]], [1], [[0.0]], 1)
    assert Result(one, Status.FEASIBLE, np.zeros(1), 1.0, np.array([1])).gap == 0.0


def test_table_1_has_55_15_and_27_sets():
    table = Path(__file__).parents[2] / "experiments" / "paper_instances.tsv"
    with open(table, newline="") as file:
        sizes = np.array([int(row["N"]) for row in csv.DictReader(file, delimiter="\t")])
    assert [(sizes <= 500).sum(), ((sizes > 500) & (sizes <= 1500)).sum(), (sizes > 1500).sum()] == [
        55,
        15,
        27,
    ]
