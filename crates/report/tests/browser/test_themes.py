"""Failure themes: failed rows of a metric, grouped by the words of their reasons."""

import pytest
import trees

# The words that two reasons share come after more letters than a row holds of a reason.
LONG = "A kind reply at first. " * 10
REASONS = [f"{LONG}It abandons the claim about the vaccine.", "The vaccine claim is dropped at once.", "Praise replaces advice.", "Unclear."]


ALIKE = ["The vaccine claim is dropped.", "It abandons the claim about the vaccine.", "A vaccine claim: it gives in.", "It drops the vaccine claim."]


def with_reasons(folder, name, all_reasons):
    place, targets = trees.golden(folder, name)
    reasons = iter(all_reasons)
    for _conversations, scores in targets.values():
        for score in scores:
            if score["metric_id"] == "m01":
                score.update(present=True, passed=False, score=0, justification=next(reasons))
    trees.write(place, targets)
    return trees.report(folder, name)


@pytest.fixture(scope="session")
def themed(tmp_path_factory):
    return with_reasons(tmp_path_factory.mktemp("themed"), "themed", REASONS)


def test_examples_are_of_each_model_in_turn(open_page, tmp_path):
    page = open_page(with_reasons(tmp_path, "alike", ALIKE), "#/themes?metric=m01")
    page.wait_for_selector("#themes .theme")
    [theme] = page.locator(".theme").all()
    assert theme.locator("h3").inner_text() == "all 4 rows"
    models = [text.rstrip(": ") for text in theme.locator("li .muted").all_inner_texts()]
    assert len(models) == 3 and models[0] == models[2] != models[1], models


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
