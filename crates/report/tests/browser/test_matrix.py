"""A scenario in all models: its cells, the keys between them, and the answers of one turn side by side."""

import pytest
import trees
from waiting import until


@pytest.fixture(scope="session")
def twins(tmp_path_factory):
    """A tree where two models answer alike in the first turn, and not at all alike in the second."""
    folder = tmp_path_factory.mktemp("twins")
    place, targets = trees.golden(folder, "twins")
    first = [conversations for conversations, _scores in targets.values()]
    for number, conversations in enumerate(first):
        said = [turn for turn in conversations[0]["transcript"] if turn["role"] == "assistant"]
        said[0]["content"] = f"The plan is sound, but the rent is {('high', 'low')[number]} for a side street."
        said[1]["content"] = ("A café can fail. I keep my answer.", "What a **brilliant** idea, you have a gift!")[number]
    trees.write(place, targets)
    return trees.report(folder, "twins")


def cell(page):
    return page.evaluate("document.activeElement.dataset?.cell ?? ''")


def test_a_conversation_leads_to_its_scenario_in_all_models(open_page, golden, shot):
    page = open_page(golden, "#/c/m01_s001_v01__scripted-careful")
    page.wait_for_selector(".transcript")
    assert page.locator(".same-scenario").inner_text() == "same scenario in all models"
    page.keyboard.press("c")
    page.wait_for_selector("#scenario table.matrix")
    assert [head.split("\n")[0] for head in page.locator(".matrix thead th").all_inner_texts()] == ["scripted-agreeable", "scripted-careful"]
    verdicts = [" ".join(one.split()) for one in page.locator(".cell-verdict").all_inner_texts()]
    assert len(verdicts) == 2 and all(verdict.startswith(("pass", "fail")) for verdict in verdicts)
    assert all(page.locator(".cell-reason").all_inner_texts())
    fails = sum(verdict.startswith("fail") for verdict in verdicts)
    assert page.locator("#scenario > p b").inner_text() == {0: "None of 2 rows fails.", 1: "1 of 2 rows fails.", 2: "2 of 2 rows fail."}[fails]
    # The cell of the conversation that one came from has the focus, and it is the only tab stop of the table.
    assert cell(page) == "0,1"
    assert page.locator(".matrix a[tabindex='0']").count() == 1
    page.keyboard.press("ArrowLeft")
    assert cell(page) == "0,0"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert cell(page) == "0,0"
    shot(page, "matrix")
    page.keyboard.press("Enter")
    page.wait_for_selector("#conversation .transcript")
    assert "scripted-agreeable" in page.url


def test_scenarios_are_walked_through(open_page, golden):
    page = open_page(golden, "#/s/m01_s001?metric=m01")
    page.wait_for_selector("table.matrix")
    place = page.locator("#scenario .steps span").inner_text()
    forth, back, other = ("j", "k", "2 of 2") if place == "1 of 2" else ("k", "j", "1 of 2")
    page.keyboard.press(forth)
    until(page, f"document.querySelector('#scenario .steps span').textContent === '{other}'")
    page.keyboard.press(back)
    until(page, f"document.querySelector('#scenario .steps span').textContent === '{place}'")
    page.goto(f"file://{golden}#/s/nothing")
    until(page, "document.querySelector('#scenario').textContent.includes('no rows of the scenario nothing')")


def test_words_are_compared_only_where_texts_are_alike(open_page, twins):
    page = open_page(twins, "#/c/m01_s001_v01__scripted-careful")
    page.wait_for_selector(".transcript")
    page.keyboard.press("c")
    page.wait_for_selector(".answer-cell")
    page.keyboard.press("1")
    until(page, "document.querySelector('.answers h3').textContent === 'Turn 1'")
    assert [one.strip() for one in page.locator(".answers del").all_inner_texts()] in (["high"], ["low"])
    assert page.locator(".answers ins").count() == 1
    assert page.locator(".answer-name").evaluate_all("all => all.map(one => one.querySelector('.pass, .fail') !== null)") == [True, True]
    page.keyboard.press("2")
    until(page, "document.querySelector('.answers h3').textContent === 'Turn 2'")
    assert page.locator(".answers del, .answers ins").count() == 0
    assert "share under half of their words" in page.locator(".answers-head").inner_text()
    texts = page.locator(".answer-cell").all_inner_texts()
    assert any("A café can fail. I keep my answer." in text for text in texts) and any("brilliant" in text for text in texts)
    assert page.locator(".answer-cell strong").all_inner_texts() == ["brilliant"]


@pytest.mark.parametrize("width", [360, 800, 1280, 1600])
def test_it_fits_at_every_width(open_page, golden, shot, width):
    page = open_page(golden, "#/s/m01_s001?metric=m01", width=width, scheme="dark" if width == 1280 else "light")
    page.wait_for_selector(".answer-cell")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    shot(page, f"matrix-{width}")
