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
