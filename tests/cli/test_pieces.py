"""Tables in pieces on the command line: the same answer however they are cut, and nothing half written."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cs3vm.cli import memory
from cs3vm.cli.app import app
from cs3vm.large import fitting
from cs3vm.tables.model_file import load_model

ENV = {"COLUMNS": "120", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
QUICK = ("--no-accuracy", "--no-report", "--work-limit", "2e7")


def make_people(n_rows=3000, seed=0):
    """People of whom some have answered, mostly those who do not pay in cash; the number who do."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "west"], n_rows)
    frame = pd.DataFrame(
        {
            "person": [f"P{i:05}" for i in range(n_rows)],
            "age": rng.integers(18, 90, n_rows).astype(float),
            "income": rng.normal(size=n_rows),
            "region": region,
            "weight": rng.choice([1.0, 1.5, 2.0], n_rows),
        }
    )
    cash = frame.age + 15 * (region == "north") + 9 * frame.income + rng.normal(0, 8, n_rows) > 55
    hidden = rng.random(n_rows) > np.where(cash, 0.02, 0.06)
    frame["cash"] = np.where(hidden, None, np.where(cash, "yes", "no"))
    frame["truth"] = cash
    return frame, int(cash[hidden].sum())


def write_folder(frame, folder, n_files, row_group_size=400):
    Path(folder).mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(f"{folder}/part{i:02}.parquet", row_group_size=row_group_size)


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, n_positive = make_people()
    frame = frame.drop(columns="truth")
    frame.to_csv("people.csv", index=False)
    write_folder(frame, "big", 3)
    return frame, n_positive


@pytest.fixture
def small_sample(monkeypatch):
    """So few rows are drawn that the table needs all kinds of passes."""
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 1000)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env=ENV)


def fit(table, *words, quick=QUICK):
    usual = ("--label", "cash", "--positive", "yes", *quick, *words)
    return run("fit", table, *usual, *(() if "--exclude" in words else ("--exclude", "weight,person")))


def done(result):
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    return result


def refuse(*words, command=fit):
    """Run a command that must fail with exit code 2 and leave the folder as it was; return the message."""
    before = sorted(Path().rglob("*"))
    result = command(*words)
    assert result.exit_code == 2, (result.output, result.exception)
    assert sorted(Path().rglob("*")) == before
    return " ".join(result.stderr.split())


# -- the same answer -----------------------------------------------------------------------------------
def test_a_small_folder_is_fitted_as_a_file_would_be(people):
    _, n = people
    done(fit("people.csv", "--n-positive", n, "--method", "direct", "--no-certainty", "--id", "person"))
    done(fit("big", "--n-positive", n, "--out", "out", "--id", "person"))
    whole, pieces = pd.read_csv("people.labels.csv"), pd.read_parquet("out/labels")
    for name in ("person", "predicted", "undecided"):
        assert (whole[name] == pieces[name]).all()
    for name in ("score", "probability_no", "probability_yes"):
        np.testing.assert_allclose(pieces[name], whole[name], rtol=1e-7, atol=1e-9)
    assert load_model(Path("out/model.json")).encoding == load_model(Path("people.model.json")).encoding


def test_labels_do_not_depend_on_files_and_pieces(people, small_sample, monkeypatch):
    frame, n = people
    write_folder(frame, "many", 7, 50)
    done(fit("big", "--n-positive", n, "--out", "first"))
    expected = pd.read_parquet("first/labels")
    unlabelled = frame.cash.isna().to_numpy()
    assert (expected.predicted[unlabelled] == "yes").sum() == n
    monkeypatch.setattr(memory, "MOST", 130)
    monkeypatch.setattr(memory, "FEWEST", 130)
    done(fit("many/*.parquet", "--n-positive", n, "--out", "second"))
    done(fit("people.csv", "--n-positive", n, "--memory", "1KB", "--out", "third"))
    for found in (pd.read_parquet("second/labels"), pd.read_csv("third/labels.csv")):
        assert (found.predicted == expected.predicted).all()
        assert (found.score == expected.score).all()
    assert expected.file.unique().tolist() == ["part00.parquet", "part01.parquet", "part02.parquet"]


def test_gaps_are_filled_by_medians_of_all_rows(people, small_sample):
    frame, n = people
    rng = np.random.default_rng(1)
    frame.loc[rng.random(len(frame)) < 0.1, "age"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.1, "region"] = None
    write_folder(frame, "gaps", 4)
    assert "'age' in row" in refuse("gaps", "--n-positive", n)
    result = done(fit("gaps", "--n-positive", n, "--impute", "median"))
    assert "missing values were filled in by the median" in result.stderr
    columns = {c.name: c for c in load_model(Path("gaps.fit/model.json")).encoding.columns}
    assert columns["age"].fill == np.nanmedian(frame.age)
    assert columns["region"].fill == frame.region.mode()[0]
    assert columns["region"].categories == ("north", "south", "west")


def test_totals_by_group_weights_and_numbers_by_group(people, small_sample):
    frame, _ = people
    own = frame[frame.cash.isna()]
    known = (own.groupby("region").weight.sum() * [0.7, 0.5, 0.5]).round(1)
    known.rename("total").rename_axis("group").to_csv("totals.csv")
    words = ("--totals-by", "region=totals.csv", "--weight", "weight", "--by", "region", "--json")
    result = json.loads(done(fit("big", *words)).stdout)
    counts = {one["name"]: one["count"] for one in result["totals"]}
    groups = pd.read_csv("big.fit/by_region.csv").set_index("group")
    labels = pd.read_parquet("big.fit/labels").join(frame[["weight", "region"]])
    labels = labels[labels.given.isna()]
    for group, rows in labels.groupby("region"):
        assert groups.by_labels[group] == pytest.approx(rows.weight[rows.predicted == "yes"].sum())
        assert groups.number[group] == pytest.approx((rows.weight * rows.probability_yes).sum())
        (count,) = (value for name, value in counts.items() if group in name)
        assert groups.by_labels[group] == pytest.approx(count)
        assert count == pytest.approx(known[group], abs=50.0)
        assert groups.number[group] == pytest.approx(known[group], rel=1e-6)


def test_the_simple_rule(people, small_sample):
    frame, n = people
    done(fit("big", "--n-positive", n, "--method", "top_tau"))
    labels = pd.read_parquet("big.fit/labels")
    own = frame.cash.isna().to_numpy()
    assert (labels.predicted[own] == "yes").sum() == n


def test_an_interval_and_a_share(people, small_sample):
    frame, n = people
    unlabelled = frame.cash.isna().sum()
    result = json.loads(done(fit("big", "--n-positive", f"{n - 300}:{n + 300}", "--json")).stdout)
    assert n - 300 <= result["counts"]["yes"] <= n + 300
    words = ("--positive-rate", 0.4, "--json", "--force")
    assert json.loads(done(fit("big", *words)).stdout)["counts"]["yes"] == round(0.4 * unlabelled)


def test_the_positive_class_may_be_the_first(people, small_sample):
    frame, n = people
    own = frame.cash.isna().to_numpy()
    result = run("fit", "big", "--label", "cash", "--positive", "no", "--exclude", "weight,person", *QUICK)
    assert result.exit_code == 2  # the total is missing
    words = ("--positive", "no", "--n-positive", own.sum() - n, "--exclude", "weight,person", *QUICK)
    done(run("fit", "big", "--label", "cash", *words))
    labels = pd.read_parquet("big.fit/labels")[own]
    assert (labels.predicted == "no").sum() == own.sum() - n
    assert ((labels.score > 0) == (labels.predicted == "no")).all()
    assert labels.probability_no.sum() == pytest.approx(own.sum() - n)


def test_one_class_may_have_no_labels(people, small_sample):
    frame, n = people
    frame.loc[frame.cash == "no", "cash"] = None
    write_folder(frame, "one", 3)
    done(fit("one", "--n-positive", n))
    labels = pd.read_parquet("one.fit/labels")
    counts = labels.predicted[frame.cash.isna().to_numpy()].value_counts()
    assert counts["yes"] == n
    assert set(counts.index) == {"yes", "not yes"}
    assert "needs labels of both" in refuse("one", "--n-positive", f"{n}:{n + 9}", "--force")


def test_the_report_says_what_it_is_made_of(people, small_sample):
    _, n = people
    done(fit("big", "--n-positive", n, quick=("--work-limit", "2e7", "--no-accuracy")))
    page = Path("big.fit/report.html").read_text("utf-8")
    assert "read in pieces" in page
    assert "1000 others that were drawn" in page


def test_new_rows_in_pieces(people, monkeypatch):
    _, n = people
    done(fit("people.csv", "--n-positive", n, "--method", "top_tau", "--no-certainty"))
    done(run("predict", "people.model.json", "people.csv", "--id", "person"))
    expected = Path("people.predictions.csv").read_bytes()
    monkeypatch.setattr(memory, "MOST", 700)
    words = ("--id", "person", "--memory", "1KB", "--force")
    result = done(run("predict", "people.model.json", "people.csv", *words))
    assert "pass 1 (predictions)" in result.stderr
    assert Path("people.predictions.csv").read_bytes() == expected
    done(run("predict", "people.model.json", "big", "--id", "person"))
    found = pd.read_parquet("big.predictions")
    whole = pd.read_csv("people.predictions.csv")
    assert (found.person == whole.person).all()
    assert (found.predicted == whole.predicted).all()


def test_thresholds_of_groups_in_pieces(people, monkeypatch):
    frame, _ = people
    own = frame[frame.cash.isna()]
    (own.groupby("region").size() // 2).rename("total").rename_axis("group").to_csv("totals.csv")
    words = ("--totals-by", "region=totals.csv", "--group-intercepts", "--method", "direct", "--no-certainty")
    done(fit("people.csv", *words))
    frame.loc[[5, 2000], "region"] = "nowhere"
    frame.to_csv("new.csv", index=False)
    whole = done(run("predict", "people.model.json", "new.csv", "--allow-unseen"))
    expected = Path("new.predictions.csv").read_bytes()
    monkeypatch.setattr(memory, "MOST", 700)
    more = ("--allow-unseen", "--memory", "1KB", "--force")
    pieces = done(run("predict", "people.model.json", "new.csv", *more))
    assert Path("new.predictions.csv").read_bytes() == expected
    for result in (whole, pieces):
        assert "2 rows have a group in column 'region'" in " ".join(result.stderr.split())


# -- what is refused -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "svm"), "--method svm is not possible for a table in pieces"),
        (("--norm", "l1"), "--norm l1 is not possible"),
        (("--group-intercepts",), "--group-intercepts is not possible"),
        (("--side-margin", "0"), "no row may lie on the plane"),
        (("--n-positive-range", "5:9"), "--n-positive-range needs a table in memory"),
        (("--features", "agee"), "no column for --features: 'agee'. Did you mean 'age'"),
        (("--out", "big/labels"), "inside the table"),
        (("--out", "people.csv"), "is a file"),
        (("--out", "taken"), "exists already: add --force"),
        (("--n-positive", "99999"), "only"),
        (("--memory", "much"), "not a size"),
        (("--exclude", "region"), "at least 1001 different values"),
    ],
)
def test_what_cannot_be_is_refused(people, words, message):
    _, n = people
    Path("taken").mkdir()
    Path("taken/file").write_text("mine")
    given = () if "--n-positive" in words else ("--n-positive", n)
    assert message in refuse("big", *given, *words)


def test_a_third_class_is_named_with_its_row(people):
    frame, n = people
    frame.loc[1234, "cash"] = "perhaps"
    write_folder(frame, "three", 3)
    message = refuse("three", "--n-positive", n)
    assert "'perhaps', is in row 235" in message


def test_a_damaged_file_is_named_and_nothing_is_left(people):
    _, n = people
    path = Path("big/part01.parquet")
    content = bytearray(path.read_bytes())
    content[200:3000] = b"\0" * 2800
    path.write_bytes(content)
    assert "part01.parquet" in refuse("big", "--n-positive", n)


def test_folders_of_other_things(people):
    Path("empty").mkdir()
    assert "no Parquet files" in refuse("empty", "--n-positive", 5)
    assert "no Parquet files" in refuse("nothing*.parquet", "--n-positive", 5)


# -- nothing half written ------------------------------------------------------------------------------
#: A process that has imported all there is and then, line by line, lets a copy of itself run a command and
#: die in a phase of it; it answers how that copy ended. To start a new process for each would take longer.
KILLED = """
import json, os, signal, sys
from cs3vm.cli import piece_outputs
from cs3vm.cli.app import app
from cs3vm.engine.warm_up import warm_up
from cs3vm.large import fitting
from cs3vm.tables import unfinished

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def fit(phase, near, folder, words):
    os.chdir(folder)
    fitting.SAMPLE_ROWS = 1000
    fitting.fit_pieces.__kwdefaults__["near_rows"] = near
    if phase == "labels":
        write, piece_outputs.write_part = piece_outputs.write_part, lambda columns, folder, first, kind: (
            write(columns, folder, first, kind) if first == 0 else die()
        )
    elif phase == "rename":
        rename, os.rename = os.rename, lambda a, b: rename(a, b) if str(b).endswith("old") else die()
    else:
        last, write = f"pass-{int(phase):03d}", unfinished._write
        unfinished._write = lambda path, *rest: die() if path.name == last else write(path, *rest)
    app(["fit", *words], standalone_mode=True)

warm_up()
for line in sys.stdin:
    copy = os.fork()
    if copy == 0:
        fit(*json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Run ``fit`` in a process that is killed in the given phase; return how it ended, and what it said."""
    said = tmp_path_factory.mktemp("killed") / "stderr"
    with (
        said.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-c", KILLED],
            env={**os.environ, **ENV},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as server,
    ):

        def fit(phase, words, near=30_000):
            server.stdin.write(json.dumps([phase, near, os.getcwd(), words]) + "\n")
            server.stdin.flush()
            line = server.stdout.readline()
            while line and not line.strip().lstrip("-").isdigit():  # what the command prints
                line = server.stdout.readline()
            return int(line or 0), said.read_text()

        yield fit
        server.stdin.close()


@pytest.fixture(scope="module")
def not_killed(tmp_path_factory):
    """The labels of a run from beginning to end."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(fitting, "SAMPLE_ROWS", 1000)
        frame, n = make_people()
        write_folder(frame.drop(columns="truth"), "big", 3)
        done(fit("big", "--n-positive", n, "--out", "out"))
        return pd.read_parquet("out/labels")


@pytest.mark.parametrize("phase", ["0", "1", "2", "3", "labels", "rename"])
def test_a_run_that_is_killed_leaves_the_old_output_and_is_resumed(
    people, small_sample, killed, not_killed, phase
):
    _, n = people
    Path("out").mkdir()
    Path("out/model.json").write_text("old")
    words = ["big", "--label", "cash", "--positive", "yes", "--exclude", "weight,person", *QUICK]
    words += ["--n-positive", str(n), "--out", "out", "--force"]
    code, said = killed(phase, words)
    assert code == -signal.SIGKILL, said
    if phase == "rename":
        assert not Path("out").exists()
        assert run("fit", *(word for word in words if word != "--force")).exit_code == 2
    assert Path("out/model.json").read_text() == "old"
    resumed = done(run("fit", *words, "--resume"))
    kept = resumed.stderr.count("from the run before")
    passes = resumed.stderr.count("pass ") - 1  # the last writes labels
    assert kept == (int(phase) if phase.isdigit() else passes)
    assert list(Path().glob(".out.unfinished")) == []
    assert not_killed.equals(pd.read_parquet("out/labels"))


def with_gaps_and_ties(frame):
    """So few different rows that some of them must be divided, and missing values."""
    frame["age"], frame["income"] = frame.age // 40 * 40, (frame.income > frame.income.median()).astype(float)
    frame.loc[::7, "age"] = np.nan
    return frame


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("big", ["survey", "intercept", "round"]),
        ("tied", ["columns", "ties", "outcome", "probabilities"]),
    ],
)
def test_a_run_that_is_killed_again_and_again_goes_on(
    people, small_sample, killed, monkeypatch, table, names
):
    """Each run is killed by the pass of that name, when it is done but not yet kept."""
    near = 100 if "round" in names else 30_000  # rounds need rows that are not near
    monkeypatch.setitem(fitting.fit_pieces.__kwdefaults__, "near_rows", near)
    frame, n = people
    write_folder(with_gaps_and_ties(frame), "tied", 2)
    words = [table, "--label", "cash", "--positive", "yes", "--exclude", "weight,person", *QUICK]
    words += ["--n-positive", str(n), "--out", "out", "--impute", "median"]
    whole = done(run("fit", *words, "--out", "whole"))
    order = re.findall(r"^pass \d+ \((.+?)\)", whole.stderr, re.MULTILINE)
    at = -1
    for name in names:
        at = order.index(name, at + 1)
        code, said = killed(str(at), [*words, "--resume"], near)
        assert code == -signal.SIGKILL, said
        assert not Path("out").exists()
    resumed = done(run("fit", *words, "--resume"))
    assert resumed.stderr.count("from the run before") == at
    assert pd.read_parquet("out/labels").equals(pd.read_parquet("whole/labels"))


def test_what_belongs_to_other_options_is_not_resumed(people, small_sample, monkeypatch):
    _, n = people

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("cs3vm.cli.piece_fit.look", stop)
        stopped = fit("big", "--n-positive", n)
    assert stopped.exit_code == 130
    assert "the same command with --resume goes on" in stopped.stderr
    assert not Path("big.fit").exists()
    message = fit("big", "--n-positive", n + 1, "--resume").stderr
    assert "other data, options" in " ".join(message.split())
    assert "from the run before" in done(fit("big", "--n-positive", n, "--resume")).stderr
