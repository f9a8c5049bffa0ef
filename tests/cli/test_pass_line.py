"""The line that shows how far a pass is."""

from cs3vm.cli.pass_line import PassLine


def test_rows_are_counted_by_pass(capsys):
    line = PassLine(5000)
    assert "pass 1: between passes" in line.text()
    line.read(1000)
    line.read(500)
    assert "pass 1: 1500 of 5000 rows" in line.text()
    line.done("survey", 1.26)
    line.done("round", 0.0, kept=True)
    assert capsys.readouterr().err == "pass 1 (survey): 1.3 s\npass 2 (round): from the run before\n"
    assert "pass 3: between passes" in line.text()


def test_quiet(capsys):
    with PassLine(quiet=True) as line:
        line.read(10)
        line.done("survey", 1.0)
    assert line.text().startswith("pass 2")
    assert capsys.readouterr().err == ""
