"""HiGHS: an open solver of mixed-integer linear models, for the 1- and the max-norm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import highspy
import numpy as np
from highspy import HighsModelStatus
from numpy.typing import NDArray
from scipy import sparse

from .._typing import FloatArray
from ..convex.linear_program import Epigraph, epigraph
from ..exceptions import CS3VMError, InvalidProblemError
from ..model.norms import parts
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback, Status, TracePoint
from .big_m import BigM, variable_bounds
from .mip import (
    FEASIBILITY_TOLERANCE,
    GAP_SHARE,
    NO_POINT,
    Outcome,
    Task,
    best_answer,
    counts_of,
    ending,
    run,
    unsafe_scale,
)

#: Seconds between two points of the trace when nothing better is found.
TRACE_SECONDS = 0.5
#: Measured: 20 s for 20,000 rows and 20 features. Times m²·d.
SETUP_SECONDS = 2.5e-9


def solve(
    problem: Problem,
    *,
    start: Result | None = None,
    cutoff: float | None = None,
    time_limit: float = 60.0,
    gap: float = DEFAULT_GAP,
    callback: Callback | None = None,
    random_state: int = 0,
    first_improvement: bool = False,
    node_limit: int | None = None,
    big_m: BigM = "tight",
    threads: int = 1,
    parameters: dict[str, Any] | None = None,
) -> Result:
    """Solve a problem with ``norm="l1"`` or ``norm="max"`` with HiGHS.

    Parameters
    ----------
    start
        A result whose point HiGHS starts from.
    cutoff
        Only points with a smaller objective are of interest.
    first_improvement
        Stop at the first point below the cutoff (P5 is a feasibility problem).
    big_m
        ``"paper"`` is P3 as printed, ``"tight"`` has one bound per point; a number is taken as M. HiGHS has
        no indicator constraints.
    parameters
        Further HiGHS options by HiGHS' own names.
    """
    _check(problem, big_m)
    return run(
        "highs",
        _search,
        problem,
        start=start,
        cutoff=cutoff,
        time_limit=time_limit,
        gap=gap,
        callback=callback,
        random_state=random_state,
        first_improvement=first_improvement,
        node_limit=node_limit,
        big_m=big_m,
        threads=threads,
        parameters=parameters,
    )


def _search(task: Task) -> Outcome:
    model, watch = _HighsModel(task), _Watch(task)
    if task.cutoff is not None:
        model.add_cutoff(task.cutoff)
    best = best_answer(task.problem, *NO_POINT, [task.start, task.first])
    if best is not None:
        model.add_start(best)
    model.set_options(
        {
            "time_limit": task.left,
            "mip_heuristic_run_feasibility_jump": False,  # slow on large models, and a start is known
            "mip_rel_gap": GAP_SHARE * task.gap,
            "random_seed": task.seed % 2**31,
            "threads": task.threads,
            **({} if task.node_limit is None else {"mip_max_nodes": task.node_limit}),
            **({"mip_max_improving_sols": 1} if task.first_improvement else {}),
            **task.parameters,
        }
    )
    status, bound = model.run(watch)
    nodes = max(0, int(model.highs.getInfo().mip_node_count))
    return Outcome(status, bound, *model.best_point(), nodes, watch.trace, model.own_objective())


def _check(problem: Problem, big_m: BigM) -> None:
    if problem.norm == "l2":
        raise InvalidProblemError(
            "HiGHS solves linear models only, and norm='l2' makes a quadratic one: use norm='l1' or 'max', "
            "or solver='bnb', 'scip' or 'gurobi'"
        )
    if big_m == "indicator":
        raise InvalidProblemError(
            "HiGHS has no indicator constraints: use big_m='tight' or 'paper', or solver='scip'"
        )


class _HighsModel:
    """P3 with weights and fixed sides, in matrix form. The variables are (w, b, ξ, a, η, z)."""

    def __init__(self, task: Task) -> None:
        problem = self.problem = task.problem
        self.highs = highspy.Highs()
        n, m, d, margin = problem.n, problem.m, problem.d, problem.side_margin
        limit, norm = variable_bounds(problem, task.big_m, task.value), epigraph(problem.norm, d)
        n_parts = norm.of_a.shape[1]
        inf = np.inf
        counts, prices = counts_of(problem), problem.totals.penalty
        n_free, none = n + n_parts + 2 * len(prices), np.full(len(prices), inf)
        nothing, free = np.zeros(n_free), np.full(n_free, inf)
        box = np.append(np.full(d, limit.w), limit.b)
        sides = problem.side > 0, problem.side >= 0
        self.set_options({"output_flag": False, "mip_abs_gap": 0.0})
        for kind in ("primal", "dual", "mip"):
            self.set_options({f"{kind}_feasibility_tolerance": FEASIBILITY_TOLERANCE})
        # Weights in the millions made HiGHS run without an end. To divide by a power of two is exact.
        self.unit = 2.0 ** np.floor(np.log2(problem.weights.max(initial=1.0)))
        eta_cost = np.tile(prices * self.unit, 2)
        self.cost = np.concatenate([np.zeros(d + 1), problem.C, np.ones(n_parts), eta_cost, np.zeros(m)])
        self._pass(
            lower=np.concatenate([-box, nothing, sides[0]]),
            upper=np.concatenate([box, free, sides[1]]),
            matrix=_matrix(problem, norm, limit.low + margin, limit.high + margin, counts.matrix / self.unit),
            # rows: labelled, norm, counts, counts, sides, sides
            row_lower=np.concatenate(
                [
                    np.ones(n),
                    np.full(2 * d, -inf),
                    counts.low / self.unit,
                    -none,
                    np.full(m, -inf),
                    -limit.low,
                ]
            ),
            row_upper=np.concatenate(
                [
                    np.full(n, inf),
                    np.zeros(2 * d),
                    none,
                    counts.high / self.unit,
                    np.full(m, -margin),
                    np.full(m, inf),
                ]
            ),
        )

    def _pass(
        self,
        *,
        lower: FloatArray,
        upper: FloatArray,
        matrix: Any,
        row_lower: FloatArray,
        row_upper: FloatArray,
    ) -> None:
        """Hand the arrays to HiGHS; the last m variables are integers."""
        integrality = np.zeros(len(self.cost), dtype=np.int32)
        integrality[len(self.cost) - self.problem.m :] = int(highspy.HighsVarType.kInteger)
        passed = self.highs.passModel(
            len(self.cost),
            len(row_lower),
            matrix.nnz,
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            self.cost,
            lower,
            upper,
            row_lower,
            row_upper,
            matrix.indptr.astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data,
            integrality,
        )
        if passed == highspy.HighsStatus.kError:
            raise InvalidProblemError(
                "HiGHS does not take the model, because it has numbers of 1e15 or more: standardise the rows"
            )

    @property
    def setup_seconds(self) -> float:
        """What HiGHS needs between presolve and the root, without a look at the clock."""
        return SETUP_SECONDS * self.problem.m**2 * self.problem.d

    def set_options(self, options: dict[str, Any]) -> None:
        """Set options by HiGHS' own names."""
        for name, value in options.items():
            if self.highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
                raise InvalidProblemError(
                    f"HiGHS does not take the option {name!r} with the value {value!r}: see its options"
                )

    def add_cutoff(self, cutoff: float) -> None:
        """Allow only points of at most this value; HiGHS' ``objective_bound`` does not rule others out."""
        columns = np.flatnonzero(self.cost).astype(np.int32)
        self.highs.addRow(-np.inf, cutoff, len(columns), columns, self.cost[columns])

    def add_start(self, start: Result) -> None:
        """Hand a known point to HiGHS."""
        assert start.coef is not None
        assert start.z is not None
        problem = self.problem
        slack = np.maximum(0.0, 1.0 - problem.y * (problem.X @ start.coef + start.intercept))
        values = np.concatenate(
            [
                start.coef,
                [start.intercept],
                slack,
                parts(problem.norm, start.coef),
                np.concatenate(problem.totals.eta(problem.totals.counts(start.z))) / self.unit,
                start.z,
            ]
        )
        self.highs.setSolution(len(values), np.arange(len(values), dtype=np.int32), values)

    def run(self, watch: _Watch) -> tuple[Status, float]:
        """Search; the exceptions of the callback, Ctrl-C among them, end it."""
        if self.setup_seconds > watch.task.left:
            return Status.TIME_LIMIT, 0.0
        if unsafe_scale(self.problem) is not None:
            # its bound would not count, and on such models it was seen to run without an end
            return Status.FEASIBLE, 0.0
        watch.listen(self.highs)
        with watch.deferring_ctrl_c():
            self._run()
        if watch.error is not None and not isinstance(watch.error, KeyboardInterrupt):
            raise watch.error
        status = self.highs.getModelStatus()
        if status == HighsModelStatus.kInterrupt and watch.error is None:
            status = HighsModelStatus.kTimeLimit
        info = self.highs.getInfo()
        if self.problem.m == 0:  # a linear programme, whose value is the bound
            bound = info.objective_function_value if status == HighsModelStatus.kOptimal else 0.0
        else:
            bound = info.mip_dual_bound
        return _ending(status), float(bound) if np.isfinite(bound) else 0.0

    def _run(self) -> None:
        if self.highs.run() != highspy.HighsStatus.kError:
            return
        # It refuses to run with another number of threads than the first time in this process.
        highspy.Highs.resetGlobalScheduler(True)
        if self.highs.run() == highspy.HighsStatus.kError:
            raise CS3VMError(
                f"HiGHS failed ({self.highs.modelStatusToString(self.highs.getModelStatus())}): use "
                "solver='scip', or see what it prints with parameters={'output_flag': True}"
            )

    def best_point(self) -> tuple[FloatArray, NDArray[np.int8]]:
        """HiGHS' best plane and sides; empty if it has none."""
        if not self._has_point:
            return NO_POINT
        values = np.array(self.highs.getSolution().col_value)
        return values[: self.problem.d], (values[len(values) - self.problem.m :] > 0.5).astype(np.int8)

    def own_objective(self) -> dict[str, float]:
        """The value that HiGHS gives to its point."""
        if not self._has_point:
            return {}
        return {"backend_objective": float(self.highs.getInfo().objective_function_value)}

    @property
    def _has_point(self) -> bool:
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        return int(self.highs.getInfo().primal_solution_status) == feasible


def _ending(status: HighsModelStatus) -> Status:
    """HiGHS calls its limit of nodes one of solutions; the search for a first improvement ends by it, too."""
    if status == HighsModelStatus.kSolutionLimit:
        return Status.NODE_LIMIT
    return ending(status.name.removeprefix("k"))


def _matrix(problem: Problem, norm: Epigraph, low: FloatArray, high: FloatArray, counts: Any) -> Any:
    """The rows of P3: labelled, norm, counts (twice), sides (twice)."""
    n, m, d, n_parts = problem.n, problem.m, problem.d, norm.of_a.shape[1]
    labelled = sparse.csr_array(problem.y[:, None] * np.column_stack([problem.X, np.ones(n)]))
    plane = sparse.csr_array(np.column_stack([problem.U, np.ones(m)]))
    ones = np.ones(len(problem.totals))
    eta = sparse.diags_array(np.append(ones, -ones)) if len(ones) else sparse.csr_array((0, 0))
    of_w = sparse.hstack([norm.of_w, sparse.csr_array((2 * d, 1))])
    blocks = [  # columns: (w, b), ξ, a, η, z
        [labelled, sparse.eye_array(n), sparse.csr_array((n, n_parts)), None, None],
        [of_w, None, norm.of_a, None, None],
        [None, None, None, eta, sparse.vstack([counts, counts])],
        [plane, None, None, None, -sparse.diags_array(high)],
        [plane, None, None, None, -sparse.diags_array(low)],
    ]
    return sparse.block_array(blocks, format="csr")


class _Watch:
    """Records the trace, tells the caller about it, and stops HiGHS when the caller's code raises."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.trace: list[TracePoint] = []
        self.error: BaseException | None = None  # HiGHS cannot carry an exception of the callback
        self.last = -np.inf

    def listen(self, highs: Any) -> None:
        """Ask HiGHS to report each better point, and to ask now and then whether it should stop."""
        kinds = highspy.cb.HighsCallbackType
        self.improved = kinds.kCallbackMipImprovingSolution
        highs.setCallback(self._called, None)
        for kind in (
            self.improved,
            kinds.kCallbackMipInterrupt,
            kinds.kCallbackSimplexInterrupt,
            kinds.kCallbackIpmInterrupt,
        ):
            highs.startCallback(kind)

    @contextmanager
    def deferring_ctrl_c(self) -> Iterator[None]:
        """Note Ctrl-C instead of raising it: no exception may pass through HiGHS.

        Python runs the handler when HiGHS next calls us, which is often.
        """
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            try:
                before(number, frame)
            except BaseException as error:
                self.error = error

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _called(self, kind: Any, _: str, out: Any, answer: Any, __: Any) -> None:
        try:
            self._note(kind, out)
        except BaseException as error:
            self.error = error
        # HiGHS looks at its own clock late in the linear programmes of large models.
        late = self.task.left == 0.0
        if (self.error is not None or late) and kind != self.improved:
            answer.user_interrupt = True

    def _note(self, kind: Any, out: Any) -> None:
        seconds = self.task.seconds
        if self.error is not None or (kind != self.improved and seconds < self.last + TRACE_SECONDS):
            return
        self.last = seconds
        bound = float(out.mip_dual_bound)
        point = TracePoint(
            seconds,
            float(out.mip_primal_bound),
            bound if np.isfinite(bound) else 0.0,
            max(0, int(out.mip_node_count)),
        )
        self.trace.append(point)
        if self.task.callback is not None:
            self.task.callback(point)
