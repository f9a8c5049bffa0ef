"""Which phase of a run gets how much of its time, and how many rows are how hard: all in one place."""

from __future__ import annotations

# -- the start that a solver gets from the heuristic ---------------------------------------------------
#: At most this share of the time limit, and so many seconds: the solver's own search is the point.
START_SHARE, START_SECONDS = 0.2, 2.0

# -- auto: a heuristic, then the proof -----------------------------------------------------------------
#: The heuristic stops by itself when it stagnates; it never takes more than this share of the time.
HEURISTIC_SHARE = 0.25
#: With more unlabelled rows a proof is out of reach: most of the time goes to the heuristic.
PROOF_ROWS, LARGE_HEURISTIC_SHARE = 2000, 0.75
#: Nodes of an exact search that the heuristic of ``auto`` gets on small problems: they settle most of them.
FIRST_NODES = 400

# -- direct: a short search, a few nodes, a long search ------------------------------------------------
#: Up to so many unlabelled rows the first nodes of an exact search come before the long search. After a short
#: one they settle most problems at once, and they find points that no local search finds.
SMALL_ROWS, NODES, NODE_SHARE = 500, 1500, 0.25
#: A search ends after so many attempts in a row without a better point: the short one, and the long one.
FIRST_PATIENCE, PATIENCE = 6, 400

# -- re-clustering ---------------------------------------------------------------------------------------
#: A P4 is as hard as the problem itself: a solver whose searches can be cut short gets this share for each.
SUBPROBLEM_SHARE = 0.025
#: T_max of the paper, the time for one P5, as a share of its time limit.
PAPER_FIX_SHARE = 40 / 3600
#: P6 keeps this share of the time that Algorithm 2 leaves.
REST_SHARE = 0.5
