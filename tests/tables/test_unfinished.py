"""A folder appears as a whole, and passes that are complete are not run again."""

import io
import os
import pickle

import pytest

from cs3vm.exceptions import OutputError
from cs3vm.tables import unfinished
from cs3vm.tables.unfinished import Unfinished, _Plain, put_back


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


def killed_between_renames(target, monkeypatch):
    """Leave what a process leaves that is killed after the old output made room."""
    work = Unfinished(target, "key")
    (work.output / "file").write_text("new")
    renamed = []

    def rename(one, other):
        if renamed:
            raise KeyboardInterrupt
        renamed.append(os_rename(one, other))

    with monkeypatch.context() as patched:
        os_rename = os.rename
        patched.setattr(unfinished.os, "rename", rename)
        with pytest.raises(KeyboardInterrupt):
            work.publish()
    work.close()
    assert not target.exists()


def test_an_old_output_that_made_room_is_put_back(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    (target / "file").write_text("old")
    killed_between_renames(target, monkeypatch)
    put_back(target)
    assert (target / "file").read_text() == "old"
    killed_between_renames(target, monkeypatch)
    again = Unfinished(target, "key", resume=True)  # does the same, and goes on
    assert (target / "file").read_text() == "old"
    (again.output / "file").write_text("newest")
    again.publish()
    assert (target / "file").read_text() == "newest"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_old_output_whose_place_is_taken_is_removed(tmp_path):
    target = tmp_path / "out"
    work = Unfinished(target, "key")
    work.publish()
    left = tmp_path / ".out.unfinished" / "old"  # as if killed while it was removed
    left.mkdir(parents=True)
    put_back(target)
    assert not left.exists()
    assert target.exists()


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


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("cs3vm.engine.compiling", "Popen"),
        ("cs3vm.tables.unfinished", "Path"),
        ("cs3vm.tables.unfinished", "shutil.rmtree"),
        ("cs3vm.tables.unfinished", "Path.home"),
        ("cs3vm.tables.unfinished", "_read"),
    ],
)
def test_what_our_modules_import_is_not_reached_through_them(module, name):
    """The folder may be anybody's; ``Popen`` is a class in the names of a module of ours."""
    words = b"".join(pickle.SHORT_BINUNICODE + bytes([len(word)]) + word.encode() for word in (module, name))
    code = pickle.PROTO + bytes([4]) + words + pickle.STACK_GLOBAL + pickle.STOP
    with pytest.raises(OutputError, match="leave --resume out"):
        _Plain(io.BytesIO(code)).load()


def test_a_damaged_pass_is_run_again(tmp_path):
    target, source = tmp_path / "out", Source()
    first = Unfinished(target, "key")
    first.run(source, Pass(1), None)
    first.close()
    (file,) = first.folder.glob("pass-*")
    file.write_bytes(file.read_bytes()[:-3])
    again = Unfinished(target, "key", resume=True)
    assert again.run(source, Pass(1), None) == {"found": 1}
    assert (source.runs, again.n_resumed) == (2, 0)
    again.discard()
