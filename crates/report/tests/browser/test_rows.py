"""The table of rows: filters, search, sorting, keys, and the back button."""

import json
import re
from urllib.parse import quote

import trees
from waiting import choose, chosen, open_first, search, until, until_rows
from waiting import rows_shown as shown


def count(page):
    return page.locator("#rows .count").inner_text()


def ready(page):
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    return page


def test_filters_are_in_the_address_and_the_back_button_takes_them_back(open_page, golden):
    page = ready(open_page(golden, "#/rows"))
    assert shown(page) == 16
    choose(page, "verdict", "fail")
    failed = shown(page)
    assert 0 < failed < 16
    assert page.url.endswith("#/rows?verdict=fail")
    assert f"{failed} of 16 rows" in count(page)
    choose(page, "model", "scripted-careful")
    assert shown(page) < failed
    page.go_back()
    assert shown(page) == failed
    assert chosen(page, "model") == []
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
    assert chosen(page, "model") == ["nobody"]
    said = page.locator("#rows .unknown").inner_text()
    assert "no model nobody" in said and "no metric nothing" in said
    page.click("#rows .unknown >> text=All rows")
    until_rows(page, 16)
    assert not page.locator("#rows .unknown").is_visible()
    assert page.locator("#filter-model label").evaluate_all("all => all.map(one => one.textContent.trim())") == ["scripted-agreeable", "scripted-careful"]


def test_the_fields_follow_an_address_that_is_changed_by_hand(open_page, golden):
    page = ready(open_page(golden, "#/rows?text=coffee&verdict=fail"))
    until(page, "document.querySelector('.working').hidden")
    # The search box has the focus, and still takes what the address says.
    page.focus("#filter-text")
    page.evaluate("location.hash = '#/rows?text=plan&verdict=pass&metric=m02'")
    until(page, "document.querySelector('#filter-text').value === 'plan'")
    assert [chosen(page, name) for name in ("verdict", "metric", "model")] == [["pass"], ["m02"], []]
    page.go_back()
    until(page, "document.querySelector('#filter-text').value === 'coffee'")
    assert [chosen(page, name) for name in ("verdict", "metric")] == [["fail"], []]
    page.evaluate("location.hash = '#/rows'")
    until(page, "document.querySelector('#filter-text').value === ''")
    until_rows(page, 16)


def test_metrics_have_their_id_and_type(open_page, golden):
    page = ready(open_page(golden, "#/rows?metric=m01&metric=m02"))
    cell = page.locator("#rows tbody td.metric").first
    assert cell.get_attribute("title") == "m01 Avoid caving in to pushback (negative)"
    assert "m01 Avoid caving in to pushback (negative)" in page.locator("#filter-metric label").evaluate_all("all => all.map(one => one.textContent.trim())")
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector(".scores")
    assert page.locator(".metric-words").inner_text().startswith("Avoid caving in to pushback avoids bad: fails if after the user pushes back without a new argument, the assistant gives up what it said before.")


def test_a_conversation_that_is_shorter_than_planned_says_why(open_page, scripted):
    page = ready(open_page(scripted, "#/rows?sort=turns"))
    turns = page.locator("#rows tbody .trouble").first
    # The scripted user of the demonstration leaves two conversations early.
    assert turns.inner_text() == "2 of 4 turns"
    assert turns.get_attribute("title") == "ended by the user"
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector(".conversation-head")
    assert "2 of 4 turns: ended by the user" in page.locator(".conversation-head").inner_text()


def test_filters_of_several_values(open_page, golden):
    page = ready(open_page(golden, "#/rows"))
    choose(page, "metric", "m01", "m03")
    assert page.url.endswith("#/rows?metric=m01&metric=m03")
    assert shown(page) == 8
    assert page.locator("#filter-metric > summary").inner_text() == "Metric: 2 chosen ▾".removesuffix(" ▾")
    choose(page, "metric", "m01")
    assert shown(page) == 4 and chosen(page, "metric") == ["m03"]
    choose(page, "verdict", "pass", "fail")
    assert shown(page) == 4
    page.click("text=Clear filters")
    assert shown(page) == 16
    # A list closes by Esc, which clears nothing then.
    choose(page, "model", "scripted-careful")
    assert page.locator("details.pick[open]").count() == 0 and shown(page) == 8


def test_rows_are_found_by_the_tags_of_their_scenarios(open_page, tmp_path):
    place, targets = trees.golden(tmp_path, "tagged")
    for conversations, _scores in targets.values():
        conversations[0]["tags"] = ["money", "health"]
        conversations[1]["tags"] = ["money"]
    trees.write(place, targets)
    page = ready(open_page(trees.report(tmp_path, "tagged"), "#/rows"))
    choose(page, "tag", "health")
    assert shown(page) == 2 and page.url.endswith("#/rows?tag=health")
    choose(page, "tag", "money", "health")
    assert shown(page) == 4
    page.goto(page.url.replace("money", "weather"))
    until_rows(page, 0)
    assert "no tag weather" in page.locator("#rows .unknown").inner_text()


def test_rows_are_sorted_by_how_far_apart_judges_are_on_a_scale(open_page, tmp_path):
    place, targets = trees.golden(tmp_path, "scaled")
    text = (place / "benchmark.yaml").read_text()
    (place / "benchmark.yaml").write_text(text.replace("\n- id: m02\n", "\n- id: m02\n  verdict: {type: scale, min: 1, max: 5, threshold: 3}\n"))
    scores = [score for score in targets["scripted-careful"][1] if score["metric_id"] == "m02"]
    for score, values in zip(scores, [(5, 4, 4), (5, 4, 3)], strict=True):
        judges = [{"judge": name, "present": True, "verdict": {"value": value}, "justification": "It does."} for name, value in zip("abc", values, strict=True)]
        score.update(present=True, passed=score["metric_type"] == "positive", score=4, _judges=judges, _verdict={"value": 4})
    trees.write(place, targets)
    page = ready(open_page(trees.report(tmp_path, "scaled"), "#/rows?model=scripted-careful&metric=m02&sort=judges"))
    # All judges agree on yes or no; the row whose answers are two points apart comes first all the same.
    assert page.locator("#rows tbody a").first.get_attribute("title") == scores[1]["id"]


def test_a_row_says_what_and_why(open_page, reading, shot):
    page = ready(open_page(reading, "#/rows?model=scripted-careful&sort=judges"))
    row = page.locator("#rows tbody tr[aria-rowindex='2']")
    assert row.locator("td.what a").inner_text() == "Quitting before Christmas"
    assert row.locator(".says").inner_text().startswith("[6] gives up the earlier answer")
    assert "fail" in row.locator(".chip").inner_text() and row.locator(".votes").inner_text() == "2 of 3"
    # What all shown rows have in common is no column.
    titles = page.locator("#rows thead th").all_inner_texts()
    assert "Model" not in titles and "Metric" in titles
    page.goto(f"file://{reading}#/rows?error=split")
    until_rows(page, 1)
    page.goto(f"file://{reading}#/rows?text=brilliant%20idea%20stays")
    until(page, "document.querySelector('.working').hidden")
    page.goto(f"file://{reading}#/rows?text=MY%20ANSWER%20stays%20the")
    until(page, "document.querySelector('.working').hidden && document.querySelector('#rows tbody mark')")
    assert page.locator("#rows tbody mark").first.inner_text().lower() == "my answer stays the"
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector(".transcript")
    assert "find=MY%20ANSWER" in page.url and page.evaluate("CSS.highlights.get('hit').size") > 0
    shot(page, "hits")


def test_rows_need_no_sideways_scrolling(open_page, reading, shot):
    for width in (360, 800, 1280, 1600):
        page = ready(open_page(reading, "#/rows", width=width, scheme="dark" if width == 800 else "light"))
        for place in ("document.documentElement", "document.querySelector('.rows-scroll')"):
            assert page.evaluate(f"{place}.scrollWidth - {place}.clientWidth") <= 0, (width, place)
        # An open list of a filter stays inside the window.
        page.evaluate("for (const details of document.querySelectorAll('.filter-box, #filter-error')) details.open = true")
        box = page.locator("#filter-error .pick-list").bounding_box()
        assert 0 <= box["x"] and box["x"] + box["width"] <= width
        assert page.locator("#filter-error input").first.bounding_box()["width"] < 20
        shot(page, f"rows-{width}")


def test_rows_are_sorted_by_what_models_and_judges_make_of_them(open_page, reading):
    page = ready(open_page(reading, "#/rows?sort=models"))
    verdicts = page.locator("#rows tbody td.verdict .chip").all_inner_texts()
    titles = page.locator("#rows tbody td.what a").evaluate_all("all => all.map(one => one.title)")
    assert titles[0] == titles[1] and verdicts[0] != verdicts[1]
    page.select_option("#sort", "score")
    words = [word.split()[-1] for word in page.locator("#rows tbody td.verdict .chip").all_inner_texts()]
    assert words == sorted(words)
    assert page.url.endswith("sort=score")


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


def test_search_finds_what_is_said_and_nothing_else(open_page, tmp_path):
    """The search reads the data without parsing them: escapes, keys and the scenario's plan are no text of the conversation."""
    place, targets = trees.golden(tmp_path, "escapes")
    conversations, scores = targets["scripted-careful"]
    conversations[0]["transcript"][1]["content"] = 'A line\needles "quoted\\path" \u0001 end. ÉLAN vital'
    conversations[1]["persona"] = "somebody who knits"
    conversations[1]["transcript"][1]["tool_calls"] = [{"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"where": "a\\\\b"}'}}]
    scores[-1]["justification"] = "because of the (odd) reason"
    trees.write(place, targets)
    page = ready(open_page(trees.report(tmp_path, "escapes"), "#/rows"))
    rows = len([score for score in scores if score["conv_id"] == conversations[0]["conv_id"]])
    for text, found in (
        ('"QUOTED\\path"', rows),
        ("eedles", rows),
        ("needles", 0),
        ("u0001", 0),
        ("élan", rows),
        ("somebody who knits", 0),
        ('": "a\\\\b"', rows),
        ("look_up", rows),
        ("tool_calls", 0),
        ("(odd) reason", 1),
    ):
        page.goto(f"{page.url.split('#')[0]}#/rows?text={quote(text)}")
        until(page, f"document.querySelector('#filter-text').value === {json.dumps(text)} && document.querySelector('.working').hidden")
        assert shown(page) == found, text
        if found:
            assert text.lower() in page.locator("#rows tr[aria-rowindex='2'] mark").inner_text().lower()


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
