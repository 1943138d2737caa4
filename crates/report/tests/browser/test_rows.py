"""The table of rows: filters, search, sorting, keys, and the back button."""

import json
import re

from waiting import rows_shown as shown
from waiting import until, until_rows


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
    page.goto(f"file://{golden}#/t/nobody")
    until_rows(page, 0)
    assert page.input_value("#filter-model") == "nobody"


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
    page.keyboard.press("/")
    page.keyboard.type("GOOD COFFEE")
    until(page, "document.querySelector('.working').hidden && location.hash.includes('text=')")
    assert 0 < shown(page) < 16
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_selector(".transcript")
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
