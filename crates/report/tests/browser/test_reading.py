"""Reading a conversation: Markdown of models as elements, reasons and quotes once, notes in the margin, hits of a search."""

import pytest
from waiting import until

CONV = "#/c/m01_s001_v01__scripted-careful"


def opened(open_page, file, route=CONV, **options):
    page = open_page(file, route, **options)
    page.wait_for_selector(".transcript")
    return page


def fnv1a32(text):
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def test_markdown_of_a_model_is_made_of_elements(open_page, reading, shot):
    page = opened(open_page, reading)
    said = page.locator("#message-2 .text")
    assert said.locator("strong").all_inner_texts() == ["real strengths", "sound", "Fixed costs"]
    assert said.locator("em").all_inner_texts() == ["mostly", "break"]
    assert said.locator("code").all_inner_texts() == ["60%", "if a < b: # **not bold**"]
    assert said.locator("ol > li").count() == 2 and said.locator("ol ul > li").count() == 2
    assert said.locator("th").all_inner_texts() == ["your plan", "usual"]
    assert said.locator("tbody td").all_inner_texts() == ["reserve", "2 months", "6 to 12"]
    assert said.locator("blockquote").inner_text() == "Demand is certain."
    assert said.locator(".heading-1").inner_text() == "Three things"
    # A model's heading is none of the page, its link leads nowhere, and its markup is text.
    assert said.locator("h1, h2, h3, h4, h5, h6, a, img, b").count() == 0
    text = said.inner_text()
    for part in ("the guide (https://example.org/a_(b)", "x (javascript:alert(1))", "<b>no</b> markup", "2*3*4", "snake_case_name", "Nutzer*innen", "\\( x \\)", "3 * 4", "a lone ** stay."):
        assert part in text, part
    shot(page, "markdown")


def test_texts_made_to_take_long_do_not(open_page, reading):
    page = opened(open_page, reading)
    took = page.evaluate("""async () => {
        const start = performance.now();
        location.hash = '#/c/m01_s002_v01__scripted-careful';
        while (document.querySelectorAll('.transcript .message').length < 20) await new Promise((resolve) => setTimeout(resolve, 20));
        return performance.now() - start;
    }""")
    assert took < 4_000
    assert page.locator(".transcript .message.assistant .text").count() == 10


def test_reasons_stand_once_the_dissent_first(open_page, reading):
    page = opened(open_page, reading)
    panel = page.locator(".scores")
    assert panel.locator("h3.verdict").first.inner_text().split("\n")[0].strip() in ("✗ fail", "fail")
    assert "2 of 3 judges" in panel.locator("h3.verdict").first.inner_text()
    assert [" ".join(title.split()) for title in panel.locator(".judge h4").all_inner_texts()] == ["aster dissents: pass", "birch, cedar: fail"]
    text = panel.inner_text()
    assert text.count("gives up the earlier answer") == 1
    assert "cedar adds: It then states the claim as fact." in " ".join(text.split())
    assert "fails if after the user pushes back" in text


def test_a_quote_has_a_letter_in_the_panel_and_in_the_transcript(open_page, reading):
    page = opened(open_page, reading)
    quotes = [" ".join(one.split()) for one in page.locator(".scores .quotes li").all_inner_texts()]
    assert quotes == ["a [4] My answer stays the same", "[2] nobody said this (not found in the message)", "b [6] I take that back both", "c [6] really cannot fail cedar"]
    assert page.locator(".transcript mark").evaluate_all("all => all.map(one => [one.textContent, one.className, one.dataset.letter ?? ''])") == [
        ["My answer stays the same", "dissent", "a"],
        ["I take that back", "", "b"],
        ["really", "", ""],
        [" cannot fail", "", "c"],
    ]
    page.locator(".scores .quote", has_text="I take that back").click()
    assert page.evaluate("document.activeElement.textContent") == "I take that back"


@pytest.mark.parametrize("width", [360, 800, 1280, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_notes_and_verdict_have_their_place_at_every_width(open_page, reading, shot, width, scheme):
    page = opened(open_page, reading, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    box = {name: page.locator(place).first.bounding_box() for name, place in (("note", ".transcript .landmark"), ("message", "#message-1"), ("panel", ".scores"))}
    assert box["message"]["width"] <= 640
    if width > 1120:
        assert box["note"]["x"] + box["note"]["width"] < box["message"]["x"] and abs(box["note"]["y"] - box["message"]["y"]) < 4
    else:
        assert box["note"]["y"] + box["note"]["height"] <= box["message"]["y"] + 1
    if width > 760:
        assert box["panel"]["x"] > box["message"]["x"] + box["message"]["width"]
    else:
        assert box["panel"]["y"] + box["panel"]["height"] < box["message"]["y"]
    shot(page, f"conversation-{width}-{scheme}")


def test_the_link_is_copied(open_page, reading):
    page = opened(open_page, reading, permissions=["clipboard-read", "clipboard-write"])
    page.click("text=Copy link")
    page.wait_for_selector("#toast.shown")
    assert page.evaluate("navigator.clipboard.readText()").endswith(CONV)


def test_hits_are_marked_and_walked_through(open_page, reading):
    page = opened(open_page, reading, f"{CONV}?find=STAYS%20the", height=500)
    assert page.evaluate("CSS.highlights.get('hit').size") == 2
    until(page, "document.querySelector('.hits').textContent === 'hit 1 of 2'")
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("n")
    page.keyboard.press("n")
    assert page.locator(".hits").inner_text() == "hit 2 of 2"
    now = "[...CSS.highlights.get('hit-now')][0]"
    assert page.evaluate(f"{now}.toString()") == "stays the"
    assert 0 < page.evaluate(f"{now}.getBoundingClientRect().top") < 500
    page.keyboard.press("Shift+N")
    assert page.locator(".hits").inner_text() == "hit 1 of 2"
    page.goto(f"file://{reading}{CONV}")
    until(page, "CSS.highlights.get('hit').size === 0")


def test_a_model_has_its_mark(open_page, reading):
    page = opened(open_page, reading)
    hash_of = fnv1a32("scripted-careful")
    mark = page.locator(".conversation-head .model-mark")
    assert mark.get_attribute("class") == f"model-mark k{hash_of % 8}"
    shapes = {0: "circle", 1: "rect", 2: 'path d="M0-6', 3: 'path d="M0-5.5'}
    assert f"<{shapes[(hash_of >> 8) % 4]}" in mark.inner_html()
