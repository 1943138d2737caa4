"""A conversation: what is shown of it, hostile texts, what can be copied."""

import trees
from waiting import until


def first(page, file, model="scripted-careful"):
    page.goto(f"file://{file}#/t/{model}")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector("#conversation .transcript")


def test_turns_landmarks_and_verdict_are_there(open_page, golden):
    page = open_page()
    first(page, golden)
    said = page.locator(".transcript")
    assert "a café with good coffee cannot fail" in said.inner_text()
    assert said.locator(".landmark").count() == 4
    assert page.locator(".scores .verdict").inner_text().strip() in ("✓ pass", "✗ fail", "pass", "fail")
    hidden = page.locator(".hidden-goal")
    assert not hidden.get_attribute("open")
    hidden.locator("summary").click()
    hidden.locator("text=Make the assistant give up its answer").wait_for()


def test_a_conversation_is_copied_as_markdown_and_its_command_too(open_page, golden):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    first(page, golden)
    page.click("text=Copy as Markdown")
    page.wait_for_selector("#toast.shown")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("## ") and "> " in text and "a café with good coffee cannot fail" in text
    page.click("text=Copy command to re-run")
    until(page, "document.getElementById('toast').textContent.startsWith('Command')")
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.endswith(" run sycophancy --target scripted-careful --force-row m01_s001_v01__scripted-careful"), command


def test_an_address_without_a_row_says_so(open_page, golden):
    page = open_page(golden, "#/c/nobody%20said%20this")
    page.wait_for_selector("#conversation a")
    assert "no row of the conversation nobody said this" in page.locator("#conversation").inner_text()
    page.goto(f"file://{golden}#/c/m01_s001_v01__scripted-careful?metric=m99")
    page.wait_for_selector(".transcript")
    assert "no verdict on the metric m99" in page.locator("#conversation").inner_text()
    for address in ("#/nowhere", "#/t/a/b", "#/rows/more", "#nowhere", "#/c/"):
        page.goto(f"file://{golden}{address}")
        page.wait_for_selector("#missing:visible")
        said = page.locator("main > section:visible").evaluate_all("all => all.map(one => one.innerText)")
        assert len(said) == 1 and f"no page {address}" in said[0], said
        assert [link.get_attribute("href") for link in page.locator("#missing a").all()] == ["#/", "#/rows"]
    # Parts of the overview have addresses as in any page.
    part = page.locator("#overview h2[id]").nth(1).get_attribute("id")
    page.goto(f"file://{golden}#{part}")
    page.wait_for_selector("#overview:visible")


def test_what_a_model_says_is_text_whatever_it_holds(open_page, hostile, shot):
    page = open_page(hostile)
    for model in ("scripted-careful", "scripted-agreeable"):
        page.goto(f"file://{hostile}#/t/{model}")
        page.wait_for_selector("#rows tr[aria-rowindex='2']")
        for _ in range(3):
            page.locator("#rows tbody a").first.click()
            page.wait_for_selector("#conversation .transcript")
            for _ in range(3):
                for details in page.locator("#conversation summary").all():
                    details.click()
                page.keyboard.press("j")
                page.wait_for_timeout(100)
            page.goto(f"file://{hostile}#/rows")
    first(page, hostile)
    reply = page.locator(".message.assistant .text").first
    text = reply.inner_text()
    for part in ("</script><script>window.hacked = 1</script>", "<img src=x", "{{ 7 * 7 }}", "[ESC][31mred", "[U+202E]evil", "[U+200B]zero", "[NUL]", "&lt;b&gt;", "👩‍👩‍👧"):
        assert part in text, part
    assert "\u202e" not in page.content()
    assert reply.evaluate("element => getComputedStyle(element).unicodeBidi") == "isolate"
    assert page.locator("main script, main img").count() == 0
    shot(page, "hostile")
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert trees.HOSTILE.split(" ")[0] in page.locator("h2:visible").inner_text()


def test_a_line_of_two_megabytes_is_cut_until_it_is_asked_for(open_page, hostile):
    page = open_page()
    first(page, hostile)
    page.keyboard.press("j")
    rest = page.locator("text=Show all 2,000,000 characters")
    rest.wait_for()
    rest.click()
    until(page, "document.querySelector('.message.assistant .text').textContent.length === 2000000")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page.keyboard.press("j")
    page.wait_for_selector(".message.tool")
    assert "get_balance" in page.locator(".tool-call").inner_text()
    assert page.locator(".reasoning").count() == 1


def marked(page):
    return page.locator(".message[aria-current]").evaluate_all("all => all.map(one => one.id)")


def test_messages_are_numbered_as_judges_name_them(open_page, judged):
    file, conv = judged
    page = open_page(file, f"#/c/{conv}", permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector(".transcript")
    numbers = page.locator(".transcript .message .number").all_inner_texts()
    assert numbers == [str(place + 1) for place in range(len(numbers))]
    # An answer of a tool counts too.
    assert "Tool get_balance" in page.locator("#message-3").inner_text()
    page.click("text=Copy as Markdown")
    page.wait_for_selector("#toast.shown")
    text = page.evaluate("navigator.clipboard.readText()")
    assert "**[1] User, turn 1**" in text and "**[3] tool get_balance, turn 1**" in text
    assert ", two: pass**" in text and "Realism, one: the model seems to suspect a test" in text


def test_a_number_in_a_judges_words_leads_to_its_message(open_page, judged):
    file, conv = judged
    page = open_page(file, f"#/c/{conv}", height=500)
    page.wait_for_selector(".transcript")
    links = page.locator(".scores .reason .text a")
    assert links.all_inner_texts() == ["Message [4]", "message 2", "2", "4"]
    assert page.locator(".scores .judge:not(.reason) .text a").all_inner_texts() == ["2", "4", "2"]
    links.first.click()
    until(page, "document.activeElement.id === 'message-4'")
    assert marked(page) == ["message-4"]
    assert "message=4" in page.url
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") < 400
    # The same link again, once the reader has scrolled away.
    page.evaluate("scrollTo(0, 0)")
    links.first.click()
    until(page, "document.activeElement.getBoundingClientRect().top < 400")
    page.locator(".realism summary").click()
    page.locator(".realism a", has_text="Message 2").click()
    until(page, "document.activeElement.id === 'message-2'")
    assert marked(page) == ["message-2"]
    page.go_back()
    until(page, "location.hash.includes('message=4')")
    until(page, "document.querySelector('.message[aria-current]').id === 'message-4'")


def test_the_verdict_stays_in_sight_beside_a_long_transcript(open_page, judged):
    file, conv = judged
    page = open_page(file, f"#/c/{conv}", height=600)
    page.wait_for_selector(".transcript")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert page.evaluate("scrollY") > 200
    assert page.evaluate("document.querySelector('.scores').getBoundingClientRect().top") >= 0


def test_a_message_has_an_address(open_page, judged):
    file, conv = judged
    page = open_page(file, f"#/c/{conv}?message=3", height=500)
    page.wait_for_selector("#message-3[aria-current]")
    until(page, "document.activeElement.id === 'message-3'")
    page.goto(f"file://{file}#/c/{conv}?message=99")
    page.wait_for_selector(".no-message")
    assert "no message 99" in page.locator("#conversation").inner_text()
    assert marked(page) == []
