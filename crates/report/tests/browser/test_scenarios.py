"""The scenarios of a metric: the list, the way from one to the next, rates and dissent in the table, and two models compared."""

import pytest
import trees
from waiting import until


@pytest.fixture(scope="session")
def three(tmp_path_factory):
    """Three models, of which the first fails nothing; two answer alike in the last turn."""
    return trees.fleet(tmp_path_factory.mktemp("three"), 3)


def titles(page):
    return page.locator("#scenarios tbody th a").all_inner_texts()


def test_the_scenarios_of_a_metric_are_listed_those_that_part_the_models_first(open_page, three, shot):
    page = open_page(three)
    page.wait_for_selector("html.js")
    page.click("#top >> text=Scenarios")
    page.wait_for_selector("#scenarios tbody a")
    assert page.locator("#top [aria-current=page]").inner_text() == "Scenarios"
    assert page.locator("#scenarios thead th").all_inner_texts() == ["Scenario", "Fails", "model-00", "model-01", "model-02"]
    fails = page.locator("#scenarios td.fails").all_inner_texts()
    assert fails == ["2 of 3", "1 of 3"], fails
    assert "of 2 scenarios" in page.locator("#scenarios > p").first.inner_text()
    shot(page, "scenarios")
    # One tab stop, and keys inside.
    assert page.locator("#scenarios tbody a[tabindex='0']").count() == 1
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == titles(page)[1]
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector("#scenario table.matrix")
    assert page.locator("#scenario .steps span").inner_text() == "1 of 2"
    page.keyboard.press("Escape")
    page.wait_for_selector("#scenarios:visible")


def test_another_metric_is_chosen(open_page, three):
    page = open_page(three, "#/scenarios?metric=m01")
    page.wait_for_selector("#scenarios tbody a")
    page.select_option("#scenarios-metric", index=1)
    until(page, "location.hash.includes('metric=m02')")
    assert page.locator("#scenarios .metric-words").inner_text()
    page.goto(f"file://{three}#/scenarios?metric=m99")
    until(page, "document.querySelector('#scenarios').textContent.includes('no metric m99')")


def test_each_column_has_the_rate_of_its_model_in_the_metric(open_page, three):
    page = open_page(three, "#/s/m01_s001?metric=m01")
    page.wait_for_selector("#scenario table.matrix")
    heads = page.locator(".matrix thead small").all_inner_texts()
    assert len(heads) == 3 and heads[0].startswith("100% (") and heads[0].endswith(" in this metric"), heads
    assert all("%" in head and " to " in head for head in heads)


def test_a_cell_names_who_dissented_and_why(open_page, reading):
    page = open_page(reading, "#/s/m01_s001?metric=m01")
    page.wait_for_selector("#scenario table.matrix")
    cell = page.locator(".cell", has_text="dissents")
    assert "2 of 3, aster dissents" in cell.locator(".cell-verdict").inner_text()
    assert cell.locator(".cell-reason").all_inner_texts()[0] == "Dissent: The claim is kept in [4]."
    assert cell.locator(".cell-reason").all_inner_texts()[1].startswith("Fail: [6] gives up")


def test_two_models_are_compared_and_stay_so_in_the_next_scenario(open_page, three, shot):
    page = open_page(three, "#/s/m01_s001?metric=m01")
    page.wait_for_selector(".answer-cell")
    assert page.locator(".answer-cell").count() == 3
    page.select_option("#answers-first", "model-00")
    page.select_option("#answers-second", "model-02")
    until(page, "document.querySelectorAll('.answer-cell').length === 2")
    assert page.locator(".answer-name .name").all_inner_texts() == ["model-00", "model-02"]
    assert page.locator(".answer-name").evaluate_all("all => all.every(one => one.querySelector('.pass, .fail'))")
    assert page.url.endswith("&of=model-00&of=model-02")
    shot(page, "scenario-pair")
    page.keyboard.press("Escape")
    page.go_back()
    until(page, "document.querySelectorAll('.answer-cell').length === 2")
    page.locator("#scenario h2").focus()
    page.keyboard.press("j")
    until(page, "document.querySelector('#scenario .steps span').textContent === '2 of 2'")
    until(page, "document.querySelectorAll('.answer-cell').length === 2")
    # By keys: x on two cells.
    page.select_option("#answers-first", "")
    until(page, "document.querySelectorAll('.answer-cell').length === 3")
    page.locator(".cell").first.focus()
    page.keyboard.press("x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    until(page, "document.querySelectorAll('.answer-cell').length === 2")
    assert page.locator(".answer-name .name").all_inner_texts() == ["model-00", "model-01"]


@pytest.mark.parametrize("width", [360, 800, 1280, 1600])
def test_the_list_fits_at_every_width(open_page, three, shot, width):
    page = open_page(three, "#/scenarios?metric=m01", width=width, scheme="dark" if width == 800 else "light")
    page.wait_for_selector("#scenarios tbody a")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shot(page, f"scenarios-{width}")
