"""A fitted model as a file: versioned JSON with a checksum. Reading one checks it and runs no code."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..exceptions import ModelFileError
from ..learn.kernel import Kernel
from ..learn.planes import Planes
from ..learn.probabilities import Calibration
from ..learn.scaling import RankScaling, Scaling
from .encoding import Column, Encoding
from .files import write_atomically
from .model import Model, make_model
from .schema import (
    DOCUMENT,
    KERNEL_VERSION,
    LINEAR_VERSION,
    PROBABLE_VERSION,
    SCHEMAS,
    SEVERAL_VERSION,
    TAUGHT_VERSION,
    VERSION,
    check,
    check_totals,
)
from .thresholds import as_record, read_thresholds

__all__ = ["FORMAT", "Model", "load_model", "make_model", "save_model"]

FORMAT = "cs3vm-model"


def save_model(model: Model, path: Path) -> None:
    """Write a model to a file in one step."""
    coef, intercept = model.coef.tolist(), model.intercept.tolist()
    # older formats hold one plane without lists
    listed = _version(model) >= SEVERAL_VERSION
    if listed:
        question = {"classes": list(model.classes), "totals": list(model.totals), "kernel": None}
    else:
        question = {name: getattr(model, name) for name in ("positive", "negative", "n_positive")}
    body = {
        "label": model.label,
        **question,
        "columns": [asdict(column) for column in model.encoding.columns],
        "features": model.encoding.feature_names,
        "coef": coef if listed else coef[0],
        "intercept": intercept if listed else intercept[0],
        "scaling": {name: _lists(value) for name, value in vars(model.scaling).items()},
        "result": model.result,
        "settings": model.settings,
    }
    if model.kernel is not None and model.landmarks is not None:
        parameters = {name: getattr(model.kernel, name) for name in ("name", "gamma", "degree", "coef0")}
        body["kernel"] = {**parameters, "landmarks": model.landmarks.tolist()}
    if model.student is not None:
        body["student"] = {name: part.tolist() for name, part in model.student._asdict().items()}
    if model.calibration is not None:
        shifts = model.calibration.shifts.tolist()
        body |= {"probabilities": {"slope": model.calibration.slope, "shifts": shifts}}
        body.setdefault("student", None)
    if model.thresholds:
        body["thresholds"] = [as_record(one) for one in model.thresholds]
        body = {"student": None, "probabilities": None, **body}
    document = {
        "format": FORMAT,
        "version": _version(model),
        "library": model.library,
        "checksum": _checksum(body),
        "model": body,
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, lambda file: file.write(text + "\n"))


def _version(model: Model) -> int:
    """The least that holds the model."""
    if model.thresholds:
        return VERSION
    if model.calibration is not None:
        return PROBABLE_VERSION
    if model.student is not None:
        return TAUGHT_VERSION
    if model.is_several:
        return SEVERAL_VERSION
    return LINEAR_VERSION if model.kernel is None else KERNEL_VERSION


def _lists(value: FloatArray | tuple[FloatArray, ...]) -> list[Any]:
    return [part.tolist() for part in value] if isinstance(value, tuple) else value.tolist()


def load_model(path: Path) -> Model:
    """Read a model from a file, after checking all of it."""
    document = _parse(path)
    if document.get("format") != FORMAT:
        raise _not_a_model(path)
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{path.name} has no valid format version: fit the model again")
    if version > VERSION:
        raise ModelFileError(
            f"{path.name} was written by a newer version of cs3vm ({document.get('library', 'unknown')}): "
            f"its format is {version}, this one reads up to {VERSION}. pip install --upgrade cs3vm"
        )
    check(document, DOCUMENT, path.name, "the file")
    body = document["model"]
    if document["checksum"] != _checksum(body):
        raise ModelFileError(
            f"{path.name} was changed or damaged after it was written (its checksum does not fit): use the "
            "original file, or fit the model again"
        )
    check(body, SCHEMAS[version], path.name, "model")
    check_totals(body["result"], path.name)
    return _build_model(body, document["library"], path.name)


def _not_a_model(path: Path) -> ModelFileError:
    return ModelFileError(f"{path.name} is JSON, but not a model of cs3vm: give a file written by fit")


def _parse(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no model file {path}") from error
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{path.name} is not a model file: it is not text") from error
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
        # JSON allows half a character by its escapes, and numbers beyond all floats
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path.name} is not a complete model file ({error}): it was cut off, or is no JSON at all. "
            "Copy it again, or fit the model again"
        ) from error
    if not isinstance(document, dict):
        raise _not_a_model(path)
    return document


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no valid number")


def _checksum(body: Any) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _build_model(body: dict[str, Any], library: str, name: str) -> Model:
    columns = tuple(Column(c["name"], c["kind"], tuple(c["categories"]), c["fill"]) for c in body["columns"])
    encoding, question = Encoding(columns), _question(body, name)
    number, width = len(encoding.feature_names), len(question["coef"][0])
    kernel, landmarks = _kernel(body.get("kernel"), width, number, name)
    lengths = {*map(len, body["scaling"].values()), len(body["features"])}
    if kernel is None:
        lengths.add(width)
    if lengths != {number} or body["features"] != encoding.feature_names:
        raise ModelFileError(f"{name} contradicts itself: its weights do not fit its {number} features")
    return Model(
        label=body["label"],
        classes=tuple(question["classes"]),
        totals=tuple(map(float, question["totals"])),
        encoding=encoding,
        coef=np.array(question["coef"], dtype=float),
        intercept=np.array(question["intercept"], dtype=float),
        scaling=_scaling(body["scaling"]),
        result=body["result"],
        settings=body["settings"],
        library=library,
        kernel=kernel,
        landmarks=landmarks,
        student=_student(body.get("student"), question["coef"], name),
        calibration=_calibration(body.get("probabilities"), len(question["classes"]), name),
        thresholds=read_thresholds(
            body.get("thresholds", []), len(question["coef"]), body.get("student") is not None, name
        ),
    )


def _calibration(given: dict[str, Any] | None, n_classes: int, name: str) -> Calibration | None:
    if given is None:
        return None
    if len(given["shifts"]) != n_classes:
        raise ModelFileError(
            f"{name} contradicts itself: its probabilities do not fit its {n_classes} classes"
        )
    return Calibration(float(given["slope"]), np.array(given["shifts"], dtype=float))


def _student(given: dict[str, Any] | None, coef: list[list[float]], name: str) -> Planes | None:
    if given is None:
        return None
    lengths = {len(given["coef"]), len(given["intercept"])}
    if lengths != {len(coef)} or {*map(len, given["coef"])} != {len(coef[0])}:
        raise ModelFileError(f"{name} contradicts itself: its student does not fit its planes")
    return Planes(np.array(given["coef"], dtype=float), np.array(given["intercept"], dtype=float))


def _question(body: dict[str, Any], name: str) -> dict[str, list[Any]]:
    """The classes, and one total, normal and intercept per plane, from either kind of file."""
    if "classes" in body:
        _check_classes(body, name)
        return body
    if body["positive"] == body["negative"]:
        raise ModelFileError(f"{name} contradicts itself: both classes are {body['positive']!r}")
    return {
        "classes": [body["negative"], body["positive"]],
        "totals": [body["n_positive"]],
        "coef": [body["coef"]],
        "intercept": [body["intercept"]],
    }


def _scaling(given: dict[str, Any]) -> Scaling | RankScaling:
    if "shift" in given:
        return Scaling(np.array(given["shift"], dtype=float), np.array(given["factor"], dtype=float))
    values, positions = (tuple(np.array(c, dtype=float) for c in given[n]) for n in ("values", "positions"))
    return RankScaling(values, positions)


def _check_classes(body: dict[str, Any], name: str) -> None:
    """Refuse a model whose lists do not fit each other: two classes have one plane, several one each."""
    names = body["classes"]
    planes = len(names) if len(names) > 2 else 1
    lengths = {planes, len(body["totals"]), len(body["coef"]), len(body["intercept"])}
    widths = {len(plane) for plane in body["coef"]}
    if len(names) < 2 or len(set(names)) < len(names) or len(lengths) > 1 or len(widths) > 1:
        raise ModelFileError(f"{name} contradicts itself: its {len(names)} classes do not fit its weights")


def _kernel(
    given: dict[str, Any] | None, n_coef: int, n_features: int, name: str
) -> tuple[Kernel | None, FloatArray | None]:
    if given is None:
        return None, None
    rows = given["landmarks"]
    if len(rows) != n_coef or any(len(row) != n_features for row in rows):
        raise ModelFileError(
            f"{name} contradicts itself: its {len(rows)} landmarks do not fit its {n_coef} coefficients and "
            f"{n_features} features"
        )
    kernel = Kernel(given["name"], float(given["gamma"]), given["degree"], float(given["coef0"]))
    return kernel, np.array(rows, dtype=float).reshape(n_coef, n_features)
