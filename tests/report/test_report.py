"""The report says the right things, and nothing in the data can become code in it."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from functools import cache
from html import escape, unescape

import numpy as np
import pytest
from scipy.sparse import csr_array

from cs3vm import CS3VMClassifier, Problem, Result, Status, solve
from cs3vm.exceptions import InvalidProblemError, MissingPackageError
from tests.browser import open_browser
from tests.learn.test_several_classes import clouds, totals_of

for package in ("jinja2", "matplotlib"):
    pytest.importorskip(package)
import cs3vm.report  # noqa: E402
from cs3vm.learn.certificate import certificate  # noqa: E402
from cs3vm.report import make_report  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::cs3vm.exceptions.CS3VMWarning")

#: A port on which nothing listens; an attempt to reach it is still seen by the browser.
TRAP = "http://127.0.0.1:9/stolen"
HOSTILE = (
    "<script>window.hacked=1</script>",
    f"\"><img src={TRAP} onerror='window.hacked=2'>",
    "</style><svg onload=window.hacked=3>",
    "$x^2$ ${7*7}",
    "{{7*7}} {% raw %}",
    "' onmouseover='window.hacked=4' \"&amp;--><!--",
    f"</text><image href='{TRAP}'/><style>@import '{TRAP}'</style>",
)
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def make_data(m=120, d=3, seed=0, positive="yes", negative="no"):
    rng = np.random.default_rng(seed)
    truth = rng.random(m + 30) < 0.4
    X = rng.normal(size=(m + 30, d)) + 1.2 * truth[:, None]
    y = np.where(truth, positive, negative).astype(object)
    y[30:] = None
    return X, y, int(truth[30:].sum())


def report_on(clf, X, y, **texts):
    given = {
        "feature_names": [f"feature {i}" for i in range(X.shape[1])],
        "label_name": "answer",
        "positive_name": "yes",
        "negative_name": "no",
        "source": "people.csv",
        "command": "cs3vm fit people.csv",
        **texts,
    }
    return make_report(clf, X, y, **given)


@pytest.fixture(scope="module")
def fitted():
    X, y, total = make_data()
    return CS3VMClassifier("direct", time_limit=2, pos_label="yes").fit(X, y, n_positive=total), X, y


@pytest.fixture(scope="module")
def page(fitted):
    return report_on(*fitted)


@pytest.fixture(scope="module")
def looks(fitted):
    """All that is asked about an answer."""
    clf = fitted[0]
    return {"accuracy": clf.accuracy(), "bias": clf.bias(), "certainty": clf.certainty()}


@pytest.fixture(scope="module")
def whole_page(fitted, looks):
    return report_on(*fitted, **looks)


@pytest.fixture(scope="module")
def hostile_page():
    script, image, svg, *others = HOSTILE
    X, y, total = make_data(d=len(HOSTILE), positive=script, negative=image)
    clf = CS3VMClassifier("top_tau", pos_label=script).fit(X, y, n_positive=total)
    return make_report(
        clf,
        X,
        y,
        feature_names=HOSTILE,
        label_name=svg,
        positive_name=script,
        negative_name=image,
        source="".join(HOSTILE),
        command=f"cs3vm fit {others!r}",
        warnings=HOSTILE,
    )


def words(page):
    """The page's text without markup, spaces made equal."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", body)))


def figures_of(page):
    return [
        base64.b64decode(data).decode() for data in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    ]


def row_of(page, title):
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page, flags=re.S)
    cells = [[unescape(c) for c in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]
    return next(c for c in cells if c and c[0] == title)


# -- what it says --------------------------------------------------------------------------------------
def test_the_question_is_asked_with_its_numbers(fitted, page):
    clf, _, y = fitted
    given = (int(np.sum(y == "yes")), int(np.sum(y == "no")), clf.result_.problem.n_positive)
    text = words(page)
    assert f"Of 150 rows, 30 have a label: {given[0]} “yes”" in text
    assert f"and {given[1]} “no”. The other 120 have none" in text
    assert f"how many is: {given[2]:g} (" in text


def test_it_opens_with_what_people_ask(whole_page):
    page = whole_page
    titles = re.findall(r'<div class="small soft">([^<]*)</div><div class="big', page)
    assert titles == [
        "rows labelled “yes”",
        "labels that are right, estimated",
        "labels that are certain",
        "labels without bias would tell as much",
    ]
    parts = re.findall(r'<section id="(\w+)"><details class="(\w+)"( open)?>', page)
    order = ("totals", "right", "certain", "bias", "plane", "search", "again")
    assert parts == [(name, "fold", "") for name in order]
    assert re.findall(r"<h2>[^<]*</h2>(<span)?", page).count("<span") == 6  # a line beside each but the last
    assert repeated(page) == []


def test_the_figures_of_the_conclusions(fitted, looks, whole_page):
    clf, text = fitted[0], words(whole_page)
    total, certain = clf.result_.problem.n_positive, looks["certainty"].count("certain")
    assert f"rows labelled “yes” {total:g} as many as wanted" in text
    assert f"labels that are certain {certain} of 120; stable: {looks['certainty'].stable} (" in text
    assert f"would tell as much {round(looks['bias'].effective)} as the 30 there are" in text
    shares = {one.rule: f"{100 * one.share:.0f} %" for one in looks["accuracy"].estimates}
    assert f"SVM + top-τ: {shares['top_tau']}; all “no”: {shares['majority']}" in text
    bars = re.findall(r"certain, by proof (\d+) .*?nearly as good (\d+) .*?neither is known (\d+) ", text)
    assert [int(n) for n in bars[0]] == [
        looks["certainty"].count(word) for word in ("certain", "changes", "not known")
    ]
    assert sum(map(int, bars[0])) == 120


def test_counts_are_those_of_the_labels_where_some_are_drawn():
    """Six equal rows of which the total wants three: the plane itself cannot meet it."""
    X = np.array([[3.0], [2.5], [-3.0], [-2.5], *[[0.3]] * 6, [4.0], [-4.0]])
    y = np.array(["yes", "yes", "no", "no", *[None] * 8], dtype=object)
    clf = CS3VMClassifier("direct", work_limit=1e7).fit(X, y, n_positive=4)
    assert clf.result_.count != 4
    page = report_on(clf, X, y, certainty=clf.certainty(work_limit=1e7))
    assert "rows labelled “yes” 4 as many as wanted" in words(page)
    assert row_of(page, "CS³VM (direct)")[1] == "4"
    assert any("classified yes: 4" in figure for figure in figures_of(page))
    assert "6 labels are drawn by lot" in words(page)


def test_weights_have_intervals_in_the_units_of_the_table(fitted, looks, page, whole_page):
    clf, certainty = fitted[0], looks["certainty"]
    cells = row_of(whole_page, "feature 0")
    low, high = (f"{part[0, 0]:+.3g}".replace("-", "\N{MINUS SIGN}") for part in certainty.weights)
    assert cells[2] == f"{low} to {high}"
    assert cells[1] == f"{clf.fit_.planes.coef[0, 0]:+.3g}".replace("-", "\N{MINUS SIGN}")
    assert len(row_of(page, "feature 0")) == 4


def test_several_classes_have_all_parts():
    clf, X, y = make_several(3)
    looks = {"accuracy": clf.accuracy(2, 1, others=False), "bias": clf.bias(), "certainty": clf.certainty()}
    page = report_on(clf, X, y, **looks)
    text = words(page)
    assert "known totals that the answer meets 3 of 3" in text
    assert "labels that are stable" in text
    assert "with several classes no plane decides a label by itself" in text
    assert len(figures_of(page)) == 13  # the love plot, too
    assert repeated(page) == []


def test_methods_are_compared(fitted, page):
    clf = fitted[0]
    naive, top = (solve(clf.result_.problem, name) for name in ("svm", "top_tau"))
    for title, answer in (("SVM", naive), ("SVM + top-τ", top), ("CS³VM (direct)", clf.result_)):
        cells = row_of(page, title)
        assert cells[1] == f"{answer.count:g}"
        assert cells[2] == f"{100 * answer.count / 120:.1f}\N{NO-BREAK SPACE}%"
        changed = int(np.sum(answer.z != naive.z))
        assert cells[4] == ("–" if title == "SVM" else str(changed))
        assert cells[5] == f"{answer.objective:.5g}"
    miss = naive.count - naive.problem.n_positive
    assert row_of(page, "SVM")[3] == f"{abs(miss):g} too {'many' if miss > 0 else 'few'}"
    assert row_of(page, "SVM + top-τ")[3] == "met"


def test_four_figures_and_what_to_look_for(page):
    assert len(figures_of(page)) == 4
    assert page.count("<figcaption>") == 3
    assert page.count("Where the two meet") == 1  # about the search, above its picture
    assert len(re.findall(r"<img [^>]*alt=\"[^\"]{20,}\"", page)) == 4


def test_weights_settings_versions_and_command_are_there(fitted, page):
    clf, text = fitted[0], words(page)
    first = int(np.argmax(np.abs(clf.result_.coef)))
    assert re.search(r"All 3 weights.*?feature (\d)", text)[1] == str(first)
    assert row_of(page, f"feature {first}")[3] == ("yes" if clf.result_.coef[first] > 0 else "no")
    assert "time_limit 2" in text
    assert f"numpy {np.__version__}" in text
    assert "cs3vm fit people.csv" in text


def result_with(status, objective_share):
    """A result whose bound is this share of its objective."""
    problem = Problem([[1.0], [-1.0]], [1, -1], [[2.0]], 1)
    best = problem.best_intercept(np.array([0.8]))
    result = Result(problem, status, np.array([0.8]), best.b, best.z)
    return replace(result, lower_bound=objective_share * result.objective)


@pytest.mark.parametrize(
    ("status", "share", "method", "headline", "text"),
    [
        (Status.OPTIMAL, 1.0, "auto", "Proven optimal", "No other hyperplane"),
        (Status.TIME_LIMIT, 1 / 1.042, "auto", "At most 4.2 % above the optimum", "ended early (time limit)"),
        (Status.TIME_LIMIT, 0.25, "auto", "At most 4 times the optimum", "More time"),
        (Status.INTERRUPTED, 0.0, "auto", "Any distance above the optimum", "interrupted"),
        (Status.FEASIBLE, 0.8, "direct", "No proof", "at most 25 % above the optimum"),
        (Status.FEASIBLE, 0.8, "top_tau", "No proof", "nothing is claimed"),
    ],
)
def test_certificate_in_words(status, share, method, headline, text):
    said = certificate(result_with(status, share), method)
    assert said.headline == headline
    assert text in said.text


def repeated(page):
    """Sentences that stand twice."""
    sentences = [text.strip() for text in re.split(r"(?<=[.!?:])\s", words(page))]
    return [text for text in set(sentences) if len(text) > 25 and sentences.count(text) > 1]


@cache
@cache
def make_several(k=3, **parameters):
    X, y, truth = clouds(k)
    names = np.array([f"class {c}" for c in range(k)], dtype=object)
    labels = np.where(np.isnan(y), None, names[truth])
    known = {str(names[c]): n for c, n in totals_of(y, truth).items()}
    clf = CS3VMClassifier("direct", work_limit=2e7, **parameters).fit(X, labels, n_positive=known)
    return clf, X, labels


@pytest.mark.parametrize(
    ("k", "kernel"), [(2, {}), (2, {"kernel": "rbf"}), (3, {}), (3, {"kernel": "rbf", "n_components": 5})]
)
def test_no_sentence_stands_twice(k, kernel):
    page = report_on(*make_several(k, **kernel), positive_name="", negative_name="")
    assert repeated(page) == []
    assert words(page).count("those of the approximated kernel") == ("n_components" in kernel)


def test_every_class_has_its_pictures():
    clf, X, y = make_several(3)
    page = report_on(clf, X, y)
    assert len(figures_of(page)) == 12
    assert page.count('<details class="card"') == page.count("against the others</summary>") == 3
    assert page.count("against the others</h3>") == 3  # the searches
    assert page.count('<details class="card" open>') == 1  # the others are folded
    counts = dict(zip(*np.unique(clf.transduction_[[v is None for v in y]], return_counts=True), strict=True))
    histograms = [figure for figure in figures_of(page) if "classified the others" in figure][::2]
    assert len(histograms) == 3
    for name, figure in zip(clf.classes_, histograms, strict=True):
        assert f"classified {name}: {counts[name]}" in figure
    assert len(figures_of(report_on(*make_several(3, kernel="rbf")))) == 9  # no weights


def test_of_many_classes_the_most_changed_have_pictures():
    page = report_on(*make_several(8))
    assert len(figures_of(page)) == 4 * 6
    assert page.count("against the others</summary>") == 8


def test_advice_is_in_the_words_of_the_reader():
    X = np.repeat([0.0, 2.0, 1.0], [5, 5, 20])[:, None]
    y = np.array([*["no"] * 5, *["yes"] * 5, *[None] * 20], dtype=object)
    clf = CS3VMClassifier("direct", work_limit=1e7, side_margin=0).fit(X, y, n_positive=10)
    python = words(report_on(clf, X, y))
    assert "side_margin='auto' forbids it" in python
    command = words(report_on(clf, X, y, for_command_line=True, settings={"side_margin": 0.0}))
    assert "--side-margin auto forbids it" in command
    assert "options" not in command


def test_where_to_find_what_is_certain_is_said_in_the_words_of_the_reader(fitted, looks, whole_page):
    python = words(whole_page)
    assert "clf.certain_ and clf.stability_ have both" in python
    command = words(report_on(*fitted, certainty=looks["certainty"], for_command_line=True))
    assert "The labels file has both" in command
    assert "clf." not in command


# -- warnings --------------------------------------------------------------------------------------------
def warnings_in(page):
    return [unescape(w) for w in re.findall(r"<li>(.*?)</li>", page, flags=re.S)]


def test_no_warning_without_a_reason(page):
    assert warnings_in(page) == []
    assert "Read this before" not in page


def test_given_warnings_come_first_and_once(fitted):
    page = report_on(*fitted, warnings=("column x was dropped", "column x was dropped"))
    assert warnings_in(page) == ["Column x was dropped."]


def test_a_feature_that_separates_the_labels_alone_is_named():
    X, y, total = make_data()
    X[:, 1] = np.where(y == "yes", 5.0, -1.0) + 0.1 * np.abs(X[:, 1])
    clf = CS3VMClassifier("top_tau", pos_label="yes").fit(X, y, n_positive=total)
    (warning,) = warnings_in(report_on(clf, X, y))
    assert warning.startswith("One feature alone separates the labelled rows: “feature 1” (yes: 5")


def test_labels_of_one_class_only():
    X, y, total = make_data()
    y[y == "yes"] = None
    clf = CS3VMClassifier("top_tau", pos_label="yes").fit(X, y, n_positive=total)
    page = report_on(clf, X, y)
    assert any("one class (the negative one)" in w for w in warnings_in(page))
    assert "0 “yes” (0.0" in words(page)


def test_a_trivial_answer_and_rows_on_the_plane():
    X, y = np.zeros((40, 2)), np.array(["yes", "no", *[None] * 38], dtype=object)
    clf = CS3VMClassifier("top_tau", pos_label="yes", side_margin=0).fit(X, y, n_positive=5)
    other = replace(clf.fit_.parameters, method="cs3vm")  # a baseline is not blamed for it
    clf.fit_ = replace(clf.fit_, parameters=other)
    said = " ".join(warnings_in(report_on(clf, X, y)))
    assert "no better than the trivial one" in said
    assert "38 of 38 unlabelled rows lie on the hyperplane" in said


# -- other inputs -----------------------------------------------------------------------------------------
def test_fully_labelled_data_have_no_total():
    X, y, _ = make_data()
    clf = CS3VMClassifier().fit(X[:30], y[:30].astype(str))
    page = report_on(clf, X[:30], y[:30].astype(str))
    assert "None is unlabelled" in words(page)
    assert "Proven optimal" in page
    assert len(figures_of(page)) == 2


def test_weights_of_rows():
    X, y, total = make_data()
    weight = np.full(len(X), 2.5)
    clf = CS3VMClassifier("top_tau", pos_label="yes").fit(X, y, n_positive=2.5 * total, sample_weight=weight)
    assert "The other 120 have none and weigh 300." in words(report_on(clf, X, y))


@pytest.mark.parametrize("as_table", [csr_array, pytest.importorskip("pandas").DataFrame])
def test_sparse_rows_and_data_frames(as_table):
    X, y, total = make_data()
    X[:, 2] = np.where(y == "yes", 1.0, 0.0)
    clf = CS3VMClassifier("top_tau", pos_label="yes").fit(as_table(X), y, n_positive=total)
    assert "“feature 2” (yes: 1; no: 0)" in words(report_on(clf, as_table(X), y))


@pytest.mark.parametrize("method", ["svm", "top_tau"])
def test_baselines_are_listed_once(method):
    X, y, total = make_data()
    page = report_on(CS3VMClassifier(method, pos_label="yes").fit(X, y, n_positive=total), X, y)
    assert page.count("<td>SVM</td>") == page.count("<td>SVM + top-τ</td>") == 1


def test_numbers_as_labels_marked_by_minus_one():
    X, y, total = make_data()
    numbers = np.where(y == "yes", 1, np.where(y == "no", 0, -1))
    clf = CS3VMClassifier("top_tau").fit(X, numbers, n_positive=total)
    assert "30 have a label" in words(report_on(clf, X, numbers, positive_name=1, negative_name=0))


def test_one_name_per_feature(fitted):
    with pytest.raises(InvalidProblemError, match="one name per feature"):
        report_on(*fitted, feature_names=["only one"])


def test_a_missing_package_is_named(fitted, monkeypatch):
    monkeypatch.setattr(cs3vm.report, "PACKAGES", ("jinja2", "no_such_package"))
    with pytest.raises(MissingPackageError, match=r"needs no_such_package.*cs3vm\[report\]"):
        report_on(*fitted)


def test_a_result_is_a_table_in_a_notebook(fitted):
    result = fitted[0].result_
    table = result._repr_html_()
    assert f"<th>positives</th><td>{result.count:g} of {result.problem.n_positive:g}</td>" in table
    assert f"<th>objective</th><td>{result.objective:.6g}</td>" in table
    nothing = Result(result.problem, Status.INFEASIBLE)._repr_html_()
    assert "<td>infeasible</td>" in nothing
    assert "objective" not in nothing


# -- safety: in the text -----------------------------------------------------------------------------------
def test_page_has_the_policy_and_no_addresses(page):
    assert f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">' in page
    assert "http" not in page.replace("http-equiv", "")
    for figure in figures_of(page):
        assert set(re.findall(r"https?://[^\"\s]*", figure)) <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }


def test_hostile_texts_are_escaped(hostile_page):
    assert "<script" not in hostile_page
    for text in HOSTILE:
        assert str(escape(text)).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in hostile_page
    for figure in figures_of(hostile_page):
        assert "<script" not in figure
        assert "<image" not in figure


def test_names_that_no_file_can_hold(fitted):
    page = report_on(
        *fitted, source="caf\udce9.csv", label_name="a\0b", feature_names=["\udcff", "\x1b[2J", ""]
    )
    assert "caf?.csv" in page
    assert "\0" not in page
    page.encode("utf-8")


# -- safety: in a browser ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def unfold(browser):
    """Open all that is folded."""
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")


def write(folder, page):
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1200, 390])
def test_hostile_report_in_chromium(browser, tmp_path, hostile_page, width):
    path = write(tmp_path, hostile_page)
    browser.open(path, width=width)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    unfold(browser)
    assert browser.ask("window.hacked") is None
    assert browser.ask("document.scripts.length") == 0
    assert browser.ask("[...document.images].map(i => i.complete && i.naturalWidth > 100)") == [True] * 4
    assert browser.ask("document.querySelector('code').innerText").startswith("cs3vm fit ")
    assert "49" not in browser.ask("document.querySelector('h1').innerText")
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.console() == []
    assert browser.requests() == [path.as_uri()]


def test_names_are_drawn_as_text_in_the_figures(browser, tmp_path, hostile_page):
    figure = next(f for f in figures_of(hostile_page) if "weight of the scaled feature" in f)
    path = tmp_path / "weights.svg"
    path.write_text(figure, encoding="utf-8")
    browser.open(path)
    drawn = browser.ask("[...document.querySelectorAll('text')].map(t => t.textContent)")
    for name in HOSTILE:
        assert (name if len(name) <= 32 else name[:31] + "…") in drawn
    assert browser.ask("window.hacked") is None
    assert browser.requests() == [path.as_uri()]


def test_the_checks_would_see_an_attack(browser, tmp_path):
    browser.open(write(tmp_path, "<!DOCTYPE html><title>x</title>" + "".join(HOSTILE)))
    assert browser.ask("window.hacked") is not None
    assert TRAP in browser.requests()
    assert browser.console() != []


def test_the_policy_stops_what_escaping_would_miss(browser, tmp_path, page):
    browser.open(write(tmp_path, page.replace("<main>", "<main>" + "".join(HOSTILE))))
    assert browser.ask("window.hacked") is None
    assert [url for url in browser.requests() if url.startswith("http")] == []
    assert any("Content Security Policy" in message for message in browser.console())


@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_conclusions_first_and_details_folded(browser, tmp_path, whole_page, width, dark):
    browser.open(write(tmp_path, whole_page), width=width, height=900, dark=dark)
    assert browser.ask("[...document.querySelectorAll('details.fold')].filter(d => d.open).length") == 0
    top = "document.querySelectorAll('.numbers .card')[3].getBoundingClientRect().bottom"
    assert browser.ask(top) < 900  # all figures on the first screen
    hidden = "[...document.images].every(i => i.offsetParent === null || !i.checkVisibility())"
    assert browser.ask(hidden)
    if width > 1000:
        assert browser.ask("document.documentElement.scrollHeight") <= 1000
    unfold(browser)
    assert browser.ask("[...document.images].every(i => i.checkVisibility() && i.width > 150)")
    assert browser.ask("document.documentElement.scrollWidth") <= width
    browser.ask("document.querySelector('#bias summary').click()")
    assert not browser.ask("document.querySelector('#bias details').open")
    assert browser.console() == []


def test_the_love_plot_is_drawn_with_its_names(browser, tmp_path, fitted):
    from cs3vm.report.love_plot import drawn

    address = drawn(fitted[0].bias())
    path = tmp_path / "love.svg"
    path.write_bytes(base64.b64decode(address.split(",", 1)[1]))
    browser.open(path)
    texts = browser.ask("[...document.querySelectorAll('text')].map(t => t.textContent)")
    assert {"x0", "x1", "x2", "difference in standard deviations"} <= set(texts)
    assert browser.requests() == [path.as_uri()]


def test_light_and_dark(browser, tmp_path, page):
    image = pytest.importorskip("matplotlib.image")
    path, brightness, lines = write(tmp_path, page), {}, {}
    for dark in (False, True):
        browser.open(path, dark=dark)
        unfold(browser)
        browser.ask("document.images[0].scrollIntoView()")
        browser.screenshot(tmp_path / "shot.png")
        pixels = image.imread(tmp_path / "shot.png")[:, :, :3].mean(axis=2)
        brightness[dark] = np.median(pixels)
        lines[dark] = np.abs(pixels - np.median(pixels)).max()
    assert brightness[False] > 0.9
    assert brightness[True] < 0.2
    assert min(lines.values()) > 0.6  # text and axes stand out in both
