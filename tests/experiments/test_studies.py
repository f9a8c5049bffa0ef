"""The studies: datasets, measures against hand-made counts, bounded cells, figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cs3vm import Problem
from experiments import builtin, datasets, peers, rows, studies
from experiments.cells import COLUMNS, make_cell, measure
from experiments.instances import Instance
from experiments.sandbox import Limits, run_cell
from experiments.scoring import Plane, classify, counts

try:
    FOLDER, REASON = datasets.data_dir(), ""
except FileNotFoundError as error:
    FOLDER, REASON = None, str(error)
needs_data = pytest.mark.skipif(FOLDER is None, reason=REASON)


# -- datasets ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(builtin.BUILTIN))
def test_sets_without_files_have_the_stated_size_and_both_classes(name: str):
    data = datasets.load(name, "/nowhere")
    assert len(data.X) == builtin.BUILTIN[name].rows == len(np.unique(data.X, axis=0))
    assert set(data.y) == {-1, 1}


@needs_data
@pytest.mark.parametrize("name", sorted(builtin.BUILTIN))
def test_sets_without_files_differ_from_pmlb_as_stated(name: str):
    ours, twin = datasets.load(name), datasets.load(builtin.BUILTIN[name].twin)
    difference = builtin.BUILTIN[name].difference
    if difference.startswith("none"):
        np.testing.assert_allclose(ours.X, twin.X, atol=1e-12)
        np.testing.assert_array_equal(ours.y, twin.y)
        return
    mine, theirs = (
        {(*row, label) for row, label in zip(np.round(d.X, 6), d.y, strict=True)} for d in (ours, twin)
    )
    assert (len(mine - theirs), len(theirs - mine)) == ((2, 0) if name == "builtin_iris" else (0, 0))


@needs_data
def test_the_table_of_sizes_explains_the_one_difference():
    table = datasets.compare(names=["monk3", "iris", "gametes_h_50", "lupus"]).set_index("paper_name")
    assert "DIFFERENT from the paper's N = 357" in table.loc["monk3", "note"]
    assert table.loc["iris", "note"] == "repeated rows dropped: 3"
    assert "another name at PMLB" in table.loc["gametes_h_50", "note"]
    assert table.loc["lupus", "note"] == ""


def test_a_missing_set_without_network_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pmlb = pytest.importorskip("pmlb")

    def no_network(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(pmlb, "fetch_data", no_network)
    with pytest.raises(datasets.DataNotFoundError, match=r"lupus is not in .* not be downloaded.*builtin_"):
        datasets.ensure(["builtin_iris", "lupus"], tmp_path)


def test_a_missing_set_is_downloaded_into_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pmlb = pytest.importorskip("pmlb")
    asked = {}

    def fetch(name: str, local_cache_dir: str, dropna: bool) -> pd.DataFrame:
        asked.update(name=name, folder=local_cache_dir)
        return pd.DataFrame({"a": [0.0, 1.0, 2.0, None], "target": [0, 1, 0, 1]})

    monkeypatch.setattr(pmlb, "fetch_data", fetch)
    assert datasets.load("gametes_h_50", tmp_path).X.shape == (3, 1)
    assert asked == {
        "name": "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_50_EDM_2_001",
        "folder": str(tmp_path),
    }


# -- scoring -----------------------------------------------------------------------------------------
def hand_made() -> tuple[np.ndarray, np.ndarray, Instance]:
    """Six points on a line; rows 0 and 1 are labelled, rows 1, 2 and 3 lie on the plane x = 0."""
    X, y = np.array([[2.0], [0.0], [0.0], [0.0], [-1.0], [3.0]]), np.array([1, -1, 1, -1, -1, -1])
    labelled, unlabelled = np.array([0, 1]), np.array([2, 3, 4, 5])
    problem = Problem(X[labelled], y[labelled], X[unlabelled], 1)
    return X, y, Instance("hand-made", 0, problem, labelled, unlabelled, y[unlabelled])


def test_points_on_the_plane_with_sides_of_the_method():
    X, y, instance = hand_made()
    z = np.array([0, 1, 0, 1])  # both unlabelled points on the plane are put on the wrong side
    row = counts(classify(Plane(np.ones(1), 0.0, z), X, y, instance), y, instance)
    named = {
        c: [row[f"{c}_{k}"] for k in ("tp", "tn", "fp", "fn")]
        for c in ("paper_all", "honest_all", "paper_unlabelled", "honest_unlabelled")
    }
    assert named == {
        "paper_all": [1, 2, 2, 1],  # the labelled row 1 on the plane is forgiven
        "honest_all": [1, 1, 3, 1],  # … and positive by the sign rule
        "paper_unlabelled": [0, 1, 2, 1],
        "honest_unlabelled": [0, 1, 2, 1],
    }


def test_points_on_the_plane_of_the_svm_are_right_for_the_paper_and_positive_in_truth():
    X, y, instance = hand_made()
    row = counts(classify(Plane(np.ones(1), 0.0, None), X, y, instance), y, instance)
    assert [row[f"paper_all_{k}"] for k in ("tp", "tn", "fp", "fn")] == [2, 3, 1, 0]
    assert [row[f"honest_all_{k}"] for k in ("tp", "tn", "fp", "fn")] == [2, 1, 3, 0]
    assert [row[f"paper_unlabelled_{k}"] for k in ("tp", "tn", "fp", "fn")] == [1, 2, 1, 0]


# -- the file of rows --------------------------------------------------------------------------------
def test_half_a_line_is_no_row_and_is_cut_before_the_next(tmp_path: Path):
    path = tmp_path / "rows.csv"
    rows.append(path, {"a": 1, "b": "two\nlines"})
    with open(path, "a") as file:
        file.write('2,"ha')
    assert rows.existing(path) == [{"a": "1", "b": "two lines"}]
    rows.append(path, {"a": 3, "b": "whole"})
    assert [row["a"] for row in rows.existing(path)] == ["1", "3"]


# -- studies -----------------------------------------------------------------------------------------
def plan(**fields: object) -> studies.Plan:
    return studies.Plan(
        **({"study": "biased", "datasets": ["lupus"], "methods": ["svm", "cs3vm"], "seeds": [0]} | fields)
    )


def test_every_cell_is_there_once_and_has_its_reference():
    cells = studies.cells(plan(datasets=["iris", "lupus"], seeds=[0, 3]))
    assert [(c["dataset"], c["seed"], c["method"]) for c in cells[:4]] == [
        ("lupus", 0, "true"),
        ("lupus", 0, "svm"),
        ("lupus", 0, "cs3vm"),
        ("lupus", 3, "true"),
    ]
    assert len({tuple(map(str, c.values())) for c in cells}) == len(cells) == 12


def test_the_sensitivity_study_stays_within_table_2():
    names = studies.choose_datasets(None, None, "sensitivity")
    assert names == ["prnn_synth", "analcatdata_asbestos", "lupus"]
    cells = studies.cells(
        plan(study="sensitivity", datasets=names, methods=studies.SENSITIVE_METHODS, time_limit=36.0)
    )
    for cell in cells:
        m = datasets.size(cell["dataset"]) - round(0.1 * datasets.size(cell["dataset"]))
        for name, value in json.loads(cell["settings"] or "{}").items():
            low, high = {
                "C": (0, 1e9),
                "count_penalty": (0.5, 2),
                "n_clusters": (2, m),
                "max_clusters": (10, m),
                "far_quantile": (0.5, 0.9),
                "far_step": (0.1, 0.2),
                "max_fixed": (1, m),
                "fix_factor": (1.1, 5),
                "fix_time_limit": (0.1, 1.0),
            }[name]
            assert low <= value <= high, (name, value)
    assert {next(iter(json.loads(c["settings"]))) for c in cells if c["settings"]} == set(studies.RANGES)


@pytest.mark.parametrize("name", studies.RANGES)
def test_every_parameter_of_table_2_is_one_of_its_methods(name: str):
    for method in studies.RANGES[name].methods:
        value = studies.RANGES[name].values[-1]
        settings = {name: int(value) if name == "max_fixed" else value}
        row = measure(cell(method, time_limit=0.3, settings=settings))
        assert row["status"] in ("optimal", "feasible", "time limit")
        assert row["honest_all_tp"] + row["honest_all_fn"] == 16


def test_names_are_checked():
    with pytest.raises(ValueError, match="unknown method quantum"):
        studies.choose_methods("svm,quantum", "biased")
    with pytest.raises(KeyError, match="nosuchset"):
        studies.choose_datasets("iris,nosuchset", None, "biased")
    assert studies.choose_datasets(
        "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_50_EDM_2_001", None, "biased"
    ) == ["gametes_h_50"]
    assert "adult" not in studies.choose_datasets(None, 500, "biased")
    with pytest.raises(ValueError, match=r"lacks \{unlabelled\}"):
        peers.check_template("peer {labelled} {out}")


# -- cells in their sandbox --------------------------------------------------------------------------
def cell(method: str = "svm", command: str | None = None, time_limit: float = 20.0, **fields: object) -> dict:
    settings = {"command": command} if command else {}
    given = {
        "study": "biased",
        "dataset": "builtin_parity5",
        "seed": 0,
        "sampling": "biased",
        "fraction": 0.1,
        "bias": 0.85,
        "solver": "scip",
        "time_limit": time_limit,
        "method": method,
        "settings": settings,
    }
    return make_cell(**(given | fields))


def test_whatever_happens_to_a_cell_is_a_row_and_the_next_one_runs():
    shell = "sh -c '{}' {{labelled}} {{unlabelled}} {{out}}"
    python = shell.format(f'{sys.executable} -c "bytearray(4 * 10**9)"')
    limits = Limits(memory_mb=3000, spare=3.0)
    found = {
        "dies": run_cell(cell("peer", shell.format("kill -9 $PPID")), limits),
        "hangs": run_cell(cell("peer", shell.format("kill -STOP $PPID"), time_limit=2.0), limits),
        "sleeps": run_cell(cell("peer", shell.format("sleep 60"), time_limit=0.5), limits),
        "greedy": run_cell(cell("peer", python), limits),
        "raises": run_cell(cell("cs3vm", solver="nosuch"), limits),
    }
    errors = {name: row["error"] for name, row in found.items()}
    assert "SIGKILL" in errors["dies"]
    assert "no answer after 5 seconds" in errors["hangs"]
    assert errors["sleeps"] == "PeerError: no answer within 0.5 seconds"
    assert "MemoryError" in errors["greedy"]
    assert "nosuch" in errors["raises"]
    assert {row["status"] for row in found.values()} == {"error"}
    assert tuple(found["dies"]) == COLUMNS
    good = run_cell(cell("svm"), limits)
    assert (good["error"], good["n"], good["m"]) == ("", 3, 29)
    assert sum(good[f"honest_all_{k}"] for k in ("tp", "tn", "fp", "fn")) == 32


def test_too_little_memory_for_a_method_is_a_row():
    row = run_cell(cell("svm"), Limits(memory_mb=60))
    assert row["status"] == "error"
    assert row["error"]


def test_peers_are_scored_on_the_same_instance():
    swap = "sh -c 'sed s/.*/1/ {unlabelled} > {out}' {labelled}"
    found = [run_cell(cell(method), Limits()) for method in ("svm", *peers.PEERS)]
    found.append(run_cell(cell("everybody", swap), Limits()))
    assert [row["error"] for row in found] == [""] * len(found)
    truth = {(row["honest_unlabelled_tp"] + row["honest_unlabelled_fn"], row["n_positive"]) for row in found}
    assert truth == {(14, 14)}
    counted = {row["method"]: row["count"] for row in found}
    assert counted["self_training_top_tau"] == counted["label_spreading_top_tau"] == 14
    assert counted["everybody"] == 29
    assert found[-1]["honest_all_tp"] == ""  # a command says nothing of the labelled rows
    assert found[-1]["honest_unlabelled_fp"] == 15
