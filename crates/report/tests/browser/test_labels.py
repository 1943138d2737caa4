"""Labels by hand in a page that is a file: blind, undone, kept, downloaded, and read by the command."""

import json

import trees
from waiting import until, until_rows


def start(page, name="ana"):
    page.fill("#labeller", name)
    page.keyboard.press("Enter")
    page.wait_for_selector(".controls")


def progress(page):
    return page.locator("#label .count").inner_text()


def until_answered(page, number):
    until(page, f"document.querySelector('#label .count')?.textContent.startsWith('{number} answered')")


def test_the_verdict_is_hidden_until_the_answer(open_page, golden, shot):
    page = open_page(golden, "#/label")
    start(page)
    text = page.locator("#label").inner_text()
    assert "judge says" not in text and "scripted-careful" not in page.locator("#label .said").inner_text()
    assert page.locator("#label .scores, #label mark, #label .said .pass, #label .said .fail").count() == 0
    shot(page, "label")
    page.keyboard.press("p")
    page.wait_for_selector(".last")
    assert "judge" in page.locator(".last").inner_text()
    page.check("#show-verdicts")
    page.wait_for_selector(".question >> text=The judge says")


def test_answers_are_counted_undone_kept_and_downloaded(open_page, golden, tmp_path):
    page = open_page(golden, "#/label?model=scripted-careful")
    start(page)
    assert progress(page).startswith("0 answered")
    page.keyboard.press("f")
    until_answered(page, 1)
    page.keyboard.press("n")
    page.keyboard.type("agrees in the end: p, f, u")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    until_answered(page, 2)
    page.keyboard.press("u")
    until_answered(page, 3)
    page.keyboard.press("z")
    until_answered(page, 2)
    page.reload()
    page.wait_for_selector(".controls")
    assert progress(page).startswith("2 answered")
    with page.expect_download() as got:
        page.click("text=Download labels.json")
    assert got.value.suggested_filename == "labels.json"
    labels = json.loads(open(got.value.path(), encoding="utf-8").read())
    assert [label["passed"] for label in labels] == [False, True]
    assert labels[1]["note"] == "agrees in the end: p, f, u"
    assert all(label["labeller"] == "ana" and len(label["_transcript"]) == 16 for label in labels)
    # The command that the page names takes the file as it is.
    command = page.locator(".saving code").inner_text()
    assert command.endswith("label sycophancy --import labels.json"), command
    place, _targets = trees.golden(tmp_path, "sycophancy")
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    trees.probity(tmp_path, *command.split("xtask ")[-1].removeprefix("probity ").split(" "))
    trees.probity(tmp_path, "validate", "benchmarks/sycophancy")
    trees.probity(tmp_path, "aggregate", "sycophancy")
    statistics = json.loads((place / "statistics.json").read_text())
    people = [target["judge"]["people"] for target in statistics["targets"] if target["target"] == "scripted-careful"]
    assert people and people[0]
    # And the report of them shows the labels.
    page.goto(f"file://{trees.report(tmp_path, 'sycophancy')}#/rows?label=any")
    until_rows(page, 2)


def test_all_rows_can_be_answered(open_page, golden):
    page = open_page(golden, "#/label?model=scripted-careful")
    start(page, "ben")
    for done in range(8):
        until_answered(page, done)
        page.keyboard.press("s" if done == 2 else "p")
        if done == 2:
            page.keyboard.press("p")
    page.wait_for_selector("text=All rows of scripted-careful are answered.")
    assert ", 0 more are useful" in progress(page)
    page.keyboard.press("z")
    page.wait_for_selector(".controls")


def test_answers_on_two_models_leave_the_page_as_one_file(open_page, golden):
    page = open_page(golden, "#/label?model=scripted-careful")
    start(page)
    page.keyboard.press("p")
    until_answered(page, 1)
    page.select_option("#label-run", "scripted-agreeable")
    until_answered(page, 0)
    page.keyboard.press("f")
    until_answered(page, 1)
    page.reload()
    until_answered(page, 1)
    with page.expect_download() as got:
        page.click("text=Download labels.json (2 labels)")
    labels = json.loads(open(got.value.path(), encoding="utf-8").read())
    assert sorted(label["conv_id"].split("__")[1] for label in labels) == ["scripted-agreeable", "scripted-careful"]
