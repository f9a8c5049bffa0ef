"""What ``cs3vm fit`` looks at once it has an answer: how right and certain it is, how labels are biased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import Note
from ..model.status import Status

if TYPE_CHECKING:
    from ..learn.accuracy import Accuracy
    from ..learn.bias import Bias
    from ..learn.calibrating import Probabilities
    from ..learn.certainty import Certainty
    from ..learn.classifier import CS3VMClassifier
    from ..learn.group_totals import GroupTotals
    from .inputs import Data
    from .piece_inputs import PieceData


class Looks(NamedTuple):
    """Each is None if it was not asked for, or cannot be had."""

    accuracy: Accuracy | None
    probable: Probabilities
    bias: Bias | None
    certainty: Certainty | None
    groups: GroupTotals | None
    by: str  #: the column of the groups

    @property
    def notes(self) -> list[Note]:
        """What they give reason to say."""
        looks = (self.accuracy, self.probable, self.bias, self.certainty)  # groups give theirs themselves
        return [note for look in looks if look is not None for note in look.notes]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for files."""
        slope = self.probable.slope
        groups = {"column": self.by, "groups": _group_fields(self.groups)} if self.groups else None
        return {
            **({} if groups is None else {"by": groups}),
            "accuracy": None if self.accuracy is None else self.accuracy.as_dict(),
            "bias": None if self.bias is None else self.bias.as_dict(),
            "certainty": None if self.certainty is None else self.certainty.as_dict(),
            "probabilities": {"slope": slope.value, "cautious": slope.why_cautious or None},
        }


def look(
    clf: CS3VMClassifier,
    data: Data | PieceData,
    folds: int,
    repeats: int,
    by: str | None,
    *,
    accuracy: bool,
    certainty: bool,
) -> Looks:
    """Look at an answer."""
    right = _hide_labels(clf, folds, repeats) if accuracy else None
    certain = _try_again(clf) if certainty else None
    probable = _calibrate(clf, right)
    groups = None if by is None else _count_groups(clf, data, by)
    return Looks(right, probable, _compare_rows(clf, data), certain, groups, by or "")


def _try_again(clf: CS3VMClassifier) -> Certainty | None:
    """Which labels are certain or stable; nothing if there are none, or once the search was interrupted."""
    interrupted = any(result.status is Status.INTERRUPTED for result in clf.fit_.results)
    if clf.fit_.problem.m == 0 or interrupted:
        return None
    try:
        return clf.certainty()
    except KeyboardInterrupt:
        return None


def _hide_labels(clf: CS3VMClassifier, folds: int, repeats: int) -> Accuracy | None:
    """How many labels are right, by hiding those that are known; Ctrl-C leaves it out."""
    from ..learn.accuracy import Accuracy

    fit = clf.fit_
    if fit.problem.m == 0:
        return None
    classes = tuple(str(name) for name in fit.classes.tolist())
    stopped = Accuracy(classes, why_not="it was stopped by Ctrl-C")
    if any(result.status is Status.INTERRUPTED for result in fit.results):
        return stopped
    try:
        return clf.accuracy(folds, repeats)
    except KeyboardInterrupt:
        return stopped


def _calibrate(clf: CS3VMClassifier, accuracy: Accuracy | None) -> Probabilities:
    """Probabilities of all rows; cautious ones where no label was hidden, or Ctrl-C ended it."""
    from ..learn.calibrating import estimate_probabilities

    try:
        return estimate_probabilities(clf.fit_, hide=bool(accuracy))
    except KeyboardInterrupt:
        return estimate_probabilities(clf.fit_, hide=False)


def _compare_rows(clf: CS3VMClassifier, data: Data | PieceData) -> Bias | None:
    """How the labelled rows differ from the others, if there are others."""
    from ..learn.bias import look_at_bias

    return look_at_bias(clf.fit_, data.encoding.feature_names) if clf.fit_.problem.m else None


def _count_groups(clf: CS3VMClassifier, data: Any, by: str) -> GroupTotals:
    """Numbers by the values of a column; Ctrl-C leaves their intervals out."""
    from ..learn.by_group import REPLICATES, totals_by

    column = data.table.frame[by]
    hide = False  # what could be learnt from hidden labels is known by now
    try:
        return totals_by(clf.fit_, column, n_replicates=REPLICATES, hide=hide)
    except KeyboardInterrupt:
        return totals_by(clf.fit_, column, n_replicates=0, hide=hide)


def _group_fields(groups: GroupTotals) -> list[dict[str, Any]]:
    """One record per group and class, without NaN."""
    columns = groups.columns()
    records = ({name: values[i] for name, values in columns.items()} for i in range(len(groups.rows)))
    return [{k: None if isinstance(v, float) and v != v else v for k, v in one.items()} for one in records]
