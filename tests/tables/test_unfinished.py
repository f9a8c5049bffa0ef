"""A folder appears as a whole, and passes that are complete are not run again."""

import os
import pickle

import pytest

from cs3vm.exceptions import OutputError
from cs3vm.tables.unfinished import Unfinished


class Pass:
    def __init__(self, value):
        self.value = value

    def __call__(self, piece):
        return piece


class Source:
    def __init__(self):
        self.runs = 0

    def reduce(self, function, combine):
        self.runs += 1
        return {"found": function.value}


def test_passes_are_kept_for_the_same_work_only(tmp_path):
    target, source = tmp_path / "out", Source()
    first = Unfinished(target, "key")
    first.run(source, Pass(1), None)
    first.run(source, Pass(2), None)
    first.close()
    again = Unfinished(target, "key", resume=True)
    assert again.run(source, Pass(1), None) == {"found": 1}
    assert again.run(source, Pass(3), None) == {"found": 3}  # another pass than before
    assert (source.runs, again.n_resumed) == (3, 1)
    again.close()
    with pytest.raises(OutputError, match="other data, options"):
        Unfinished(target, "another key", resume=True)
    fresh = Unfinished(target, "another key")
    fresh.run(source, Pass(1), None)
    assert (source.runs, fresh.n_resumed) == (4, 0)
    fresh.discard()
    assert list(tmp_path.iterdir()) == []


def test_the_output_replaces_the_old_one(tmp_path):
    target = tmp_path / "out"
    for text in ("old", "new"):
        work = Unfinished(target)
        (work.output / "file").write_text(text)
        if text == "new":
            assert (target / "file").read_text() == "old"
        work.publish()
        assert (target / "file").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_read_back_runs_no_code(tmp_path):
    target, source = tmp_path / "out", Source()
    work = Unfinished(target, "key")
    work.run(source, Pass(1), None)
    work.close()
    (kept,) = work.folder.glob("pass-*")
    mark = kept.read_bytes()[:32]

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "evil"),)

    kept.write_bytes(mark + pickle.dumps(Evil()))
    with pytest.raises(OutputError, match="leave --resume out"):
        Unfinished(target, "key", resume=True).run(source, Pass(1), None)
    assert not (tmp_path / "evil").exists()
