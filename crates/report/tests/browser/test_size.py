"""20,000 conversations of 10 kB: opened, scrolled and searched at ease."""

import time

# Opening takes 0.7 s on a quiet machine; what is promised is 2 s.
OPENED_WITHIN = 2.0


def test_twenty_thousand_conversations_open_within_two_seconds(open_page, many, shot):
    page = open_page()
    best = 9e9
    for _ in range(3):
        began = time.monotonic()
        page.goto(f"file://{many}#/rows")
        page.wait_for_selector("#rows tr[aria-rowindex='2']")
        best = min(best, time.monotonic() - began)
        page.goto("about:blank")
    print(f"opened in {best:.2f} s, {many.stat().st_size / 1e6:.1f} MB")
    assert best < OPENED_WITHIN
    page.goto(f"file://{many}#/rows")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    shot(page, "many")


def test_it_scrolls_at_ease(open_page, many):
    page = open_page(many, "#/rows")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    scrolled = """async () => {
          const box = document.querySelector(".rows-scroll");
          const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
          const times = [];
          box.scrollTo(0, 0);
          await frame();
          for (let step = 0; step < 100; step++) {
            const began = performance.now();
            box.scrollBy(0, step < 50 ? 300 : 11000);
            await frame();
            await frame();
            times.push(performance.now() - began);
            if (!document.querySelector("#rows tr[aria-rowindex]")) throw new Error("no rows");
          }
          return times.sort((a, b) => a - b)[90];
        }"""
    # Another test runs beside it: the best of three.
    slowest = min(page.evaluate(scrolled) for _ in range(3))
    print(f"nine of ten steps within {slowest:.0f} ms")
    assert slowest < 200


def test_a_search_reads_all_of_them_and_can_be_stopped(open_page, many):
    page = open_page(many, "#/rows")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    page.fill("#filter-text", "needle in the haystack")
    page.wait_for_selector(".working:visible")
    page.click(".working button")
    assert "stopped" in page.locator("#rows .count").inner_text()
    page.fill("#filter-text", "a needle in the haystack")
    page.wait_for_selector(".working:visible")
    page.wait_for_selector(".working", state="hidden", timeout=60_000)
    assert page.locator("#rows .count").inner_text().startswith("2 of 20,000 rows")
