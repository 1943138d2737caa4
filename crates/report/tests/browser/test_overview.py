"""The overview: the answer is in the first screen, the matrix is one tab stop, and the page holds at many models."""

import pytest


def test_the_first_screen_answers(open_page, golden):
    page = open_page(golden)
    page.wait_for_selector("html.js")
    for part in [".headline", ".first .frow:not(.head)", ".trust"]:
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] < 900, part
    rates = page.locator(".first .frow:not(.head) .frate b").all_inner_texts()
    numbers = [int(rate.strip("<>%")) for rate in rates]
    assert numbers == sorted(numbers, reverse=True), rates


def test_each_part_of_the_line_of_trust_leads_somewhere(open_page, golden):
    page = open_page(golden)
    page.wait_for_selector("html.js")
    for link in page.locator(".trust a").evaluate_all("all => all.map(one => one.getAttribute('href'))"):
        page.goto(f"file://{golden}{link}")
        page.wait_for_selector("html.js")
        assert not page.locator("#missing").is_visible(), link


def test_the_matrix_is_one_tab_stop_with_arrow_keys_inside(open_page, golden):
    page = open_page(golden)
    page.wait_for_selector("html.js")
    assert page.locator(".mx td a[tabindex='0']").count() == page.locator(".mx").count() == 1
    first = page.locator(".mx td a[tabindex='0']")
    first.focus()
    begin = first.get_attribute("href")
    page.keyboard.press("ArrowDown")
    below = page.evaluate("document.activeElement.getAttribute('href')")
    assert below != begin
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.getAttribute('href')") == begin
    assert page.locator(".mx td a[tabindex='0']").count() == 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#rows:visible")


def test_the_overview_has_few_tab_stops_and_a_way_past_the_navigation(open_page, golden):
    page = open_page(golden)
    page.wait_for_selector("html.js")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    stops = page.evaluate("""() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
        .filter((one) => one.offsetParent !== null && one.tabIndex >= 0).length""")
    assert stops < 100, stops


def test_many_models_and_metrics_fold(open_page, fleet):
    page = open_page(fleet)
    page.wait_for_selector("html.js")
    assert "highest rate" in page.locator(".headline").inner_text()
    assert "points above" not in page.locator("#overview").inner_text()
    assert page.locator(".mx i").count() == 0
    shown = lambda: page.locator(".mx thead th:visible").count()
    before = shown()
    assert before < 12
    # A model is added by its name, or by a part of it, and folded again.
    field = page.get_by_role("combobox", name="Add a model")
    field.fill("model-13")
    assert shown() == before + 1
    assert "model-13" in page.locator(".mx thead th:visible").last.inner_text()
    field.fill("12")
    field.press("Enter")
    assert shown() == before + 2
    page.get_by_role("button", name="Fold model-13").click()
    page.get_by_role("button", name="Fold model-12").click()
    assert shown() == before
    page.get_by_role("button", name="Show all 14 models").click()
    assert shown() == 16
    page.locator("details.more summary").click()
    assert page.locator(".first .frow:visible").count() == 15
    page.get_by_role("searchbox", name="Filter metrics").fill("no such metric")
    assert page.locator(".mx tbody tr:not(.all):visible").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1280, 1600])
def test_the_overview_of_many_models_fits_its_window(open_page, fleet, shot, width, scheme):
    page = open_page(fleet, width=width, scheme=scheme)
    page.wait_for_selector("html.js")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shot(page, f"overview-many-{width}-{scheme}")


def test_a_telephone_shows_what_each_comparison_says(open_page, golden):
    page = open_page(golden, width=360)
    page.wait_for_selector("html.js")
    page.locator("#overview details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    ends = page.locator("#overview .differences td.words").evaluate_all("all => all.map(one => one.getBoundingClientRect()).filter(box => box.width).map(box => box.right)")
    assert ends
    assert max(ends) <= 360


def test_a_model_has_the_same_mark_in_every_report(open_page, golden, scripted):
    marks = []
    for file in [golden, scripted]:
        page = open_page(file)
        page.wait_for_selector("html.js")
        rows = page.locator(".first .frow:not(.head)")
        of = {}
        for at in range(rows.count()):
            row = rows.nth(at)
            of[row.locator(".mname").inner_text()] = (row.get_attribute("class"), row.locator(".key path").get_attribute("d"))
        marks.append(of)
    both = marks[0].keys() & marks[1].keys()
    assert both
    for name in both:
        assert marks[0][name] == marks[1][name], name
