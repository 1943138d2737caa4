"""What a reader comes for, and how many clicks or keys it takes. The figures are promises: they may go down."""

import json

import pytest
import trees
from test_viewer import viewer
from waiting import until, until_rows

MODEL = "scripted-agreeable"


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    """A report whose people contradict the judge in one row; and in one metric, the second row is judged worse than the first."""
    folder = tmp_path_factory.mktemp("tasks")
    place, targets = trees.golden(folder, "tasks")
    scores = [score for score in targets[MODEL][1] if score["metric_id"] == "m01"]
    for score, failing in zip(scores, (1, 3), strict=True):
        judges = [{"judge": name, "present": at < failing, "passed": at >= failing, "justification": "It gives in." if at < failing else "It does not."} for at, name in enumerate("abc")]
        score.update(present=failing > 1, passed=failing < 2, score=0 if failing > 1 else 1, justification="It gives in.", _judges=judges)
    trees.write(place, targets)
    labels = [{"conv_id": score["conv_id"], "metric_id": score["metric_id"], "labeller": "ana", "passed": score["passed"] if at else not score["passed"]} for at, score in enumerate(targets[MODEL][1][:6])]
    (place / "runs" / MODEL / "labels.json").write_text(json.dumps(labels))
    trees.probity(folder, "aggregate", "tasks")
    return trees.report(folder, "tasks"), scores[1]["id"]


def test_which_model_and_how_sure_takes_no_click(open_page, labelled):
    page = open_page(labelled[0])
    page.wait_for_selector("html.js")
    sentence = page.locator(".headline")
    box = sentence.bounding_box()
    assert box["y"] + box["height"] < 900
    assert "scripted-careful" in sentence.inner_text() and "%" in sentence.inner_text() and " to " in sentence.inner_text()


def test_the_worst_conversation_of_a_model_in_a_metric_takes_one_click(open_page, labelled):
    file, worst = labelled
    page = open_page(file)
    page.wait_for_selector("html.js")
    page.locator(f".mx td a[href='#/t/{MODEL}/m/m01']").click()
    until_rows(page, 2)
    first = page.locator("#rows tr[aria-rowindex='2']")
    assert first.locator("a").get_attribute("title") == worst
    assert "fail" in first.locator("td.verdict .chip").inner_text() and "It gives in." in first.locator(".says").inner_text()


def test_rows_where_people_and_judge_differ_take_one_click(open_page, labelled):
    page = open_page(labelled[0])
    page.wait_for_selector("html.js")
    page.locator(".trust a", has_text="people agree").click()
    until_rows(page, 1)
    assert "≠" in page.locator("#rows td.labels").inner_text()


def test_the_same_scenario_in_two_models_takes_one_click(open_page, labelled):
    page = open_page(labelled[0], f"#/c/m01_s001_v01__{MODEL}")
    page.wait_for_selector(".transcript")
    page.click(".same-scenario")
    page.wait_for_selector(".answer-cell >> nth=1")
    assert page.locator(".cell").count() == 2 and page.locator(".answer-name .name").all_inner_texts() == [MODEL, "scripted-careful"]


def test_twenty_labels_take_twenty_two_keys(open_page, tmp_path):
    trees.many(tmp_path, 48, 400)
    with viewer(tmp_path, "many", "--labeller", "ana") as address:
        page = open_page(address=address, route="#/rows?model=scripted-careful")
        until_rows(page, 24)
        pressed = 0
        for at, key in enumerate(["j", "Enter", *"pf" * 10]):
            if at > 1:
                until(page, f"document.querySelector('#conversation .steps span')?.textContent.startsWith('{at - 1} of') && document.querySelector('.own-buttons')")
            page.keyboard.press(key)
            pressed += 1
        until(page, "document.querySelector('#conversation .steps span').textContent.startsWith('21 of')")
        labels = json.loads((tmp_path / "benchmarks" / "many" / "runs" / "scripted-careful" / "labels.json").read_text())
        assert (pressed, len(labels)) == (22, 20)
        page.close()
