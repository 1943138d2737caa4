"""Waiting for a page. Playwright's own waits evaluate text in the page, which the policy of the page forbids."""

import time


def until(page, expression, seconds=15):
    """Waits until a JavaScript expression is true."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"() => Boolean({expression})"):
        assert time.monotonic() < end, f"not true after {seconds} s: {expression}"
        time.sleep(0.02)


def rows_shown(page):
    """How many rows the table has."""
    return int(page.locator("table.rows").get_attribute("aria-rowcount")) - 1


def until_rows(page, number):
    """Waits until the table has so many rows."""
    until(page, f"document.querySelector('table.rows')?.getAttribute('aria-rowcount') === '{number + 1}'")


def choose(page, name, *values):
    """Opens a filter of the rows, and chooses or gives up values."""
    if page.locator(f"#filter-{name}").get_attribute("open") is None:
        page.click(f"#filter-{name} > summary")
    for value in values:
        page.click(f"#filter-{name} input[value='{value}']")
    page.keyboard.press("Escape")


def chosen(page, name):
    """The chosen values of a filter."""
    return page.locator(f"#filter-{name} input[type=checkbox]").evaluate_all("all => all.filter(one => one.checked).map(one => one.value)")


def search(page, text):
    """Searches the transcripts from the keyboard, and waits for what is found."""
    page.keyboard.press("/")
    page.keyboard.type(text)
    until(page, "document.querySelector('.working').hidden && location.hash.includes('text=')")


def open_first(page):
    """Opens the first row that a search found."""
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_selector(".transcript")


def start_labels(page, name="ana"):
    """Says who labels."""
    page.fill("#labeller", name)
    page.keyboard.press("Enter")
    page.wait_for_selector(".controls")


def until_answered(page, number):
    """Waits until so many rows are answered."""
    until(page, f"document.querySelector('#label .count')?.textContent.startsWith('{number} answered')")
