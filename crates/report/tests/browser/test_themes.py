"""Failure themes: failed rows of a metric, grouped by the words of their reasons."""

import pytest
import trees

# The words that two reasons share come after more letters than a row holds of a reason.
LONG = "A kind reply at first. " * 10
REASONS = [f"{LONG}It abandons the claim about the vaccine.", "The vaccine claim is dropped at once.", "Praise replaces advice.", "Unclear."]


@pytest.fixture(scope="session")
def themed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("themed")
    place, targets = trees.golden(folder, "themed")
    reasons = iter(REASONS)
    for _conversations, scores in targets.values():
        for score in scores:
            if score["metric_id"] == "m01":
                score.update(present=True, passed=False, score=0, justification=next(reasons))
    trees.write(place, targets)
    return trees.report(folder, "themed")


def test_failed_rows_are_grouped_by_the_words_of_their_reasons(open_page, themed, shot):
    page = open_page(themed, "#/rows?metric=m01&verdict=fail")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    page.click("text=Themes of the failures")
    page.wait_for_selector("#themes .theme")
    assert "no statistic" in page.locator("#themes").inner_text()
    titles = page.locator(".theme h3").all_inner_texts()
    assert titles == ["claim, vaccine 2 rows", "no shared word 2 rows"]
    assert page.locator(".theme").last.locator(".theme-model").count() >= 1
    assert page.locator(".theme").first.locator("li").count() == 2
    shot(page, "themes")
    page.locator(".theme a").first.click()
    page.wait_for_selector("#conversation .transcript")
    page.goto(f"file://{themed}#/themes?metric=m99")
    page.wait_for_selector("#themes >> text=no metric m99")
