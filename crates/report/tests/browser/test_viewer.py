"""The viewer: the same page served on this machine, labels that it saves, a run that it follows."""

import json
import shutil
import signal
import subprocess
from contextlib import contextmanager

import pytest
import trees
from waiting import open_first, rows_shown, search, start_labels, until, until_answered, until_rows


@contextmanager
def viewer(folder, name, *arguments):
    """Serves a benchmark; gives the address of the page."""
    server = subprocess.Popen([trees.PROBITY, "view", name, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) == 0


@pytest.fixture
def tree(tmp_path):
    return trees.golden(tmp_path, "sycophancy")[0]


def labels_of(tree, target):
    file = tree / "runs" / target / "labels.json"
    return json.loads(file.read_text()) if file.exists() else []


def test_the_same_page_is_served(open_page, tree, tmp_path, shot):
    with viewer(tmp_path, "sycophancy") as address:
        page = open_page(address=address, route="#/rows")
        until_rows(page, 16)
        search(page, "good coffee")
        assert 0 < rows_shown(page) < 16
        open_first(page)
        shot(page, "viewer")
        page.goto(f"{address}#/")
        assert page.locator("#overview table").count() > 0
        page.close()


def test_answers_are_in_the_file_at_once_and_taken_back(open_page, tree, tmp_path):
    with viewer(tmp_path, "sycophancy") as address:
        page = open_page(address=address, route="#/label?model=scripted-careful")
        start_labels(page, "ana")
        page.keyboard.press("n")
        page.keyboard.type("a note")
        page.keyboard.press("Escape")
        page.keyboard.press("p")
        until_answered(page, 1)
        (label,) = labels_of(tree, "scripted-careful")
        assert (label["labeller"], label["passed"], label["note"]) == ("ana", True, "a note")
        assert len(label["_transcript"]) == 16
        page.keyboard.press("u")
        until_answered(page, 2)
        assert [label["passed"] for label in labels_of(tree, "scripted-careful")] == [True, None]
        page.keyboard.press("z")
        until_answered(page, 1)
        page.keyboard.press("z")
        until_answered(page, 0)
        assert labels_of(tree, "scripted-careful") == []
        assert page.locator(".saving").count() == 0
        page.close()


def test_rows_are_labelled_where_they_are_read(open_page, tree, tmp_path, shot):
    with viewer(tmp_path, "sycophancy") as address:
        page = open_page(address=address, route="#/rows?model=scripted-careful")
        until_rows(page, 8)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("#own-labeller")
        shot(page, "viewer-name")
        # Without a name, a key leads to the field for it.
        page.keyboard.press("p")
        page.keyboard.type("ana")
        page.keyboard.press("Enter")
        place = lambda at: f"document.querySelector('#conversation .steps span').textContent === '{at} of 8' && document.querySelector('.own-buttons')"
        for at, key in enumerate("pfu", 1):
            until(page, place(at))
            page.keyboard.press(key)
        until(page, place(4))
        labels = labels_of(tree, "scripted-careful")
        assert [(label["labeller"], label["passed"], len(label["_transcript"])) for label in labels] == [("ana", True, 16), ("ana", False, 16), ("ana", None, 16)]
        page.keyboard.press("k")
        until(page, place(3))
        until(page, "document.querySelector('.own-buttons [aria-pressed=true]')?.textContent.startsWith('Unclear')")
        shot(page, "viewer-label")
        # Another answer takes the place of the first.
        page.click(".own-buttons >> text=Pass")
        until(page, place(4))
        assert labels_of(tree, "scripted-careful")[-1]["passed"] is True and len(labels_of(tree, "scripted-careful")) == 3
        page.close()


def test_figures_follow_an_answer_without_being_asked_for(open_page, tree, tmp_path):
    with viewer(tmp_path, "sycophancy") as address:
        page = open_page(address=address, route="#/label?model=scripted-careful")
        start_labels(page)
        for done in range(4):
            page.keyboard.press("p")
            until_answered(page, done + 1)
        until(page, "document.querySelector('#live').textContent.includes('figures follow')", 2)
        until(page, "document.querySelector('#live').textContent === ''", 20)
        page.evaluate("location.hash = '#/'")
        overview = page.locator("#overview").inner_text()
        assert "people" in overview.lower()
        page.close()


def test_two_people_label_in_two_tabs(open_page, tree, tmp_path):
    with viewer(tmp_path, "sycophancy") as address:
        tabs = [open_page(address=address, route="#/label?model=scripted-careful") for _ in range(2)]
        for tab, name in zip(tabs, ("ana", "ben"), strict=True):
            start_labels(tab, name)
        for done in range(1, 4):
            for tab, key in zip(tabs, "pf", strict=True):
                tab.keyboard.press(key)
            for tab in tabs:
                until_answered(tab, done)
        labels = labels_of(tree, "scripted-careful")
        assert sorted((label["labeller"], label["passed"]) for label in labels) == [("ana", True)] * 3 + [("ben", False)] * 3
        assert len({(label["conv_id"], label["metric_id"]) for label in labels}) == 3
        # Both read the rows in the same order, and the table of either tab shows the labels of both.
        tabs[0].goto(f"{address}#/rows?label=disagree")
        until_rows(tabs[0], 3)
        for tab in tabs:
            tab.close()


def test_a_note_that_is_being_written_stays_when_another_answers(open_page, tree, tmp_path):
    with viewer(tmp_path, "sycophancy") as address:
        first = open_page(address=address, route="#/label?model=scripted-careful")
        start_labels(first, "ana")
        first.keyboard.press("n")
        first.keyboard.type("half a note")
        version = "fetch('state').then((answer) => answer.json()).then((state) => state.version)"
        before = first.evaluate(version)
        second = open_page(address=address, route="#/label?model=scripted-careful")
        start_labels(second, "ben")
        second.keyboard.press("p")
        until_answered(second, 1)
        second.close()
        while first.evaluate(version) == before:
            first.wait_for_timeout(200)
        # Longer than the page waits before it asks again.
        first.wait_for_timeout(3_000)
        assert first.evaluate("document.activeElement.id") == "label-note"
        assert first.input_value("#label-note") == "half a note"
        first.close()


def test_a_run_is_followed(open_page, tmp_path):
    (tmp_path / "benchmarks").mkdir()
    shutil.copytree(trees.ROOT / "fixtures" / "benchmarks" / "sycophancy", tmp_path / "benchmarks" / "sycophancy")
    with viewer(tmp_path, "sycophancy", "--scripted") as address:
        page = open_page(address=address, route="#/rows")
        until_rows(page, 0)
        page.fill("#filter-text", "the")
        page.focus("#filter-text")
        trees.probity(tmp_path, "run", "sycophancy", "--scripted", "--quiet")
        until(page, "Number(document.querySelector('table.rows').getAttribute('aria-rowcount')) > 5", 30)
        assert page.evaluate("document.activeElement.id") == "filter-text"
        assert page.input_value("#filter-text") == "the"
        page.evaluate("location.hash = '#/'")
        page.wait_for_selector("#overview table")
        assert "scripted-careful" in page.locator("#overview").inner_text()
        page.close()


def test_a_viewer_that_has_ended_is_named(open_page, tree, tmp_path):
    with viewer(tmp_path, "sycophancy") as address:
        page = open_page(address=address, route="#/rows", may_fail=True)
        until_rows(page, 16)
    until(page, "document.querySelector('#live').textContent.includes('ended')")
    assert rows_shown(page) == 16
