"""The studies: which cells they consist of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cs3vm.methods import METHODS
from experiments import peers
from experiments.cells import TRUE, make_cell
from experiments.datasets import BUILTIN, paper_row, paper_table, size
from experiments.instances import BIAS, FRACTION, SAMPLINGS
from experiments.rows import Row

STUDIES = ("biased", "random", "sensitivity", "peers")
PAPER_METHODS = ("svm", "top_tau", "cs3vm", "rcm", "ircm", "wircm", "auto")
PEER_METHODS = ("svm", "top_tau", "direct", *peers.PEERS)
SENSITIVE_METHODS = ("cs3vm", "ircm", "wircm")


@dataclass(frozen=True)
class Plan:
    """What the command line says about a study."""

    study: str
    datasets: Sequence[str]
    methods: Sequence[str]
    seeds: Sequence[int]
    solver: str = "bnb"
    time_limit: float = 60.0
    fraction: float = FRACTION
    bias: float = BIAS
    sampling: str = "biased"
    commands: tuple[tuple[str, str], ...] = ()  # name, template


def cells(plan: Plan) -> list[Row]:
    """Small datasets first, so that an interrupted run is of use; the true hyperplane before the rest."""
    kind = _sensitivity if plan.study == "sensitivity" else _side_by_side
    return [
        make_cell(
            study=plan.study,
            dataset=dataset,
            seed=seed,
            sampling=plan.study if plan.study in SAMPLINGS else plan.sampling,
            fraction=plan.fraction,
            bias=plan.bias,
            solver=plan.solver,
            time_limit=plan.time_limit,
            method=method,
            settings=settings,
        )
        for dataset in sorted(plan.datasets, key=size)
        for seed in plan.seeds
        for method, settings in kind(plan, dataset)
    ]


def _side_by_side(plan: Plan, dataset: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for method in (TRUE, *plan.methods):
        yield method, {}
    for name, template in plan.commands:
        yield name, {"command": template}


def choose_datasets(names: str | None, max_n: int | None, study: str) -> list[str]:
    """The paper's names of the wanted datasets; ``builtin`` stands for those that need no files."""
    if names is None:
        chosen = [row["paper_name"] for row in paper_table()]
        chosen = chosen[:3] if study == "sensitivity" else chosen
    else:
        wanted = [name.strip() for name in names.split(",") if name.strip()]
        chosen = [n for name in wanted for n in (BUILTIN if name == "builtin" else [_canonical(name)])]
    return [name for name in dict.fromkeys(chosen) if max_n is None or size(name) <= max_n]


def _canonical(name: str) -> str:
    return name if name in BUILTIN else paper_row(name)["paper_name"]


def choose_methods(names: str | None, study: str) -> list[str]:
    """The wanted methods, or those of the study."""
    if names is None:
        return list({"peers": PEER_METHODS, "sensitivity": SENSITIVE_METHODS}.get(study, PAPER_METHODS))
    known = (*METHODS, *peers.PEERS)
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"unknown method {', '.join(unknown)}: choose among {', '.join(known)}")
    return wanted


# -- sensitivity (Appendix D, Table 2) ---------------------------------------------------------------
@dataclass(frozen=True)
class Range:
    """Values of one parameter within its plausible range; the paper's choice is among them."""

    symbol: str
    plausible: str
    methods: tuple[str, ...]
    values: tuple[float, ...]
    of: str = ""  # "m": times the number of unlabelled rows; "limit": times the time limit


EVERY, CLUSTERED = ("cs3vm", "ircm", "wircm"), ("ircm", "wircm")
RANGES = {
    "C": Range("C₁", "≥ 0", EVERY, (0.01, 0.1, 1.0, 10.0, 100.0)),
    "count_penalty": Range("C₂", "[C₁/2, 2C₁]", EVERY, (0.5, 0.75, 1.0, 1.5, 2.0)),
    "n_clusters": Range("k¹", "[2, m]", CLUSTERED, (2, 5, 10, 20, 50)),
    "max_clusters": Range("k⁺", "[k¹, m]", CLUSTERED, (10, 25, 50, 65)),
    "far_quantile": Range("Δ̂¹", "[0.5, 0.9]", CLUSTERED, (0.5, 0.6, 0.7, 0.8, 0.9)),
    "far_step": Range("Δ̃", "[0.1, 1 − Δ̂¹]", CLUSTERED, (0.1, 0.15, 0.2)),
    "max_fixed": Range("B_max", "[1, m]", ("wircm",), (0.1, 0.2, 0.25, 0.35, 0.5, 1.0), of="m"),
    "fix_factor": Range("γ", "[1.1, m/B_max]", ("wircm",), (1.1, 1.2, 1.5, 2.0, 3.0)),
    "fix_time_limit": Range(
        "T_max",
        "[10, 100] s of 3600 s",
        ("wircm",),
        (10 / 3600, 40 / 3600, 70 / 3600, 100 / 3600),
        of="limit",
    ),
}


def _sensitivity(plan: Plan, dataset: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """One parameter at a time, the others at the paper's choice."""
    N = size(dataset)
    m = N - max(2, round(plan.fraction * N))
    yield TRUE, {}
    for name, spread in RANGES.items():
        for value in spread.values:
            if spread.of == "m":
                value = max(1, round(value * m))
            elif spread.of == "limit":
                value = round(value * plan.time_limit, 4)
            for method in spread.methods:
                if method in plan.methods:
                    yield method, {name: value}
