"""Further teachers of the student: the same question with labelled rows weighted by chance."""

from dataclasses import replace

import numpy as np
import pytest

from cs3vm import CS3VMClassifier, Result, Status
from cs3vm.learn import teachers
from cs3vm.learn.fit import Fit
from cs3vm.learn.student import Lesson, learn_student
from cs3vm.learn.teachers import NUMBER, chance_factors
from tests.learn.test_several_classes import clouds, totals_of

pytestmark = pytest.mark.filterwarnings("ignore::cs3vm.exceptions.CS3VMWarning")


def noisy(seed=0, n=120):
    """Overlapping clouds and few labels: the labels do not decide between many answers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    truth = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, 0.0)
    y = np.where(np.arange(n) < 16, truth, np.nan)
    return X, y, int(truth[16:].sum())


def fitted(X, y, total, **parameters):
    parameters = {
        "method": "direct",
        "kernel": "laplacian",
        "work_limit": 1e9,
        "time_limit": 600,
    } | parameters
    fit_parameters = {
        name: parameters.pop(name) for name in ("sample_weight", "groups") if name in parameters
    }
    return CS3VMClassifier(**parameters).fit(X, y, n_positive=total, **fit_parameters)


def answers_of(fit: Fit) -> list:
    return list(fit._further_answers())


def lesson_of(fit: Fit, results) -> Lesson:
    one = replace(fit, results=results)
    codes = np.append(fit.labels.codes[fit.labels.codes >= 0], one.answer)
    scores = np.column_stack([r.problem.U @ r.coef + r.intercept for r in results])
    return Lesson.of(codes, fit.labels.plane_classes, scores)


@pytest.mark.parametrize("k", [2, 3])
def test_the_student_is_the_mean_of_what_each_teacher_teaches(k):
    if k == 2:
        X, y, total = noisy()
    else:
        X, y, truth = clouds(k)
        total = totals_of(y, truth)
        X = X + np.random.default_rng(1).normal(0.0, 1.5, X.shape)
    fit = fitted(X, y, total).fit_
    lessons = [lesson_of(fit, results) for results in [fit.results, *answers_of(fit)]]
    assert len(lessons) == 1 + NUMBER
    assert any((np.array(lesson.targets) != lessons[0].targets).any() for lesson in lessons)
    alone = [learn_student(fit.problem, [lesson], fit.parameters.C, 0) for lesson in lessons]
    for found, parts in zip(fit.student_planes, zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(found, np.mean(parts, axis=0), atol=1e-8)


def test_every_run_has_the_same_student():
    X, y, total = noisy()
    one, other = (fitted(X, y, total).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_every_order_of_the_rows_has_the_same_student(kernel, seed):
    X, y, total = noisy(seed)
    order = np.random.default_rng(9).permutation(len(X))
    one, other = (
        fitted(X, y, total, kernel=kernel),
        fitted(X[order], y[order], total, kernel=kernel),
    )
    assert (one.transduction_[order] == other.transduction_).all()
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)


def test_with_ranks_all_units_have_the_same_student():
    X, y, total = noisy()
    units = X * [1e3, 1e-2, 1.0] - [7.0, 4.0, 0.0]
    one, other = (fitted(rows, y, total, standardize="rank") for rows in (X, units))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(units), atol=1e-5)


def test_equal_rows_with_other_labels_and_weights_may_come_in_any_order():
    X, y, total = noisy()
    X[[1, 40, 41]], y[1] = X[0], 1.0 - y[0]
    weight = np.where(np.arange(len(X)) % 41 == 0, 2.0, 1.0)
    order = np.random.default_rng(3).permutation(len(X))
    one = fitted(X, y, total, sample_weight=weight)
    other = fitted(X[order], y[order], total, sample_weight=weight[order])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)


def test_a_seed_draws_other_weights():
    X, y, total = noisy()
    one, other = (fitted(X, y, total, random_state=seed).fit_ for seed in (0, 1))
    assert (answers_of(one)[0][0].problem.C != answers_of(other)[0][0].problem.C).any()


def test_a_row_that_is_there_twice_is_one_of_weight_two():
    X, y, total = noisy()
    twice = np.append(np.arange(len(X)), [0, 1, 2])
    weight = np.where(np.arange(len(X)) < 3, 2.0, 1.0)
    heavy = fitted(X, y, total, sample_weight=weight, standardize=None)
    double = fitted(X[twice], y[twice], total, standardize=None)
    for one, other in zip(answers_of(heavy.fit_), answers_of(double.fit_), strict=True):
        dearer, C = one[0].problem.C, other[0].problem.C
        np.testing.assert_allclose(dearer[:3], 2.0 * C[:3])
        np.testing.assert_allclose(C[:3], C[-3:])
        np.testing.assert_allclose(dearer[3:], C[3:-3])


def test_a_class_keeps_its_price():
    X, y, total = noisy()
    problem = fitted(X, y, total).fit_.problem
    classes = (problem.y > 0).astype(int)
    factors = chance_factors(np.arange(problem.n), classes, problem.C, np.random.default_rng(0))
    for sign in (-1.0, 1.0):
        own = problem.y == sign
        assert problem.C[own] @ factors[own] == pytest.approx(problem.C[own].sum(), rel=1e-2)
    assert factors.max() > 1.5 > 0.5 > factors.min() > 0.0


def test_the_work_is_bounded_by_the_limit_of_the_fit(monkeypatch):
    seen = []

    def watched(*args, work_limit, **options):
        assert options["time_limit"] == np.inf  # no clock decides
        seen.append(work_limit)
        return solve(*args, work_limit=work_limit, **options)

    solve = teachers.solve
    monkeypatch.setattr(teachers, "solve", watched)
    X, y, total = noisy()
    for limit in (2.4e6, None):
        list(answers_of(fitted(X, y, total, work_limit=limit).fit_))
    assert seen == [pytest.approx(1e5)] * NUMBER + [teachers.WORK] * NUMBER


def test_with_next_to_no_work_a_teacher_is_as_good_as_the_answer_of_the_fit():
    X, y, total = noisy()
    fit = fitted(X, y, total).fit_
    hurried = replace(fit, parameters=replace(fit.parameters, work_limit=24.0))
    known = fit.results[0]
    for (result,) in answers_of(hurried):
        weighted = replace(fit.problem, C=result.problem.C)
        assert result.objective <= weighted.objective(known.coef, known.intercept, known.z) * (1.0 + 1e-9)


def test_a_search_that_finds_nothing_teaches_nothing(monkeypatch):
    X, y, total = noisy()
    clf = fitted(X, y, total)
    alone = learn_student(clf.fit_.problem, [lesson_of(clf.fit_, clf.fit_.results)], clf.C, 0)
    monkeypatch.setattr(teachers, "solve", lambda problem, *_, **__: Result(problem, Status.TIME_LIMIT))
    assert all(results == clf.fit_.results for results in answers_of(clf.fit_))
    np.testing.assert_allclose(clf.fit_.student_planes[0], alone[0], atol=1e-8)


def test_an_interrupt_is_passed_on(monkeypatch):
    X, y, total = noisy()
    clf = fitted(X, y, total)
    stopped = replace(clf.result_, status=Status.INTERRUPTED)
    monkeypatch.setattr(teachers, "solve", lambda *_, **__: stopped)
    with pytest.raises(KeyboardInterrupt):
        clf.predict(X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": "top_tau", "work_limit": None},
        {"kernel": "linear", "predictor": "student"},
        {"kernel": "poly"},
        {"kernel": lambda A, B: A @ B.T},
    ],
)
def test_simple_rules_and_other_kernels_have_one_teacher(parameters):
    X, y, total = noisy()
    clf = fitted(X, y, total, **parameters)
    assert answers_of(clf.fit_) == []
    assert len(clf.predict(X)) == len(X)


def test_many_rows_have_one_teacher(monkeypatch):
    X, y, total = noisy()
    monkeypatch.setattr(teachers, "MAX_ROWS", len(X) - 1)
    clf = fitted(X, y, total)
    assert answers_of(clf.fit_) == []
    assert len(clf.predict(X)) == len(X)


def test_several_totals_and_margins_are_kept_and_thresholds_of_groups_have_one_teacher():
    X, y, _ = noisy()
    groups = np.where(np.arange(len(X)) % 3 > 0, "a", "b")
    totals = {"a": 30, "b": (10, 20)}
    clf = fitted(X, y, totals, groups=groups, side_margin=1e-3)
    answers = answers_of(clf.fit_)
    assert len(answers) == NUMBER
    for (result,) in answers:
        assert result.problem.totals.low.tolist() == clf.fit_.problem.totals.low.tolist()
        assert result.problem.violation(result.coef, result.intercept, result.z) <= 1e-6
    own = fitted(X, y, totals, groups=groups, group_intercepts=True)
    assert answers_of(own.fit_) == []
    assert own.predict(X, groups=groups).shape == (len(X),)
