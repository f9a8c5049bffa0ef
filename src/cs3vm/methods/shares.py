"""Which phase of a run gets how much work and time, and how many rows are how hard: all in one place.

Heuristics end by work, so that the same search is made on every machine; their shares of the time are guards,
and a result that one of them has cut short says so (``Result.hurried``).
"""

from __future__ import annotations

# -- the start that a solver gets from the heuristic ---------------------------------------------------
#: At most so much work, and this share of the limits: the solver's own search is the point.
START_SHARE, START_WORK = 0.2, 1e9
#: With at most so many unlabelled rows the whole search takes less than the heuristic would.
START_ROWS = 16

# -- auto: a heuristic, then the proof -----------------------------------------------------------------
#: The heuristic stops by itself when it stagnates; it never does more work than this, or than this share.
HEURISTIC_SHARE, HEURISTIC_WORK = 0.25, 4e9
#: With more unlabelled rows a proof is out of reach: most of the work and time goes to the heuristic.
PROOF_ROWS, LARGE_HEURISTIC_SHARE, LARGE_HEURISTIC_WORK = 2000, 0.75, 1e10
#: With so many, and an answer that may be farther from the optimum than this, not even the first node of an
#: exact search would be finished: none is begun, unless the solver was named.
NODE_ROWS, NODE_GAP = 100_000, 0.05
#: Nodes of an exact search that the heuristic of ``auto`` gets on small problems: they settle most of them.
FIRST_NODES = 6000

# -- direct: a short search, a few nodes, a long search ------------------------------------------------
#: The smallest problems need no search: nodes from the SVM's own answer settle them in this much work, a
#: fiftieth of a second.
AT_ONCE_WORK = 2e7
#: Up to so many unlabelled rows the first nodes of an exact search come before the long search. After a short
#: one they settle most problems at once, and they find points that no local search finds.
SMALL_ROWS, NODES, NODE_SHARE = 500, 1500, 0.25
#: The work of ``direct`` where no limit is given: tens of seconds.
DIRECT_WORK = 1e10
#: A search ends after so many attempts in a row without a better point: the short one, and the long one.
FIRST_PATIENCE, PATIENCE = 6, 400

# -- re-clustering ---------------------------------------------------------------------------------------
#: A P4 is as hard as the problem itself: a solver whose searches can be cut short gets this share for each.
SUBPROBLEM_SHARE = 0.025
#: T_max of the paper, the time for one P5, as a share of its time limit.
PAPER_FIX_SHARE = 40 / 3600
#: P6 keeps this share of the time that Algorithm 2 leaves.
REST_SHARE = 0.5
