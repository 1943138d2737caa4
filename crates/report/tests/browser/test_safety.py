"""Safety evaluations: both modes and several targets in one report, attempts in order, and the rules of a gate."""

import pytest
import trees

RULES = """rules:
- {scope: seed, require: upper <= 0.05}
- {scope: seed, group: each-group, require: upper <= 0.9}
"""


@pytest.fixture(scope="session")
def safety(tmp_path_factory):
    folder = tmp_path_factory.mktemp("safety")
    files = []
    for mode in ("single", "multi"):
        trees.probity(folder, "safety", f"{mode}-turn", "--quiet", "--max-cases", "24", "--output-file", f"{mode}.json", failing=True)
        files += [f"{mode}_scripted-{kind}.json" for kind in ("agreeable", "careful")]
    (folder / "gate.yaml").write_text(RULES)
    trees.probity(folder, "report", "--safety", *files, "--gate", "gate.yaml", "--out", "safety.html")
    return folder / "safety.html"


def test_each_mode_has_its_rates_and_its_rules(open_page, safety):
    page = open_page(safety)
    assert page.title() == "Safety evaluations (4 files) · Probity"
    headings = page.locator("#overview h2").all_inner_texts()
    for mode in ("Safety, conversations", "Safety, single prompts"):
        assert [heading for heading in headings if heading == f"{mode}: groups"], headings
        assert [heading for heading in headings if heading == f"{mode}: gate"], headings
    assert "upper <= 0.05" in page.locator("#overview").inner_text()


def test_rows_are_cases_in_groups(open_page, safety):
    page = open_page(safety, "#/rows")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    titles = [title.strip() for title in page.locator("#rows thead th").all_inner_texts()]
    assert "Case" in titles and "Group" in titles, titles
    assert not {"Scenario", "Metric"} & set(titles), titles
    assert "Group" in page.locator(".filter-metric").inner_text()


def test_names_and_filters_of_rows_say_something(open_page, safety):
    page = open_page(safety, "#/rows")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    cell = page.locator("#rows td.model").first
    assert cell.inner_text().split() == ["scripted-agreeable", "safety-single-turn"], cell.inner_text()
    # The name is not cut off.
    assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")
    # Safety files have no tags and no labels, so there is nothing to choose.
    filters = {name.split("-")[1] for name in page.locator("#rows details.pick:visible").evaluate_all("all => all.map((one) => one.id)")}
    assert {"model", "metric", "verdict"} <= filters and not {"tag", "label"} & filters, filters


def test_a_name_of_the_overview_leads_to_its_own_rows(open_page, safety):
    page = open_page(safety)
    for mode in ("single", "multi"):
        target = f"safety-{mode}-turn/scripted-careful"
        link = page.locator(f"#overview a[href='#/t/{target.replace('/', '%2F')}']").first
        link.click()
        page.wait_for_selector("#rows tr[aria-rowindex='2']")
        assert page.locator("#filter-model input:checked").get_attribute("value") == target
        page.go_back()


def test_an_attempt_is_opened(open_page, safety):
    page = open_page(safety, "#/rows?model=safety-single-turn%2Fscripted-agreeable")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector("#conversation .transcript")
    # A case is no scenario of a benchmark: no command repeats one of them.
    assert page.locator("text=Copy command to re-run").count() == 0
