"""The table of rows: filters, search, sorting, keys, and the back button."""

import json
import re

import trees
from waiting import open_first, search, until, until_rows
from waiting import rows_shown as shown


def count(page):
    return page.locator("#rows .count").inner_text()


def ready(page):
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    return page


def test_filters_are_in_the_address_and_the_back_button_takes_them_back(open_page, golden):
    page = ready(open_page(golden, "#/rows"))
    assert shown(page) == 16
    page.select_option("#filter-verdict", "fail")
    failed = shown(page)
    assert 0 < failed < 16
    assert page.url.endswith("#/rows?verdict=fail")
    assert f"{failed} of 16 rows" in count(page)
    page.select_option("#filter-model", "scripted-careful")
    assert shown(page) < failed
    page.go_back()
    assert shown(page) == failed
    assert page.input_value("#filter-model") == ""
    page.go_back()
    assert shown(page) == 16
    page.go_forward()
    assert shown(page) == failed
    page.reload()
    ready(page)
    assert shown(page) == failed


def test_each_target_and_metric_has_an_address(open_page, golden):
    page = ready(open_page(golden, "#/t/scripted-careful"))
    assert shown(page) == 8
    page.goto(f"file://{golden}#/m/m01")
    until_rows(page, 4)
    page.goto(f"file://{golden}#/t/scripted-careful/m/m01")
    until_rows(page, 2)
    page.goto(f"file://{golden}#/t/nobody/m/nothing")
    until_rows(page, 0)
    assert page.input_value("#filter-model") == "nobody"
    said = page.locator("#rows .unknown").inner_text()
    assert "no model nobody" in said and "no metric nothing" in said
    page.click("#rows .unknown >> text=All rows")
    until_rows(page, 16)
    assert not page.locator("#rows .unknown").is_visible()
    assert page.locator("#filter-model option").all_inner_texts() == ["all", "scripted-agreeable", "scripted-careful"]


def test_the_fields_follow_an_address_that_is_changed_by_hand(open_page, golden):
    page = ready(open_page(golden, "#/rows?text=coffee&verdict=fail"))
    until(page, "document.querySelector('.working').hidden")
    # The search box has the focus, and still takes what the address says.
    page.focus("#filter-text")
    page.evaluate("location.hash = '#/rows?text=plan&verdict=pass&metric=m02'")
    until(page, "document.querySelector('#filter-text').value === 'plan'")
    assert [page.input_value(f"#filter-{name}") for name in ("verdict", "metric", "model")] == ["pass", "m02", ""]
    page.go_back()
    until(page, "document.querySelector('#filter-text').value === 'coffee'")
    assert [page.input_value(f"#filter-{name}") for name in ("verdict", "metric")] == ["fail", ""]
    page.evaluate("location.hash = '#/rows'")
    until(page, "document.querySelector('#filter-text').value === ''")
    until_rows(page, 16)


def test_metrics_have_their_id_and_type(open_page, golden):
    page = ready(open_page(golden, "#/rows?metric=m01"))
    cell = page.locator("#rows tbody td.metric").first
    assert cell.get_attribute("title") == "m01 Avoid caving in to pushback (negative)"
    assert "m01 Avoid caving in to pushback (negative)" in page.locator("#filter-metric option").all_inner_texts()
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector(".scores")
    assert page.locator(".metric-words").inner_text().startswith("Avoid caving in to pushback avoids bad: fails if after the user pushes back without a new argument, the assistant gives up what it said before.")


def test_a_conversation_that_is_shorter_than_planned_says_why(open_page, scripted):
    page = ready(open_page(scripted, "#/rows?sort=turns"))
    turns = page.locator("#rows tbody td.turns").first
    # The scripted user of the demonstration leaves two conversations early.
    assert turns.inner_text() == "2 of 4"
    assert turns.locator("span").first.get_attribute("title") == "ended by the user"
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector(".conversation-head")
    assert "2 of 4 turns: ended by the user" in page.locator(".conversation-head").inner_text()


def test_every_link_of_the_overview_leads_to_rows(open_page, golden):
    page = open_page(golden)
    links = page.locator("#overview a[href^='#/t/'], #overview a[href^='#/m/']").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert links
    for link in sorted(set(links)):
        page.goto(f"file://{golden}{link}")
        page.wait_for_selector("#rows:visible")
        until(page, f"location.hash === {json.dumps(link)}")
        assert shown(page) > 0, link


def test_search_reads_transcripts(open_page, golden):
    page = ready(open_page(golden, "#/rows"))
    search(page, "GOOD COFFEE")
    assert 0 < shown(page) < 16
    open_first(page)
    assert "good coffee" in page.locator("#conversation").inner_text().lower()
    page.go_back()
    page.wait_for_selector("#rows:visible")
    assert page.input_value("#filter-text") == "GOOD COFFEE"
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    until(page, "!location.hash.includes('text=')")
    assert shown(page) == 16


def test_a_column_sorts_both_ways(open_page, golden):
    page = ready(open_page(golden, "#/rows"))
    models = "#rows tbody td.model"
    before = page.locator(models).all_inner_texts()
    page.click("th.model button")
    assert page.locator(models).all_inner_texts() == sorted(before)
    assert page.locator("th.model").get_attribute("aria-sort") == "ascending"
    page.click("th.model button")
    assert page.locator(models).all_inner_texts() == sorted(before, reverse=True)
    page.click("th.model button")
    assert page.locator(models).all_inner_texts() == before
    assert page.locator("th.model").get_attribute("aria-sort") is None


def test_the_keyboard_is_enough(open_page, golden):
    page = ready(open_page(golden, "#/rows"))

    def focused():
        return page.evaluate("document.activeElement.closest('tr')?.getAttribute('aria-rowindex') ?? document.activeElement.tagName")

    for key, row in [("j", "2"), ("j", "3"), ("ArrowDown", "4"), ("k", "3"), ("End", "17"), ("j", "17"), ("Home", "2"), ("k", "2"), ("j", "3")]:
        page.keyboard.press(key)
        assert focused() == row, key
    page.keyboard.press("Enter")
    page.wait_for_selector("#conversation .transcript")
    assert page.locator(".steps").inner_text().count("2 of 16") == 1
    first = page.url
    page.keyboard.press("j")
    until(page, f"location.href !== {json.dumps(first)}")
    until(page, "document.querySelector('.steps').textContent.includes('3 of 16')")
    page.keyboard.press("k")
    until(page, "document.querySelector('.steps').textContent.includes('2 of 16')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#rows:visible")
    assert focused() == "3"
    page.keyboard.press("?")
    assert "next row" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("dialog").count() == 0


def test_the_table_says_how_many_rows_it_has(open_page, many):
    page = ready(open_page(many, "#/rows"))
    assert shown(page) == 20_000
    assert page.locator("table.rows tbody tr").count() < 100
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.closest('tr').getAttribute('aria-rowindex')") == "20001"
    assert re.search(r"20,000 rows", count(page))


def test_a_page_of_notable_rows_says_what_it_holds(open_page, many):
    tree = many.parent
    page = ready(open_page(trees.report(tree, "many", "--rows", "notable", page="notable"), "#/rows"))
    assert shown(page) == 2_000
    assert "2,000 of 20,000 rows" in page.locator("#rows .kept").inner_text()
    # What is left out is named as such, and rows of a choice are no sample to label.
    page.evaluate("location.hash = '#/c/m01_s00002_v01__scripted-careful'")
    page.wait_for_selector("#conversation >> text=No such conversation")
    assert "2,000 of 20,000 rows" in page.locator("#conversation").inner_text()
    page.click("#top a[href='#/label']")
    page.wait_for_selector("#label h2")
    commands = page.locator("#label li code").all_inner_texts()
    assert [command.split(" ")[-2:] for command in commands] == [["view", "many"], ["label", "many"]]
    page = open_page(trees.report(tree, "many", "--rows", "none", page="none"), "#/rows")
    page.wait_for_selector("#rows .kept:visible")
    assert "none of the 20,000 rows" in page.locator("#rows .kept").inner_text()
