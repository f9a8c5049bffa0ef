"""A synthetic survey: who answers is biased, and the census knows the total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._typing import FloatArray
from .exceptions import InvalidProblemError, MissingPackageError

#: Below this many rows the survey would have too few answers to mean anything.
MIN_ROWS = 100
#: Share of the people who answer the question, but at least 40 people.
ANSWER_RATE = 0.03
MIN_ANSWERS = 40
#: At least this many of each class answer.
MIN_PER_CLASS = 3

REGIONS = ("north", "east", "south", "west")
PLACES = ("village", "town", "city")
EDUCATIONS = ("basic", "secondary", "degree")
EMPLOYMENTS = ("student", "employed", "self-employed", "unemployed", "retired")


@dataclass(frozen=True, eq=False)
class Survey:
    """A table of people of whom few have answered, and what the census knows about the others."""

    frame: Any  #: pandas data frame: id, features and the label column (missing: no answer)
    label: str  #: name of the label column
    positive: str  #: the answer that the census counts
    n_positive: int  #: how many of the people without an answer are positive
    truth: NDArray[Any]  #: the true answer of every row

    @property
    def unlabelled(self) -> NDArray[np.bool_]:
        """Which rows have no answer."""
        return np.asarray(self.frame[self.label].isna(), dtype=bool)


def make_survey(n_rows: int = 2000, *, random_state: int = 0) -> Survey:
    """Draw a population and a web survey in which few, and mostly the wrong people, answer.

    The question is whether people mostly pay in cash (``pays_cash``). Those who do are older, poorer, less
    often online, and live in villages more often; for these reasons, and because the topic does not
    interest them, they rarely answer a survey on the web. Of all people 3 % answer, or 40 if that is more.
    The census knows how many pay in cash, but not who.

    Parameters
    ----------
    n_rows
        Number of people, at least 100.
    random_state
        Seed; the same seed and number of rows give the same table.
    """
    if n_rows < MIN_ROWS:
        raise InvalidProblemError(f"n_rows is {n_rows}: a survey needs at least {MIN_ROWS} rows")
    rng = np.random.default_rng(random_state)
    people = _draw_people(rng, n_rows)
    pays_cash = _draw_answers(rng, people)
    answered = _draw_sample(rng, people, pays_cash)
    truth = np.where(pays_cash, "yes", "no").astype(object)
    given = truth.copy()
    given[~answered] = None
    return Survey(
        frame=_as_frame(people, given),
        label="pays_cash",
        positive="yes",
        n_positive=int(np.sum(pays_cash & ~answered)),
        truth=truth,
    )


def _draw_people(rng: np.random.Generator, n: int) -> dict[str, NDArray[Any]]:
    """The features, each drawn given those before it."""
    age = np.round(18 + 72 * rng.beta(1.5, 1.9, n))
    region = rng.choice(REGIONS, n, p=(0.2, 0.2, 0.35, 0.25))
    place = _choose(rng, PLACES, np.column_stack([age / 60, np.full(n, 1.1), np.full(n, 1.3)]))
    study = np.where(age < 22, 0.15, 1.0) * np.exp(-(age - 40) / 60)
    education = _choose(rng, EDUCATIONS, np.column_stack([0.25 + age / 120, np.full(n, 1.2), study]))
    employment = _draw_employment(rng, age)
    retired, student = employment == "retired", employment == "student"
    alone = np.where(retired, 0.7, 1.7 - 0.9 * student - 0.3 * (place == "city"))
    pay = (
        7.55
        + 0.28 * (education == "degree")
        - 0.22 * (education == "basic")
        - 0.75 * student
        - 0.55 * (employment == "unemployed")
        - 0.3 * retired
        - 0.1 * (region == "east")
        + 0.004 * (np.minimum(age, 60) - 40)
    )
    online = 26 - 0.33 * (age - 20) + 4 * (education == "degree") - 2.5 * (place == "village") + 5 * student
    return {
        "age": age.astype(int),
        "region": region,
        "place": place,
        "education": education,
        "employment": employment,
        "household_size": 1 + np.minimum(rng.poisson(alone), 7),
        "income": (10 * np.round(np.exp(pay + 0.33 * rng.standard_normal(n)) / 10)).astype(int),
        "hours_online": np.round(np.clip(online + 5 * rng.standard_normal(n), 0, 70), 1),
    }


def _draw_employment(rng: np.random.Generator, age: FloatArray) -> NDArray[Any]:
    """Mostly students below 24, mostly retired above 65."""
    return _choose(
        rng,
        EMPLOYMENTS,
        np.column_stack(
            [
                1.2 * np.exp(-np.maximum(age - 20, 0) / 3),
                1 / (1 + np.exp((age - 64) / 2)),
                0.15 / (1 + np.exp((age - 70) / 3)),
                0.07 / (1 + np.exp((age - 62) / 2)),
                1.5 / (1 + np.exp(-(age - 65) / 2)),
            ]
        ),
    )


def _draw_answers(rng: np.random.Generator, people: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Who mostly pays in cash: linear in the features, with noise."""
    latent = (
        0.5
        + 0.055 * (people["age"] - 50)
        - 1.6 * np.log(people["income"] / 1900)
        - 0.13 * (people["hours_online"] - 17)
        + 0.9 * (people["place"] == "village")
        - 0.5 * (people["place"] == "city")
        + 0.7 * (people["education"] == "basic")
        - 0.7 * (people["education"] == "degree")
        + 0.8 * (people["employment"] == "self-employed")
        + 0.4 * (people["region"] == "east")
    )
    return np.asarray(latent + 0.6 * rng.logistic(size=len(latent)) > 0)


def _draw_sample(
    rng: np.random.Generator, people: dict[str, NDArray[Any]], pays_cash: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Who answers: a fixed number of people, those online and not paying in cash more readily."""
    eager = -2.6 * pays_cash + 0.03 * (people["hours_online"] - 17) + 0.3 * (people["place"] == "city")
    key = eager + rng.gumbel(size=len(eager))  # the largest keys: a weighted sample without replacement
    answered = np.zeros(len(key), dtype=bool)
    for group in (pays_cash, ~pays_cash):
        rows = np.flatnonzero(group)
        answered[rows[np.argsort(-key[rows])[:MIN_PER_CLASS]]] = True
    rest = np.argsort(np.where(answered, np.inf, -key))
    wanted = max(MIN_ANSWERS, round(ANSWER_RATE * len(key))) - int(answered.sum())
    answered[rest[:wanted]] = True
    return answered


def _choose(rng: np.random.Generator, names: tuple[str, ...], share: FloatArray) -> NDArray[Any]:
    """One name per row, drawn in proportion to the row's shares."""
    edges = np.cumsum(share, axis=1)
    draw = rng.random(len(share)) * edges[:, -1]
    return np.asarray(np.take(names, np.sum(draw[:, None] >= edges, axis=1)))


def _as_frame(people: dict[str, NDArray[Any]], answers: NDArray[Any]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError(
            'the survey is a data frame, and pandas is not installed: get it with pip install "cs3vm[report]"'
        ) from error
    width = len(str(len(answers)))
    ids = [f"P{i:0{width}d}" for i in range(1, len(answers) + 1)]
    return pd.DataFrame({"id": ids, **people, "pays_cash": pd.Series(answers, dtype=object)})
