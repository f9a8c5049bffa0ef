"""What every test may rely on, and which tests are slow."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

#: Files, classes and functions that ``make check`` leaves out, by the start of their name.
SLOW = (
    "tests/benchmarks/test_accuracy.py",
    "tests/benchmarks/test_reliable.py::test_one_cell_is_measured",
    "tests/cli/test_accuracy.py::test_a_rule_that_seems_better_is_named_with_its_option",
    "tests/cli/test_accuracy.py::test_programs_get_the_same_numbers",
    "tests/cli/test_accuracy.py::test_the_accuracy_is_the_first_figure_everywhere",
    "tests/cli/test_accuracy.py::test_the_safe_method_says_what_it_took",
    "tests/cli/test_bias.py::test_a_bias_by_more_than_class_is_a_warning",
    "tests/cli/test_bias.py::test_it_is_said_after_the_accuracy",
    "tests/cli/test_certainty.py::test_a_simple_rule_has_stability_only",
    "tests/cli/test_certainty.py::test_labels_have_two_more_columns",
    "tests/cli/test_fit.py::test_a_failing_report_does_not_lose_the_answer",
    "tests/cli/test_fit.py::test_ctrl_c_before_any_answer_falls_back_to_the_svm",
    "tests/cli/test_fit.py::test_ctrl_c_writes_the_best_answer",
    "tests/cli/test_fit.py::test_each_svm_is_solved_once_for_search_table_and_report",
    "tests/cli/test_fit.py::test_every_format_gives_the_same_labels",
    "tests/cli/test_fit.py::test_fit_writes_a_report",
    "tests/cli/test_fit.py::test_numbers_by_a_column",
    "tests/cli/test_fit.py::test_probabilities_add_up_and_follow_the_model_to_new_rows",
    "tests/cli/test_fit.py::test_rows_on_the_plane_are_explained_in_the_words_of_the_command",
    "tests/cli/test_fit.py::test_the_baselines_are_solved_once_for_table_and_report",
    "tests/cli/test_fit.py::test_the_norm_and_the_features_it_leaves_out_are_said",
    "tests/cli/test_fit.py::test_the_search_meets_the_total_and_says_what_is_proven",
    "tests/cli/test_fit.py::test_without_the_packages_of_the_report_the_rest_works",
    "tests/cli/test_margins.py::test_an_interval",
    "tests/cli/test_margins.py::test_groups_by_class",
    "tests/cli/test_margins.py::test_low_and_high_and_gaps",
    "tests/cli/test_margins.py::test_the_summary_shows_totals",
    "tests/cli/test_margins.py::test_totals_by_two_columns",
    "tests/cli/test_margins.py::test_weights_are_the_unit",
    "tests/cli/test_several.py::test_the_report_escapes_names_and_shows_every_class",
    "tests/engine/exact/test_flips.py",
    "tests/engine/exact/test_groups.py::test_groups_close_nodes_and_change_nothing_else",
    "tests/engine/heuristic/test_corners.py::test_the_best_corner_is_a_point_of_the_problem",
    "tests/engine/heuristic/test_tilt.py::test_no_margin_is_no_worse_than_a_margin",
    "tests/engine/heuristic/test_tilt.py::test_tiny_tables_of_categories",
    "tests/engine/test_jit.py::TestNoPlace",
    "tests/engine/test_warm_up.py::test_of_several_processes_one_compiles_and_says_so_once",
    "tests/experiments/test_run.py",
    "tests/experiments/test_studies.py",
    "tests/faults/",
    "tests/fuzz/test_machine.py::test_findings_with_several_totals_are_shrunk",
    "tests/fuzz/test_slice.py",
    "tests/learn/test_accuracy.py::test_a_model_is_not_compared_with_itself",
    "tests/learn/test_accuracy.py::test_intervals_cover_about_as_often_as_they_say",
    "tests/learn/test_accuracy.py::test_several_classes_have_recalls_and_shares",
    "tests/learn/test_accuracy.py::test_the_rules_stand_side_by_side",
    "tests/learn/test_accuracy.py::test_the_summary_begins_with_the_accuracy",
    "tests/learn/test_by_group.py::test_fewer_labels_give_wider_intervals",
    "tests/learn/test_calibrating.py::test_hidden_scores_are_used_again",
    "tests/learn/test_certainty.py::test_every_row_has_a_word_and_given_labels_are_given",
    "tests/learn/test_fit.py::test_summary_and_report_share_the_baselines",
    "tests/learn/test_group_totals.py::test_probabilities_of_several_classes_add_up_in_each_group",
    "tests/learn/test_kernels_output.py::test_an_approximated_kernel_is_named_as_such",
    "tests/learn/test_kernels_output.py::test_fit_and_predict_with_a_kernel",
    "tests/learn/test_kernels_output.py::test_the_report_shows_the_kernel_instead_of_weights",
    "tests/learn/test_probabilities.py::test_few_labels_hardly_move_the_cautious_slope",
    "tests/learn/test_probabilities.py::test_hiding_again_says_nothing_new",
    "tests/learn/test_safe.py::test_it_can_be_cloned_and_fitted_to_several_classes",
    "tests/learn/test_safe.py::test_top_tau_is_taken_where_our_search_is_made_bad",
    "tests/learn/test_several_classes.py::test_real_data_with_biased_labels",
    "tests/learn/test_sparse_rows.py::test_a_basis_of_all_rows_loses_nothing",
    "tests/learn/test_sparse_rows.py::test_an_incomplete_basis_is_said",
    "tests/learn/test_student.py::test_rows_on_which_it_differs_are_counted_and_named",
    "tests/learn/test_student.py::test_the_command_line_fits_and_predicts_with_it",
    "tests/learn/test_undecided.py::test_predict_is_the_transduction_wherever_the_plane_predicts",
    "tests/methods/test_certain.py::test_most_rows_of_tiny_problems_are_decided",
    "tests/methods/test_direct.py::TestAgainstBruteForce",
    "tests/methods/test_direct.py::TestPaper",
    "tests/methods/test_direct.py::TestRunning",
    "tests/methods/test_metamorphic.py",
    "tests/methods/test_methods.py::test_brute_force",
    "tests/methods/test_methods.py::test_inexact_p4_still_ends_and_says_so",
    "tests/methods/test_methods.py::test_paper_big_m_with_fixed_sides_is_valid",
    "tests/methods/test_methods.py::test_same_seed_same_answer",
    "tests/methods/test_methods.py::test_time_limit_is_kept_and_the_best_point_returned",
    "tests/methods/test_methods.py::test_wircm_with_a_loose_gap_claims_no_more_than_it_proved",
    "tests/methods/test_methods.py::test_with_a_margin_the_last_plane_keeps_the_points_out_of_the_strip",
    "tests/methods/test_paper_slips.py::test_returned_objective_is_the_one_on_the_points",
    "tests/methods/test_paper_theorems.py::test_lemma_8_fixes_points_at_all",
    "tests/model/test_norms.py::test_highs_stops_at_the_time_limit_with_a_bound",
    "tests/model/test_totals_properties.py::test_any_weights_and_totals_are_taken_or_explained",
    "tests/model/test_totals_properties.py::test_the_best_intercept_is_the_best_of_all_sides",
    "tests/report/test_report.py::test_conclusions_first_and_details_folded",
    "tests/report/test_report.py::test_counts_are_those_of_the_labels_where_some_are_drawn",
    "tests/report/test_report.py::test_every_class_has_its_pictures",
    "tests/report/test_report.py::test_it_opens_with_what_people_ask",
    "tests/report/test_report.py::test_no_sentence_stands_twice",
    "tests/report/test_report.py::test_of_many_classes_the_most_changed_have_pictures",
    "tests/report/test_report.py::test_several_classes_have_all_parts",
    "tests/report/test_report.py::test_weights_have_intervals_in_the_units_of_the_table",
    "tests/selection/test_search.py::test_labels_are_held_out_only_where_the_criterion_asks",
    "tests/selection/test_search.py::test_the_same_choice_every_time_and_with_several_processes",
    "tests/solvers/test_agreement.py::test_engine_and_scip_agree",
    "tests/solvers/test_contract.py::test_margin_and_fixed_sides_together",
    "tests/solvers/test_contract.py::test_scip_stops_at_the_time_limit_with_a_bound",
    "tests/tables/test_reading_properties.py::test_any_dialect_is_read_back",
    "tests/tables/test_reading_properties.py::test_what_we_write_we_read",
    "tests/test_aliases.py::test_an_old_path_has_its_names_and_warns",
    "tests/test_docs.py::test_readme_commands_run_as_printed",
    "tests/test_docs.py::test_readme_example_runs",
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
