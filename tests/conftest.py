"""What every test may rely on, and which tests are slow."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

#: Files, classes and functions that ``make check`` leaves out, by the start of their name.
SLOW = (
    "tests/benchmarks/test_accuracy.py",
    "tests/cli/test_fit.py::test_ctrl_c_writes_the_best_answer",
    "tests/cli/test_fit.py::test_every_format_gives_the_same_labels",
    "tests/cli/test_fit.py::test_the_norm_and_the_features_it_leaves_out_are_said",
    "tests/engine/exact/test_groups.py::test_groups_close_nodes_and_change_nothing_else",
    "tests/engine/heuristic/test_corners.py::test_the_best_corner_is_a_point_of_the_problem",
    "tests/engine/test_warm_up.py::test_of_several_processes_one_compiles_and_says_so_once",
    "tests/engine/test_jit.py::TestNoPlace",
    "tests/experiments/test_run.py",
    "tests/experiments/test_studies.py",
    "tests/faults/",
    "tests/fuzz/test_slice.py",
    "tests/learn/test_several_classes.py::test_real_data_with_biased_labels",
    "tests/methods/test_direct.py::TestAgainstBruteForce",
    "tests/methods/test_metamorphic.py",
    "tests/methods/test_methods.py::test_brute_force",
    "tests/methods/test_methods.py::test_time_limit_is_kept_and_the_best_point_returned",
    "tests/methods/test_methods.py::test_wircm_with_a_loose_gap_claims_no_more_than_it_proved",
    "tests/methods/test_methods.py::test_with_a_margin_the_last_plane_keeps_the_points_out_of_the_strip",
    "tests/methods/test_paper_theorems.py::test_lemma_8_fixes_points_at_all",
    "tests/methods/test_paper_slips.py::test_returned_objective_is_the_one_on_the_points",
    "tests/report/test_report.py::test_of_many_classes_the_most_changed_have_pictures",
    "tests/selection/test_search.py::test_the_same_choice_every_time_and_with_several_processes",
    "tests/solvers/test_agreement.py::test_engine_and_scip_agree",
    "tests/solvers/test_contract.py::test_margin_and_fixed_sides_together",
    "tests/test_aliases.py::test_an_old_path_has_its_names_and_warns",
    "tests/test_docs.py::test_readme_commands_run_as_printed",
    "tests/test_oracle_cells.py",
)
#: Tests of a failing machine, some minutes in all: ``make faults`` runs them.
FAULTS = (
    "tests/faults/test_cache.py::test_a_cold_cache_and_eight_processes",
    "tests/faults/test_cache.py::test_a_fit_with_no_place_for_the_cache",
    "tests/faults/test_disk.py::test_killed_at_every_access_no_file_is_half",
    "tests/faults/test_disk.py::test_on_a_full_disk_fit_writes_all_or_nothing",
    "tests/faults/test_processes.py::test_500_fits",
)
#: Tests of many instances: ``make check`` runs the first one only.
MANY = (
    "tests/engine/exact/test_threads.py::test_brute_force",
    "tests/engine/exact/test_tree.py::test_brute_force",
    "tests/methods/test_paper_theorems.py",
    "tests/model/test_norms.py::test_every_solver_and_method_against_brute_force",
    "tests/methods/test_several_totals.py::test_no_method_is_below_the_optimum_and_no_bound_above",
    "tests/methods/test_several_totals.py::test_bounds_of_every_method",
    "tests/methods/test_several_totals.py::test_related_problems_have_related_optima",
    "tests/solvers/test_agreement.py::test_solvers_agree_on_other_norms",
    "tests/solvers/test_several_totals.py::test_brute_force",
    "tests/solvers/test_several_totals.py::test_every_big_m_gives_the_same_optimum",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen: Counter[str] = Counter()
    for item in items:
        function = item.nodeid.partition("[")[0]
        seen[function] += 1
        if item.nodeid.startswith(FAULTS) and "CS3VM_FAULTS" not in os.environ:
            item.add_marker(pytest.mark.skip(reason="takes minutes: run it with make faults"))
        if item.nodeid.startswith(SLOW) or (item.nodeid.startswith(MANY) and seen[function] > 1):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="session")
def interrupts_arrive():
    """A run in the background starts with Ctrl-C ignored, and so would every process it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
