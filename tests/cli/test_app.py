"""The command line."""

import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import cs3vm
from cs3vm import solvers
from cs3vm.cli.app import app
from cs3vm.cli.demo import draw_demo, fit_sample, load_sample

WIDE = {"COLUMNS": "120", "NO_COLOR": "1"}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, list(words), env=WIDE)


@pytest.fixture(scope="module")
def fits():
    return fit_sample(load_sample(), time_limit=30)


def test_version(run):
    assert run("--version").output.strip() == f"cs3vm {cs3vm.__version__}"


@pytest.mark.parametrize("words", [("--help",), ()])
def test_help_has_examples(run, words):
    output = run(*words).output
    for text in ("Examples", "cs3vm demo --out", "cs3vm solvers", "Usage"):
        assert text in output


def test_help_loads_nothing_heavy():
    heavy = ("sklearn", "numba", "pyscipopt", "gurobipy", "matplotlib", "pandas")
    code = f"import sys, cs3vm.cli.app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_demo_writes_a_table_and_a_picture(run, tmp_path):
    result = run("demo", "--out", "figures/demo.png", "--time-limit", "20")
    assert result.exit_code == 0, result.output
    for text in ("36 unlabelled points, 12 known to be positive", "23 of 12", "12 of 12", "69 %", "100 %"):
        assert text in result.output
    picture = (tmp_path / "figures" / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000
    assert "Picture written to figures/demo.png" in result.output


def test_demo_without_matplotlib_still_prints_the_table(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("demo", "--time-limit", "1")
    assert result.exit_code == 0, result.output
    assert "23 of 12" in result.output
    assert 'pip install "cs3vm[report]"' in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "demo.txt"), "demo.txt is not a picture"),
        (("--time-limit", "-1"), "--time-limit"),
        (("--time-limit", "soon"), "--time-limit"),
    ],
)
def test_demo_refuses_bad_options(run, words, message):
    result = run("demo", *words)
    assert result.exit_code == 2
    assert message in result.output


def test_demo_says_where_it_cannot_write(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("demo", "--out", "file/demo.png", "--time-limit", "1")
    assert result.exit_code == 2
    assert "cannot write file/demo.png" in result.output


def test_solvers_lists_all_and_how_to_get_the_missing(run, monkeypatch):
    monkeypatch.setattr(cs3vm, "available_solvers", lambda: ["scip"])
    lines = run("solvers").output.splitlines()
    scip = next(line for line in lines if "scip" in line)
    gurobi = next(line for line in lines if "cs3vm[gurobi]" in line)
    assert "yes" in scip
    assert "pip install" not in scip
    assert "no" in gurobi.split("│")[3]
    assert all(any(name in line for line in lines) for name in solvers.SOLVERS)


def test_the_sample_is_biased_and_its_total_is_true():
    sample = load_sample()
    assert sample.X.shape == (44, 2)
    assert sample.n_positive == sample.truth[sample.unlabelled].sum() == 12
    known = ~sample.unlabelled
    np.testing.assert_array_equal(sample.y[known], sample.truth[known])
    assert sample.y[known].mean() == 0.75 > sample.truth.mean()
    assert len(np.unique(sample.X, axis=0)) == 44


def test_the_total_corrects_the_svm(fits):
    sample = load_sample()
    svm, ours = fits["SVM"], fits["CS³VM"]
    assert svm.result_.count == 23
    assert ours.result_.count == 12
    assert sample.accuracy(ours.transduction_) > sample.accuracy(svm.transduction_) + 0.2
    assert ours.result_.objective < fits["SVM + top-τ"].result_.objective


def test_the_picture_shows_both_planes_and_both_counts(fits):
    figure = draw_demo(load_sample(), fits)
    left, right = figure.axes
    assert "SVM: 23 unlabelled points positive (known total: 12)" in left.get_title()
    assert "CS³VM: 12 unlabelled points positive (known total: 12)" in right.get_title()
    for ax in (left, right):
        assert [line.get_label() for line in ax.lines] == ["hyperplane of SVM", "hyperplane of CS³VM"]
    entries = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(entries) == 10
    assert {"hyperplane of SVM", "hyperplane of CS³VM", "classified wrongly"} <= set(entries)


def test_a_plane_that_is_none_is_not_drawn():
    from matplotlib.figure import Figure

    from cs3vm.report.figures import draw_plane

    ax = Figure().subplots()
    draw_plane(ax, np.zeros(2), 1.0)
    assert len(ax.lines) == 0
    draw_plane(ax, np.array([0.0, 2.0]), -4.0)  # the line y = 2
    assert ax.lines[0].get_xy1()[1] == ax.lines[0].get_xy2()[1] == 2.0
