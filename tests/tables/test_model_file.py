"""The model file: what is written is read again, and everything else is refused with a reason."""

import copy
import json

import numpy as np
import pytest

from cs3vm import CS3VMClassifier, Problem, Result, Status, solve
from cs3vm.exceptions import InvalidProblemError, ModelFileError
from cs3vm.learn.calibrating import estimate_probabilities
from cs3vm.tables.encoding import Column, Encoding
from cs3vm.tables.model_file import _checksum, load_model, make_model, save_model

ENCODING = Encoding((Column("x", "number", (), 1.5), Column("r", "category", ("a", "ü"), "a")))


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 30)
    X = np.column_stack([rng.normal(size=30) + 2 * kind, kind == 0, kind == 1]).astype(float)
    y = np.full(30, None, dtype=object)
    y[:6] = np.where(kind[:6] == 1, "b", "z")
    return X, CS3VMClassifier("top_tau", pos_label="b").fit(X, y, n_positive=int(kind[6:].sum()))


@pytest.fixture
def path(tmp_path, fitted):
    save_model(make_model(fitted[1].fit_, ENCODING, "cash", {"method": "top_tau"}), tmp_path / "m.json")
    return tmp_path / "m.json"


def test_a_model_survives_the_file(path, fitted):
    X, clf = fitted
    model = load_model(path)
    assert (model.label, model.positive, model.negative) == ("cash", "b", "z")
    assert model.encoding == ENCODING
    np.testing.assert_array_equal(model.scores(X), -clf.decision_function(X))  # b is classes_[0]
    np.testing.assert_array_equal(model.labels(model.scores(X)), clf.predict(X))
    assert model.n_positive == clf.n_positive_
    assert model.result["objective"] == clf.result_.objective
    assert model.settings == {"method": "top_tau"}
    np.testing.assert_array_equal(model.scaling.shift, clf.scaling_.shift)


def test_probabilities_survive_the_file(fitted, tmp_path):
    X, clf = fitted
    rule = estimate_probabilities(clf.fit_).rule
    path = tmp_path / "p.json"
    save_model(make_model(clf.fit_, ENCODING, "cash", {}, rule), path)
    model = load_model(path)
    np.testing.assert_allclose(
        model.probabilities(model.scores(X)), clf.predict_proba(X)[:, ::-1]
    )  # b is last
    assert model.student is None
    save_model(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    short = tampered(path, lambda d: d["model"]["probabilities"].update(shifts=[0.0]))
    with pytest.raises(ModelFileError, match="its probabilities do not fit its 2 classes"):
        load_model(short)


def test_several_totals_survive_the_file(fitted, tmp_path):
    X, clf = fitted
    y = np.where(clf.fit_.labels.codes < 0, None, clf.transduction_)
    group = np.arange(30) % 2
    grouped = CS3VMClassifier("top_tau", pos_label="b").fit(X, y, n_positive={0: 5, 1: (4, 8)}, groups=group)
    path = tmp_path / "t.json"
    save_model(make_model(grouped.fit_, ENCODING, "cash", {}), path)
    model = load_model(path)
    found = {one.name: one for one in model.known_totals["b"]}
    assert {name: (one.low, one.high) for name, one in found.items()} == {"0": (5, 5), "1": (4, 8)}
    assert sorted(found.values(), key=str) == sorted(grouped.fit_.met_totals, key=str)
    with pytest.raises(ModelFileError, match="'totals' in result"):
        load_model(tampered(path, lambda d: d["model"]["result"]["totals"][0].pop("low")))
    assert load_model(tampered(path, lambda d: d["model"]["result"].pop("totals"))).known_totals == {}


def with_thresholds(fitted, groups, **parameters):
    X, clf = fitted
    y = np.where(clf.fit_.labels.codes < 0, None, clf.transduction_)
    own = CS3VMClassifier("top_tau", pos_label="b", group_intercepts=True, **parameters)
    return own.fit(X, y, n_positive=9, groups=groups)


@pytest.mark.parametrize("predictor", ["plane", "student"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_thresholds_of_groups_survive_the_file(fitted, tmp_path, kernel, predictor):
    X, _ = fitted
    groups = {"land": np.where(np.arange(30) % 3 == 0, "ü", "a"), "sex": np.array(["f", "m"] * 15)}
    own = with_thresholds(fitted, groups, kernel=kernel, predictor=predictor)
    path = tmp_path / "t.json"
    rule = estimate_probabilities(own.fit_).rule
    save_model(make_model(own.fit_, ENCODING, "cash", {}, rule), path)
    model = load_model(path)
    assert json.loads(path.read_text())["version"] == 6
    assert [one.column for one in model.thresholds] == ["land", "sex"]
    scores = model.scores(X, groups)
    assert np.ptp(scores - model.scores(X)) > 0.01  # groups make a difference
    np.testing.assert_allclose(scores, -own.decision_function(X, groups), atol=1e-9)
    np.testing.assert_allclose(model.scores(X), -own.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(model.labels(scores), own.predict(X, groups))
    np.testing.assert_allclose(model.probabilities(scores), own.predict_proba(X, groups)[:, ::-1], atol=1e-9)
    save_model(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_unknown_groups_have_the_mean_threshold(fitted, tmp_path):
    X, _ = fitted
    own = with_thresholds(fitted, {"land": np.array(["x", "y"] * 15)})
    save_model(make_model(own.fit_, ENCODING, "cash", {}), tmp_path / "t.json")
    model = load_model(tmp_path / "t.json")
    elsewhere = np.array(["z", None] * 15, dtype=object)
    assert not model.thresholds[0].known(elsewhere).any()
    np.testing.assert_array_equal(model.scores(X, {"land": elsewhere}), model.scores(X))
    np.testing.assert_allclose(model.scores(X), -own.decision_function(X, {"land": elsewhere}), atol=1e-9)


def test_thresholds_need_the_name_of_a_column(fitted):
    with pytest.raises(ModelFileError, match="must name their column"):
        make_model(with_thresholds(fitted, np.arange(30) % 2).fit_, ENCODING, "cash", {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one["groups"].append("new"), "its thresholds do not fit its planes"),
        (lambda one: one["groups"].__setitem__(0, one["groups"][1]), "its thresholds do not fit"),
        (lambda one: one["planes"][0].append(1.0), "its thresholds do not fit"),
        (lambda one: one.update(student=one["planes"]), "its thresholds do not fit"),
        (lambda one: one.pop("column"), "'thresholds' in model has a wrong value"),
        (lambda one: one.update(planes=[["x"]]), "'thresholds' in model has a wrong value"),
    ],
)
def test_wrong_thresholds_are_refused(fitted, tmp_path, change, message):
    own = with_thresholds(fitted, {"land": np.array(["x", "y"] * 15)})
    path = tmp_path / "t.json"
    save_model(make_model(own.fit_, ENCODING, "cash", {}), path)
    with pytest.raises(ModelFileError, match=message):
        load_model(tampered(path, lambda d: change(d["model"]["thresholds"][0])))


def test_a_file_without_probabilities_has_none(path, fitted):
    assert load_model(path).probabilities(np.zeros(3)) is None


def test_the_same_fit_gives_the_same_bytes(path, fitted, tmp_path):
    save_model(load_model(path), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_every_truncation_is_noticed(path):
    text = path.read_text()
    for length in range(0, len(text) - 2, 37):
        path.write_text(text[:length])
        with pytest.raises(ModelFileError, match="not a complete model file"):
            load_model(path)


def test_every_changed_value_is_noticed(path):
    original = json.loads(path.read_text())

    def changed(value):
        if isinstance(value, dict):
            for key in value:
                for other in changed(value[key]):
                    yield {**value, key: other}
        elif isinstance(value, list):
            for i, item in enumerate(value):
                for other in changed(item):
                    yield [*value[:i], other, *value[i + 1 :]]
        else:
            yield {int: 7, float: 7.25, str: "other", type(None): 3.5}[type(value)]

    variants = list(changed(original["model"]))
    assert len(variants) > 30
    for body in variants:
        path.write_text(json.dumps({**original, "model": body}))
        with pytest.raises(ModelFileError, match="checksum does not fit"):
            load_model(path)


def tampered(path, change):
    """Change the file and make the checksum fit again."""
    document = json.loads(path.read_text())
    change(document)
    document["checksum"] = _checksum(document["model"])
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=9, library="9.9"), r"newer version of cs3vm \(9\.9\).*--upgrade"),
        (lambda d: d.update(version=True), "no valid format version"),
        (lambda d: d.update(format="other"), "not a model of cs3vm"),
        (lambda d: d.update(more=1), "unknown field 'more'"),
        (lambda d: d.pop("library"), "the file has no 'library'"),
        (lambda d: d["model"].pop("coef"), "model has no 'coef'"),
        (lambda d: d["model"].update(code="import os"), "unknown field 'code'"),
        (lambda d: d["model"].update(coef=[1.0]), "weights do not fit its 3 features"),
        (lambda d: d["model"].update(coef=[1.0, "2", 3.0]), "'coef' in model has a wrong value"),
        (lambda d: d["model"].update(coef=[1.0, True, 3.0]), "'coef' in model has a wrong value"),
        (lambda d: d["model"].update(coef=[1.0, 10**400, 3.0]), "'coef' in model has a wrong value"),
        (lambda d: d["model"].update(intercept=None), "'intercept' in model has a wrong value"),
        (lambda d: d["model"].update(n_positive=-1), "'n_positive' in model has a wrong value"),
        (lambda d: d["model"].update(negative="b"), "both classes are 'b'"),
        (lambda d: d["model"]["columns"][0].update(kind="eval"), "'columns' in model has a wrong value"),
        (lambda d: d["model"]["columns"][1].update(fill="c"), "'columns' in model has a wrong value"),
        (
            lambda d: d["model"]["columns"][1].update(categories=["a", "a"]),
            "'columns' in model has a wrong value",
        ),
        (lambda d: d["model"]["columns"][1].update(categories=["a", "b"]), "weights do not fit"),
        (lambda d: d["model"]["scaling"].update(shift=[0.0]), "weights do not fit"),
        (lambda d: d["model"].update(scaling=[]), "'scaling' in model has a wrong value"),
    ],
)
def test_a_file_outside_the_schema_is_refused(path, change, message):
    with pytest.raises(ModelFileError, match=message):
        load_model(tampered(path, change))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a complete model file"),
        (b"\xff\xfe\x00", "not text"),
        (b"[1, 2]", "not a model of cs3vm"),
        (b'{"format": "cs3vm-model", "version": 1, "x": NaN}', "NaN is no valid number"),
        (b"[" * 100_000, "not a complete model file"),
        (b"import os", "not a complete model file"),
    ],
)
def test_other_files_are_refused(path, content, message):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_no_file(tmp_path):
    with pytest.raises(ModelFileError, match="no model file"):
        load_model(tmp_path / "none.json")
    with pytest.raises(ModelFileError, match="cannot read"):
        load_model(tmp_path)


# -- results as JSON -----------------------------------------------------------------------------------
def problem():
    rng = np.random.default_rng(1)
    return Problem(rng.normal(size=(6, 2)), [1, -1, 1, -1, 1, -1], rng.normal(size=(9, 2)), 4, C=2.0)


@pytest.mark.parametrize("method", ["svm", "top_tau", "ircm", "auto"])
def test_a_result_survives_json(method):
    result = solve(problem(), method, time_limit=2)
    again = Result.from_json(result.to_json())
    for name in (
        "status",
        "intercept",
        "objective",
        "lower_bound",
        "seconds",
        "n_nodes",
        "iterations",
        "trace",
    ):
        assert getattr(again, name) == getattr(result, name), name
    np.testing.assert_array_equal(again.coef, result.coef)
    np.testing.assert_array_equal(again.z, result.z)
    for name in ("X", "y", "U", "n_positive", "weights", "side", "C", "count_penalty", "side_margin"):
        np.testing.assert_array_equal(getattr(again.problem, name), getattr(result.problem, name))
    json.loads(result.to_json(), parse_constant=pytest.fail)  # strict JSON


def test_a_result_without_its_problem_needs_it():
    result = solve(problem(), "top_tau")
    text = result.to_json(with_problem=False)
    assert len(text) < len(result.to_json())
    assert Result.from_json(text, problem()).objective == result.objective
    with pytest.raises(InvalidProblemError, match="pass it as problem="):
        Result.from_json(text)
    with pytest.raises(InvalidProblemError, match="2 features and 9 unlabelled rows"):
        Result.from_json(text, Problem([[1.0]], [1], [[2.0]], 1))


def test_an_empty_result_and_no_unlabelled_rows():
    nothing = Result(
        problem(), Status.INFEASIBLE, extras={"a": np.float64(np.inf), "b": {1, 2}, "c": np.arange(2)}
    )
    again = Result.from_json(nothing.to_json())
    assert not again.found
    assert np.isnan(again.intercept)
    assert again.status is Status.INFEASIBLE
    assert again.extras == {"a": "inf", "b": [1, 2], "c": [0, 1]}
    svm = solve(Problem([[1.0], [2.0]], [1, -1], np.zeros((0, 1)), 0), "svm")
    assert Result.from_json(svm.to_json()).objective == svm.objective


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a result"),
        ("{}", "not a result"),
        (None, "version 9"),
        ("gone", "incomplete"),
    ],
)
def test_json_that_is_no_result(text, message):
    data = json.loads(solve(problem(), "svm").to_json())
    if text is None:
        text = json.dumps({**data, "version": 9})
    elif text == "gone":
        data = copy.deepcopy(data)
        del data["trace"]
        text = json.dumps(data)
    with pytest.raises(InvalidProblemError, match=message):
        Result.from_json(text)
