"""The embedded survey: reproducible, plausible, biased, and such that the known total helps."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.datasets import make_survey
from cs3vm.exceptions import InvalidProblemError, MissingPackageError

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def survey():
    return make_survey()


def encode(survey):
    features = survey.frame.drop(columns=["id", survey.label])
    return pd.get_dummies(features).astype(float)


def test_same_seed_same_table(survey):
    pd.testing.assert_frame_equal(survey.frame, make_survey().frame)
    assert not survey.frame.equals(make_survey(random_state=1).frame)


def test_columns_ids_and_answers(survey):
    frame = survey.frame
    assert len(frame) == 2000
    assert frame["id"].is_unique
    assert set(frame[survey.label].dropna()) == {"yes", "no"}
    assert not frame.drop(columns=survey.label).isna().any().any()
    assert frame["age"].between(18, 90).all()
    assert (frame["income"] > 0).all()
    assert frame["household_size"].between(1, 8).all()


def test_total_and_answers_agree_with_the_truth(survey):
    given = survey.frame[survey.label].to_numpy()
    answered = ~survey.unlabelled
    assert (given[answered] == survey.truth[answered]).all()
    assert survey.n_positive == int(np.sum(survey.truth[survey.unlabelled] == survey.positive))


def test_answers_survive_a_csv_file(survey, tmp_path):
    path = tmp_path / "survey.csv"
    survey.frame.to_csv(path, index=False)
    again = pd.read_csv(path)
    assert (again[survey.label].isna().to_numpy() == survey.unlabelled).all()


def test_features_hang_together(survey):
    frame = survey.frame
    assert np.corrcoef(frame["age"], frame["hours_online"])[0, 1] < -0.4
    by_education = frame.groupby("education")["income"].mean()
    assert by_education["basic"] < by_education["secondary"] < by_education["degree"]
    by_employment = frame.groupby("employment")["age"].mean()
    assert by_employment["student"] < 30 < 60 < by_employment["retired"]


def test_who_answers_is_biased(survey):
    answered = ~survey.unlabelled
    share = np.mean(survey.truth[answered] == survey.positive)
    true_share = np.mean(survey.truth == survey.positive)
    assert share < 0.5 * true_share
    assert survey.frame["hours_online"][answered].mean() > survey.frame["hours_online"].mean() + 2


@pytest.mark.parametrize("n_rows", [100, 137, 500])
def test_small_surveys_have_answers_of_both_classes(n_rows):
    for seed in range(20):
        survey = make_survey(n_rows, random_state=seed)
        counts = survey.frame[survey.label].value_counts()
        assert counts.min() >= 3
        assert counts.sum() == 40


def test_the_svm_is_wrong_and_the_total_helps(survey):
    X, y, rest = encode(survey), survey.frame[survey.label], survey.unlabelled
    accuracy = {}
    for method in ("svm", "top_tau"):
        fit = CS3VMClassifier(method, pos_label="yes").fit(X, y, n_positive=survey.n_positive)
        accuracy[method] = np.mean(fit.transduction_[rest] == survey.truth[rest])
        if method == "svm":
            assert fit.result_.count < 0.75 * survey.n_positive
    assert accuracy["top_tau"] > accuracy["svm"] + 0.05


def test_too_few_rows_are_refused():
    with pytest.raises(InvalidProblemError, match="at least 100"):
        make_survey(20)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"cs3vm\[report\]"):
        make_survey(100)
