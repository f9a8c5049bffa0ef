"""Damaged files: tables, models, results."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cs3vm import CS3VMClassifier, Problem, Result, solve
from cs3vm.exceptions import CS3VMError, InvalidProblemError, MissingPackageError, ModelFileError, TableError
from cs3vm.tables.encoding import Column, Encoding
from cs3vm.tables.model_file import _checksum, load_model, make_model, save_model
from cs3vm.tables.reading import read_table
from tests.fuzz.referee import Finding
from tests.fuzz.shrink import fewer

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".xlsx")
TOKENS = (
    b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xff",
    b"1e999", b"-1e-999", b"NaN", b"inf", b"1,5", b"1.000,5", b"9" * 400, b"0x1p3", b"\xe2\x82\xac", b"True",
    b"2020-01-01", b"{", b"}", b"[", b"]", b":", b"null", b"-", b"PK\x03\x04", b"PAR1", b"ARROW1", b"=1+1",
    b"\\", b"\\ud800", "\u2028".encode(), b"a" * 3000, b",,,,,,", b'""', b'"a\nb"',
)  # fmt: skip


# -- damage ------------------------------------------------------------------------------------------------
def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """One to five random changes."""
    for _ in range(int(rng.integers(1, 6))):
        size = len(content)
        at = int(rng.integers(0, size + 1))
        end = min(size, at + int(rng.integers(1, max(2, size // 8))))
        kind = rng.integers(7)
        if kind == 0 and at < size:
            content = content[:at] + bytes([content[at] ^ int(rng.integers(1, 256))]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at] + content[end:]
        elif kind == 2:
            content = content[:end] + content[at:]  # a piece twice
        elif kind == 3:
            content = content[:at]
        elif kind == 4:
            content = content[:at] + TOKENS[rng.integers(len(TOKENS))] + content[at:]
        elif kind == 5:
            content = content[:at] + TOKENS[rng.integers(len(TOKENS))] + content[end:]
        else:
            content = content[:at] + rng.bytes(int(rng.integers(1, 20))) + content[at:]
    return content


def raised(action: Callable[[], Any], allowed: tuple[type[BaseException], ...]) -> str | None:
    """The name and text of an exception that is not allowed."""
    try:
        action()
    except allowed:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def smaller_bytes(content: bytes, fails: Callable[[bytes], bool]) -> bytes:
    return bytes(fewer(list(content), lambda kept: fails(bytes(kept)), 15.0))


# -- tables ------------------------------------------------------------------------------------------------
@cache
def _tables(folder: Path) -> dict[str, list[bytes]]:
    """Healthy tables of every kind."""
    frame = pd.DataFrame(
        {
            "id": ["007", "008", "009", "010"],
            "x": [1.5, -2.0, np.nan, 4.25],
            "größe": [1, 2, 3, 4],
            "art": ["a", "b", None, "a,b"],
            "y": [1, 0, None, None],
        }
    )
    made: dict[str, list[bytes]] = {suffix: [] for suffix in SUFFIXES}
    for suffix in (".csv", ".tsv", ".txt"):
        for separator, decimal, encoding in (
            (",", ".", "utf-8"),
            (";", ",", "utf-8-sig"),
            ("\t", ".", "utf-16"),
            ("|", ".", "latin-1"),
        ):
            text = frame.to_csv(index=False, sep=separator, decimal=decimal)
            made[suffix].append(text.encode(encoding))
    frame["when"] = pd.to_datetime(["2020-01-01"] * 4)
    frame["flag"] = [True, False, True, None]
    frame["kind"] = pd.Categorical(["p", "q", "p", "q"])
    for suffix, write in ((".parquet", "to_parquet"), (".feather", "to_feather")):
        getattr(frame, write)(folder / f"base{suffix}")
        made[suffix].append((folder / f"base{suffix}").read_bytes())
    frame.drop(columns="kind").to_excel(folder / "base.xlsx", index=False)
    made[".xlsx"].append((folder / "base.xlsx").read_bytes())
    return made


def _damaged_book(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage inside the zip archive, so that the damage reaches the reader of sheets."""
    import io
    import zipfile

    source, target = io.BytesIO(content), io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        names = old.namelist()
        hit = names[rng.integers(len(names))]
        for name in names:
            text = old.read(name)
            if name == hit:
                if rng.random() < 0.2:
                    continue
                text = damage(text, rng)
            new.writestr(name, text)
    return target.getvalue()


def one_table(rng: np.random.Generator, folder: Path) -> tuple[str, Finding | None]:
    suffix = str(rng.choice(SUFFIXES, p=[0.3, 0.15, 0.15, 0.13, 0.12, 0.15]))
    healthy = _tables(folder)[suffix]
    content = healthy[rng.integers(len(healthy))]
    if rng.random() < 0.05:
        content = rng.bytes(int(rng.integers(0, 300)))
    elif suffix == ".xlsx" and rng.random() < 0.7:
        content = _damaged_book(content, rng)
    else:
        content = damage(content, rng)
    names = ["id", "x", "größe", "art", "y", "when", "flag", "kind"]
    as_text = [name for name in names if rng.random() < 0.2]
    verbatim = [name for name in names if rng.random() < 0.1]
    path = folder / f"case{suffix}"

    def attempt(data: bytes) -> str | None:
        path.write_bytes(data)
        return raised(lambda: read_table(path, as_text, verbatim), (TableError, MissingPackageError))

    error = attempt(content)
    if error is None:
        return suffix, None
    kind = error.split(":", maxsplit=1)[0]
    small = smaller_bytes(content, lambda data: (attempt(data) or "").startswith(kind))
    data = {"suffix": suffix, "as_text": as_text, "verbatim": verbatim, "bytes": small.hex()}
    return suffix, Finding("crash", f"read_table: {error}", data)


# -- models and results ------------------------------------------------------------------------------------
@cache
def _models(folder: Path) -> list[dict[str, Any]]:
    """Healthy model files: linear, with a kernel, with ranks, of several classes."""
    import warnings

    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 24)
    X = np.column_stack([rng.normal(size=24) + 2 * kind, kind == 0, kind == 1]).astype(float)
    encoding = Encoding((Column("x", "number", (), 1.5), Column("r", "category", ("a", "ü"), "a")))
    two = [*np.where(kind[:6] == 1, "b", "z").tolist(), *[None] * 18]
    three = [*(["a", "b", "c"] * 2), *[None] * 18]
    documents = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for options, y, total in (
            ({}, two, 9),
            ({"kernel": "rbf"}, two, 9),
            ({"kernel": "laplacian", "standardize": "rank"}, two, 9),
            ({}, three, {"a": 6, "b": 6, "c": 6}),
            ({"kernel": "poly"}, three, {"a": 6, "b": 6, "c": 6}),
        ):
            clf = CS3VMClassifier("top_tau", **options).fit(X, y, n_positive=total)
            save_model(make_model(clf.fit_, encoding, "label", {}), folder / "base.json")
            documents.append(json.loads((folder / "base.json").read_text(encoding="utf-8")))
    return documents


@cache
def _results() -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    problem = Problem(rng.normal(size=(4, 2)), [1, -1, 1, -1], rng.normal(size=(5, 2)), 2)
    return [json.loads(solve(problem, method).to_json()) for method in ("auto", "wircm", "ircm", "svm")]


VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**70, -(2**70), 1e308, -1e308, 5e-324, 0.5, "", "x", "NaN", "inf", "1",
    "ü\ud800", [], {}, [[]], [None], [1, 2], {"a": 1}, [[1.0, 2.0]], "rbf", "optimal", 10**400, "category",
    float("nan"), float("inf"),
)  # fmt: skip
Change = tuple[tuple[Any, ...], str, Any]


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        found += _places(value, (*path, key))
    return found


def _changes(document: Any, rng: np.random.Generator) -> list[Change]:
    places = _places(document)
    made: list[Change] = []
    for _ in range(int(rng.integers(1, 4))):
        path = places[rng.integers(1, len(places))]
        other = places[rng.integers(len(places))]
        kind = str(rng.choice(["set", "set", "set", "drop", "copy", "add", "repeat"]))
        made.append((path, kind, other if kind == "copy" else int(rng.integers(len(VALUES)))))
    return made


def apply_changes(document: Any, changes: list[Change]) -> Any:
    """The document with all changes that still fit."""
    document = json.loads(json.dumps(document))
    for path, kind, what in changes:
        try:
            node = document
            for key in path[:-1]:
                node = node[key]
            if kind == "drop":
                del node[path[-1]]
            elif kind == "copy":
                value = document
                for key in what:
                    value = value[key]
                node[path[-1]] = json.loads(json.dumps(value))
            elif kind == "add" and isinstance(node, list):
                node.insert(int(path[-1]), deepcopy(VALUES[what]))
            elif kind == "add":
                node[str(what)] = deepcopy(VALUES[what])
            elif kind == "repeat" and isinstance(node, list):
                node.insert(int(path[-1]), deepcopy(node[path[-1]]))
            else:
                node[path[-1]] = deepcopy(VALUES[what])
        except (KeyError, IndexError, TypeError, ValueError):
            continue
    return document


def one_model(rng: np.random.Generator, folder: Path) -> tuple[str, Finding | None]:
    if rng.random() < 0.4:
        return _one_result(rng)
    documents = _models(folder)
    number = int(rng.integers(len(documents)))
    path = folder / "case.json"

    def attempt(content: bytes) -> str | None:
        path.write_bytes(content)
        loaded: list[Any] = []
        error = raised(lambda: loaded.append(load_model(path)), (ModelFileError,))
        if error or not loaded:
            return error and f"load_model: {error}"

        def use() -> None:
            (model,) = loaded
            with np.errstate(all="ignore"):
                model.labels(model.scores(np.zeros((2, len(model.encoding.feature_names)))))
            save_model(model, folder / "again.json")

        error = raised(use, (CS3VMError,))
        return error and f"a loaded model: {error}"

    if rng.random() < 0.3:
        content = damage(json.dumps(documents[number], indent=1).encode(), rng)
        error = attempt(content)
        if error is None:
            return "model, bytes", None
        kind = error.split(":")[:2]
        small = smaller_bytes(content, lambda data: (attempt(data) or "").split(":")[:2] == kind)
        return "model, bytes", Finding("crash", error, {"bytes": small.hex()})
    changes = _changes(documents[number], rng)

    def forged(changes: list[Change]) -> bytes:
        document = apply_changes(documents[number], changes)
        with suppress(KeyError, TypeError, ValueError):
            document["checksum"] = _checksum(document["model"])
        return json.dumps(document).encode(errors="surrogatepass")

    error = attempt(forged(changes))
    if error is None:
        return "model, forged", None
    kind = error.split(":")[:2]
    changes = fewer(changes, lambda kept: (attempt(forged(kept)) or "").split(":")[:2] == kind)
    data = {
        "model": number,
        "changes": [(path, how, VALUES[w] if isinstance(w, int) else w) for path, how, w in changes],
    }
    return "model, forged", Finding("crash", error, data)


def _one_result(rng: np.random.Generator) -> tuple[str, Finding | None]:
    documents = _results()
    number = int(rng.integers(len(documents)))

    def attempt(text: str) -> str | None:
        return raised(lambda: repr(Result.from_json(text)), (InvalidProblemError,))

    if rng.random() < 0.3:
        content = damage(json.dumps(documents[number]).encode(), rng).decode("utf-8", "replace")
        error = attempt(content)
        if error is None:
            return "result, bytes", None
        kind = error.split(":", maxsplit=1)[0]
        small = "".join(fewer(list(content), lambda kept: (attempt("".join(kept)) or "").startswith(kind)))
        return "result, bytes", Finding("crash", f"from_json: {error}", {"text": small})
    changes = _changes(documents[number], rng)

    def forged(changes: list[Change]) -> str:
        return json.dumps(apply_changes(documents[number], changes))

    error = attempt(forged(changes))
    if error is None:
        return "result, forged", None
    kind = error.split(":", maxsplit=1)[0]
    changes = fewer(changes, lambda kept: (attempt(forged(kept)) or "").startswith(kind))
    data = {
        "result": number,
        "changes": [(path, how, VALUES[w] if isinstance(w, int) else w) for path, how, w in changes],
    }
    return "result, forged", Finding("crash", f"from_json: {error}", data)
