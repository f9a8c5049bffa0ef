"""Dask collections: the same labels whatever the partitions and the workers, lazy answers, honest errors."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from cs3vm.exceptions import InvalidProblemError
from cs3vm.large import fitting
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from tests.large.tables import clouds, quick

distributed = pytest.importorskip("distributed", reason="needs cs3vm[dask]")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from cs3vm.large.dask import DaskCS3VMClassifier  # noqa: E402 (needs the packages above)

QUICK = {"method": "direct", "work_limit": 2e7, "options": {"patience": 0}}
NAMES = [f"x{j}" for j in range(4)]


@pytest.fixture(scope="module")
def client():
    """Two workers with two threads each."""
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    """So few rows are drawn that the table needs all kinds of passes."""
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 1000)


@pytest.fixture(scope="module")
def table():
    X, y, truth = clouds(3000)
    return X, y, int(truth[np.isnan(y)].sum())


@pytest.fixture(scope="module")
def expected(table):
    X, y, n = table
    source = ArraySource(X, y)
    found = fit_pieces(source, quick(), n_positive=n, sample_rows=1000)
    assert found.n_passes > 1
    return found, found.transduction(source)


def as_frame(X, y, n_parts, index=None):
    frame = pd.DataFrame(X, columns=NAMES, index=index)
    frame["y"] = y
    return dd.from_pandas(frame, npartitions=n_parts, sort=False)


# -- the same answer -----------------------------------------------------------------------------------
@pytest.mark.parametrize("chunks", [3000, (1000, 1, 1999), 313])
def test_arrays_in_any_chunks(client, table, expected, chunks):
    X, y, n = table
    fit, labels = expected
    X, y = da.from_array(X, chunks=(chunks, 2)), da.from_array(y, chunks=1000)
    clf = DaskCS3VMClassifier(client, **QUICK).fit(X, y, n_positive=n)
    assert isinstance(clf.transduction_, da.Array)
    assert np.array_equal(clf.transduction_.compute(), labels)
    assert clf.large_fit_.objective == fit.objective
    rows = da.from_array(np.asarray(table[0][:500]), chunks=(200, 4))
    for name in ("predict", "decision_function"):
        lazy = getattr(clf, name)(rows)
        assert isinstance(lazy, da.Array)
        assert np.array_equal(lazy.compute(), getattr(clf.to_local(), name)(table[0][:500]))


def test_frames_with_unknown_lengths_and_an_empty_partition(client, table, expected):
    X, y, n = table
    extra = np.r_[np.full(900, 9.0), np.zeros(3000)]  # a first partition of which nothing is left
    frame = as_frame(np.vstack([np.zeros((900, 4)), X]), np.append(np.zeros(900), y), 5)
    frame["extra"] = dd.from_pandas(pd.Series(extra), npartitions=5, sort=False)
    frame = frame[frame.extra < 5]
    assert 0 in frame.map_partitions(len).compute().tolist()
    clf = DaskCS3VMClassifier(client, **QUICK).fit(frame[NAMES], frame.y, n_positive=n)
    found = clf.transduction_.compute()
    assert np.array_equal(found.to_numpy(), expected[1])
    assert found.index.tolist() == list(range(900, 3900))
    assert clf.feature_names_in_.tolist() == NAMES
    predicted, proba = clf.predict(frame[NAMES]), clf.predict_proba(frame[NAMES])
    assert predicted.compute().index.equals(found.index)
    local = clf.to_local().predict_proba(pd.DataFrame(X, columns=NAMES))
    assert np.array_equal(proba.compute().to_numpy(), local)


def test_types_of_pandas_and_arrow_and_categories_that_differ(client, table, expected):
    X, y, n = table
    names = np.where(np.isnan(y), None, np.where(y == 1, "yes", "no"))

    @dask.delayed
    def part(i):
        rows = slice(600 * i, 600 * (i + 1))
        frame = pd.DataFrame(X[rows], columns=NAMES, index=range(rows.start, rows.stop))
        frame["x0"] = frame["x0"].astype("Float64")
        frame["x1"] = frame["x1"].astype("double[pyarrow]")
        frame["y"] = pd.Categorical(names[rows])  # of the values that this partition has
        frame["x2"] = pd.Categorical(frame["x2"])
        return frame

    frame = dd.from_delayed([part(i) for i in range(5)], meta=part(0).compute(), verify_meta=False)
    clf = DaskCS3VMClassifier(client, **QUICK).fit(frame[NAMES], frame.y, n_positive=n)
    assert clf.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(clf.transduction_.compute() == "yes", expected[1] == 1)
    local = clf.to_local().predict(pd.DataFrame(X, columns=NAMES))
    assert np.array_equal(clf.predict(frame[NAMES]).compute(), local)


def test_groups_weights_and_threads_without_a_cluster(table):
    X, y, n = table
    rng = np.random.default_rng(0)
    groups, weight = rng.choice(["a", "b"], len(X)), rng.choice([1.0, 2.0], len(X))
    totals = {None: 1.5 * n, "a": 0.75 * n}
    source = ArraySource(X, y, weight, groups)
    found = fit_pieces(source, quick(), n_positive=totals, sample_rows=1000)
    lazy = [da.from_array(part, chunks=700) for part in (y, weight, groups)]
    with dask.config.set(scheduler="threads"):
        clf = DaskCS3VMClassifier(**QUICK)
        clf._client = lambda: None
        clf.fit(da.from_array(X, chunks=(700, 4)), lazy[0], totals, None, lazy[1], lazy[2])
        assert np.array_equal(clf.transduction_.compute(), found.transduction(source))
    assert clf.large_fit_.counts.tolist() == found.counts.tolist()


def test_a_worker_that_is_killed_costs_its_tasks_only(client, table, expected, tmp_path):
    X, y, n = table
    flag = tmp_path / "killed"

    @dask.delayed
    def part(i):
        if i == 2:
            try:
                os.mkdir(flag)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return X[500 * i : 500 * (i + 1)]

    rows = da.concatenate([da.from_delayed(part(i), (500, 4), float) for i in range(6)])
    clf = DaskCS3VMClassifier(client, **QUICK).fit(rows, da.from_array(y, chunks=500), n_positive=n)
    assert flag.exists()
    assert np.array_equal(clf.transduction_.compute(), expected[1])


def test_what_rows_and_labels_are_both_made_from_is_made_once_in_a_pass(table):
    X, y, n = table
    made = []

    def part(i):
        made.append(i)
        rows = slice(1000 * i, 1000 * (i + 1))
        return X[rows], y[rows]

    parts = [dask.delayed(part)(i) for i in range(3)]
    rows = da.concatenate([da.from_delayed(one[0], (1000, 4), float) for one in parts])
    labels = da.concatenate([da.from_delayed(one[1], (1000,), float) for one in parts])
    with dask.config.set(scheduler="synchronous"):
        clf = DaskCS3VMClassifier(**QUICK)
        clf._client = lambda: None
        clf.fit(rows, labels, n_positive=n)
    assert len(made) == 3 * clf.large_fit_.n_passes


def test_chunks_that_are_not_as_long_as_they_say(client, table):
    X, y, _ = table
    rows = da.concatenate([da.from_delayed(dask.delayed(X[:900]), (1000, 4), float)] * 3)
    message = refused(rows, da.from_array(y, chunks=1000))
    assert "has 900 rows, but its collection says 1000" in message


@pytest.mark.parametrize("as_frames", [False, True])
def test_probabilities_add_up_over_all_rows(client, table, as_frames):
    X, y, n = table
    unlabelled = np.isnan(y)
    frame = as_frame(X, y, 3)
    given = (
        (frame[NAMES], frame.y) if as_frames else (da.from_array(X, chunks=(700, 4)), da.from_array(y, 700))
    )
    clf = DaskCS3VMClassifier(client, **QUICK).fit(*given, n_positive=n)
    new, own = clf.predict_proba(given[0]).compute(), clf.probabilities_.compute()
    if as_frames:
        assert own.index.equals(new.index)
        assert own.columns.tolist() == new.columns.tolist() == [0.0, 1.0]
        new, own = new.to_numpy(), own.to_numpy()
    for found in (new, own):
        assert found[unlabelled, 1].sum() == pytest.approx(n, rel=1e-6)
    assert np.allclose(new[unlabelled], own[unlabelled], rtol=1e-6)
    assert np.array_equal(own[~unlabelled, 1], y[~unlabelled])
    rows = pd.DataFrame(X, columns=NAMES) if as_frames else X
    assert np.array_equal(clf.predict_proba(rows), pickle.loads(pickle.dumps(clf)).predict_proba(rows))


# -- errors reach the caller ---------------------------------------------------------------------------
def test_a_task_that_raises(client, table):
    X, y, n = table

    def broken(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 3:
            raise RuntimeError("the disk is gone")
        return block

    rows = da.from_array(X, chunks=(500, 4)).map_blocks(broken, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(RuntimeError, match="the disk is gone"):
        DaskCS3VMClassifier(client, **QUICK).fit(rows, da.from_array(y, chunks=500), n_positive=n)
    bad = X.copy()
    bad[1700, 2] = np.nan
    with pytest.raises(InvalidProblemError, match="partition 3: 1 values, the first in row 1700"):
        DaskCS3VMClassifier(client, **QUICK).fit(
            da.from_array(bad, chunks=(500, 4)), da.from_array(y, chunks=500), n_positive=n
        )


def refused(*arguments, **options):
    with pytest.raises(InvalidProblemError) as error:
        DaskCS3VMClassifier(**QUICK).fit(*arguments, n_positive=5, **options)
    return str(error.value)


def test_what_cannot_be_is_refused_with_advice(client, table):
    X, y, _ = table
    rows, labels = da.from_array(X, chunks=(500, 4)), da.from_array(y, chunks=500)
    assert "X is ndarray, not a Dask array or data frame" in refused(X, labels)
    assert "y is ndarray" in refused(rows, y)
    assert "X must have rows and columns" in refused(labels, labels)
    frame = as_frame(X, y, 4)
    assert "y has 6 partitions, X has 4" in refused(frame[NAMES], labels)
    short = labels[labels != 0]  # of unknown length
    assert "partition 0 of y has" in refused(rows, short)
    frame["x1"] = frame["x1"].map(str, meta=("x1", object))
    message = refused(frame[NAMES], frame.y)
    assert "the column 'x1' of X has the type" in message
    assert "get_dummies" in message
    with pytest.raises(InvalidProblemError, match="use method='direct'"):
        DaskCS3VMClassifier(method="svm").fit(rows, labels, n_positive=5)


def test_conventions_of_scikit_learn(client, table):
    clf = DaskCS3VMClassifier(client, C=3.0)
    assert clf.get_params()["C"] == 3.0
    again = clone(clf.set_params(C=4.0))
    assert again.get_params()["C"] == 4.0
    assert again.client is client
    assert pickle.loads(pickle.dumps(DaskCS3VMClassifier(C=2.0))).get_params()["C"] == 2.0
    with pytest.raises(Exception, match="not fitted"):
        clf.to_local()


# -- the command line ----------------------------------------------------------------------------------
def test_a_folder_is_read_by_a_cluster(client, tmp_path, monkeypatch):
    from tests.cli.test_pieces import done, fit, make_people, write_folder

    monkeypatch.chdir(tmp_path)
    frame, n = make_people()
    write_folder(frame.drop(columns="truth"), "big", 3)
    done(fit("big", "--n-positive", n, "--out", "here"))
    done(fit("big", "--n-positive", n, "--out", "there", "--cluster", client.scheduler.address))
    here, there = pd.read_parquet("here/labels"), pd.read_parquet("there/labels")
    assert here.equals(there)
    assert sorted(path.name for path in Path("there/labels").iterdir()) == sorted(
        path.name for path in Path("here/labels").iterdir()
    )
    frame.to_csv("people.csv", index=False)
    result = fit("people.csv", "--n-positive", n, "--cluster", client.scheduler.address)
    assert result.exit_code == 2
    assert "needs Parquet" in result.stderr
