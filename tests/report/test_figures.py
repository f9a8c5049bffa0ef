"""The figures show what the result says."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from cs3vm import CS3VMClassifier, Problem, Result, Status, solve
from cs3vm.model.status import TracePoint
from cs3vm.report import figures as plots

mpl = pytest.importorskip("matplotlib")
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


def make_problem(m=200, d=3, seed=0, **fields):
    rng = np.random.default_rng(seed)
    y = np.array([1, 1, 1, 1, -1, 1, 1, -1])
    X = rng.normal(size=(8, d)) + y[:, None]
    U = rng.normal(size=(m, d)) - 0.3
    return Problem(X, y, U, m // 4, **fields)


@pytest.fixture(scope="module")
def result():
    return solve(make_problem(), "top_tau")


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def as_svg(ax):
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        ax.figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def bars_of(ax, colour):
    return [bar for bar in ax.patches if to_hex(bar.get_facecolor()) == colour.lower()]


# -- scores ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 3.0, 200)])
def test_histogram_counts_every_unlabelled_row_on_its_side(ax, weights):
    problem = make_problem(weights=weights)
    result = solve(problem, "top_tau")
    assert plots.score_histogram(result, ax) is ax
    positive = sum(bar.get_height() for bar in bars_of(ax, plots.POSITIVE))
    negative = sum(bar.get_height() for bar in bars_of(ax, plots.NEGATIVE))
    assert positive == pytest.approx(result.count)
    assert negative == pytest.approx(problem.total_weight - result.count)
    assert ax.get_ylabel() == ("unlabelled rows" if weights is None else "unlabelled weight of rows")


def test_no_bin_straddles_the_hyperplane(ax, result):
    plots.score_histogram(result, ax)
    for bar in ax.patches:
        left, right = bar.get_x(), bar.get_x() + bar.get_width()
        assert right <= 1e-9 or left >= -1e-9


def test_histogram_shows_the_labelled_rows(ax, result):
    plots.score_histogram(result, ax, names=("yes", "no"))
    lines = {line.get_label(): line.get_xdata() for line in ax.lines}
    scores = result.problem.X @ result.coef + result.intercept
    assert sorted(lines["labelled yes: 6"]) == pytest.approx(sorted(scores[result.problem.y > 0]))
    assert sorted(lines["labelled no: 2"]) == pytest.approx(sorted(scores[result.problem.y < 0]))


def test_histogram_of_the_trivial_plane(ax):
    problem = make_problem()
    trivial = problem.trivial
    plots.score_histogram(Result(problem, Status.FEASIBLE, np.zeros(3), trivial.b, trivial.z), ax)
    assert sum(bar.get_height() for bar in ax.patches) == problem.m


def problem_with_scores(scores):
    """A problem in one dimension, and the plane whose scores are the rows themselves."""
    U = np.asarray(scores, dtype=float)[:, None]
    problem = Problem([[1.0], [-1.0]], [1, -1], U, int(np.sum(U >= 0)))
    return Result(problem, Status.FEASIBLE, np.ones(1), 0.0, (U[:, 0] >= 0).astype(np.int8))


@pytest.mark.parametrize("seed", range(30))
def test_rows_at_the_ends_are_counted_whatever_the_rounding(seed):
    """Rows that share the largest value must not be lost behind the last edge of the bins."""
    rng = np.random.default_rng(seed)
    top = 1.0 + 3.0 * rng.random()
    result = problem_with_scores([*[top] * 3, *rng.uniform(0, 1, 400)])
    result = replace(result, problem=replace(result.problem, X=[[top], [0.0]]))
    ax = plots.score_histogram(result, Figure().subplots(), names=("yes", "no"))
    assert sum(bar.get_height() for bar in ax.patches) == 403
    assert "classified yes: 403" in ax.get_legend_handles_labels()[1]


# -- projection --------------------------------------------------------------------------------------
def n_points(ax):
    return {c.get_label(): len(c.get_offsets()) for c in ax.collections}


def test_projection_shows_all_rows_and_rings_the_changed_ones(ax, result):
    naive = solve(result.problem, "svm")
    changed = int(np.sum(naive.z != result.z))
    assert 0 < changed < result.problem.m
    assert plots.projection(result, ax) is ax
    drawn = n_points(ax)
    assert drawn["unlabelled, classified positive"] == result.count
    assert drawn["unlabelled, classified negative"] == result.problem.m - result.count
    assert drawn["the SVM says otherwise"] == changed
    assert drawn["labelled positive: 6"] == 6
    assert drawn["labelled negative: 2"] == 2
    assert ax.get_title() == ""


def test_projection_is_on_the_principal_components(ax, result):
    plots.projection(result, ax)
    rows = np.vstack([result.problem.X, result.problem.U])
    centred = rows - rows.mean(axis=0)
    _, values, vectors = np.linalg.svd(centred, full_matrices=False)
    expected = np.abs(centred[: result.problem.n] @ vectors[:2].T)
    shown = {c.get_label(): np.abs(c.get_offsets()) for c in ax.collections}
    assert np.asarray(shown["labelled positive: 6"]) == pytest.approx(expected[result.problem.y > 0])
    share = 100 * values[0] ** 2 / np.sum(values**2)
    assert f"({share:.0f} % of the variance)" in ax.get_xlabel()


def test_projection_says_when_it_shows_a_sample(ax, result):
    plots.projection(result, ax, max_points=50)
    drawn = n_points(ax)
    assert sum(n for name, n in drawn.items() if name.startswith("unlabelled")) == 50
    assert ax.get_title() == "a random 50 of 200 unlabelled rows"


def test_many_labelled_rows_are_sampled_and_the_legend_says_so(ax):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(1000) < 900, 1, -1)
    result = solve(Problem(rng.normal(size=(1000, 2)) + y[:, None], y, [[0.0, 0.0]], 1), "svm")
    plots.projection(result, ax)
    assert n_points(ax)["labelled positive: 900, 150 shown"] == 150
    assert n_points(ax)["labelled negative: 100"] == 100


@pytest.mark.parametrize("d", [1, 2])
def test_projection_of_few_features(ax, d):
    plots.projection(solve(make_problem(d=d), "top_tau"), ax)
    assert "unlabelled" in as_svg(ax)


def test_figures_of_a_million_rows_stay_small(ax):
    result = solve(make_problem(m=1_000_000, d=2), "top_tau")
    plots.projection(result, ax)
    assert sum(n_points(ax).values()) <= 2 * 4000 + 8
    assert "of 1\u202f000\u202f000 unlabelled rows" in ax.get_title()
    histogram = plots.score_histogram(result, Figure().subplots())
    assert len(histogram.patches) <= 2 * (plots.MAX_BINS + 2)
    assert sum(bar.get_height() for bar in histogram.patches) == 1_000_000


# -- weights -----------------------------------------------------------------------------------------
def test_weights_are_shown_largest_first(ax):
    problem = make_problem(d=6)
    result = solve(problem, "svm")
    plots.weights(result, ax=ax, top=4)
    lengths = [bar.get_width() for bar in ax.patches]
    assert lengths == sorted(result.coef, key=abs, reverse=True)[:4]
    assert ax.get_yticklabels()[0].get_text() == f"x{np.argmax(np.abs(result.coef))}"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is on top
    assert ax.get_title() == "the 4 largest of 6 weights"


def test_weights_of_a_classifier_have_its_feature_names(ax):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"small": [1.0, 2, 3, 4], "large": [1.0, 5, 1, 5]})
    clf = CS3VMClassifier("svm").fit(X, [0, 1, 0, 1])
    plots.weights(clf, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["large", "small"]


@pytest.mark.parametrize(
    "name", ["$x^2$", "$", "a$b$c", r"$\frac{$", r"\$5 to $10", "<b>&amp;", "x\x00\ny", "\ud800"]
)
def test_names_are_shown_as_they_are(ax, result, name):
    plots.weights(result, [name, "b", "c"], ax)
    plots.score_histogram(result, Figure().subplots(), names=(name, name))
    svg = as_svg(ax)
    shown = "".join(c if c.isprintable() else " " for c in name)
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert f">{escaped}</text>" in svg


def test_long_names_are_cut():
    assert len(plots.show("n" * 500)) == plots.MAX_NAME


# -- search ------------------------------------------------------------------------------------------
def test_convergence_ends_at_the_answer(ax, result):
    trace = (TracePoint(0.1, np.inf, 0.0, 0), TracePoint(0.2, result.objective + 1, 0.5, 1))
    plots.convergence(replace(result, trace=trace, seconds=1.0), ax)
    best, bound = ax.lines
    assert best.get_xdata().tolist() == [0.2, 1.0]
    assert best.get_ydata().tolist() == [result.objective + 1, result.objective]
    assert bound.get_ydata().tolist() == [0.5, result.lower_bound]


def test_convergence_without_a_record(ax, result):
    assert result.trace == ()
    plots.convergence(result, ax)
    assert "no record" in ax.get_title()
    assert ax.lines[0].get_ydata().tolist() == [result.objective]


def test_convergence_cuts_off_a_start_that_is_far_off(ax, result):
    first = 100 * result.objective
    plots.convergence(replace(result, trace=(TracePoint(0.0, first, 0.0, 0),), seconds=1.0), ax)
    assert ax.get_ylim()[1] < 10 * result.objective
    assert f"{first:.4g}" in ax.get_title()


# -- all ---------------------------------------------------------------------------------------------
DRAW = [plots.score_histogram, plots.projection, plots.weights, plots.convergence]


@pytest.mark.parametrize("draw", DRAW)
def test_new_axes_are_made_where_none_are_given(draw, result):
    plt = pytest.importorskip("matplotlib.pyplot")
    before = set(plt.get_fignums())
    axes = draw(result)
    new = set(plt.get_fignums()) - before
    assert {axes.figure.number} == new
    plt.close(axes.figure)


@pytest.mark.parametrize("draw", DRAW)
def test_a_result_without_an_answer_is_refused(draw, ax):
    with pytest.raises(ValueError, match="no answer to draw"):
        draw(Result(make_problem(), Status.INFEASIBLE), ax)
