"""Rows in pieces: more data than memory holds, or than one machine has.

Unlabelled rows enter the model through counts only. So a table of any length needs passes over its pieces, an
exact order statistic and the few rows near the plane, and no distributed optimiser. What a pass brings back
does not depend on how the rows are cut into pieces, nor on who works on which.

    pieces           a piece of rows, what a source is, and arrays as a source
    parquet          Parquet files and folders as a source
    exact_sums       sums that do not depend on the order
    cells            the combination of totals that counts a row
    sampling         rows drawn by their number and a seed
    survey           the first pass: labelled rows, a sample, sums
    representatives  a small table that stands for all rows: what is solved in memory
    plane_scores     the score of a row, the same in every piece
    order_statistic  a pass: bins of scores, and the rows near the plane
    selection        the exact intercept from what a pass counted
    rounds           better planes: solve in memory, look at all rows, again
    outcome          the last pass, and which rows of a tie are positive
    labeller         labels of the rows of any piece
    calibration      probabilities that add up to the totals
    by_group         numbers by group, added up over all rows
    local_fit        a fit in memory that says about totals what is true of all rows
    large_fit        what was found
    fitting          all of it, from a source to a fit
    dask_reduce      a pass by the tasks of a Dask cluster
    dask_source      Dask arrays and data frames as a source
    dask_client      a client of a cluster, for the command line
    dask             the classifier for Dask collections
"""

from .fitting import fit_pieces
from .large_fit import LargeFit
from .parquet import ParquetSource
from .pieces import ArraySource, Piece, PieceSource, Source, TransformedSource

__all__ = [
    "ArraySource",
    "LargeFit",
    "ParquetSource",
    "Piece",
    "PieceSource",
    "Source",
    "TransformedSource",
    "fit_pieces",
]
