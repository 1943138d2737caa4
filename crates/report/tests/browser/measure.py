"""How long a report takes in Chromium: `python measure.py [CONVERSATIONS...]`, by default 200 2000 20000 of 10 kB each.

Prints, for each size, the best of several openings: until the first rate is there, until a key or click is answered (the index is read and
the table of rows stands), how long a search through all transcripts takes, and how long `report` took. PROBITY and CHROMIUM name the
programs, as for the tests. Run it on a machine with nothing else to do: the figures are wall-clock times.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import trees
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
OPENINGS = int(os.environ.get("OPENINGS", "5"))
# What is promised: seconds until the first rate and until an answer, by the number of conversations.
PROMISED = {200: 0.5, 2_000: 0.8, 20_000: 1.5}
SEARCHED_WITHIN = 2.0
WATCH = """
  window.seen = {};
  const look = () => {
    const now = performance.now();
    if (!seen.rate && document.querySelector(".frate b")?.getClientRects().length) seen.rate = now;
    if (!seen.answer && Number(document.querySelector("table.rows")?.getAttribute("aria-rowcount")) > 1) seen.answer = now;
    if (!seen.answer) requestAnimationFrame(look);
  };
  look();
"""


def opened(browser, page_file):
    """Milliseconds from the navigation until the first rate, and until the page answers."""
    page = browser.new_page()
    page.add_init_script(WATCH)
    page.goto(f"file://{page_file}", wait_until="commit")
    while not page.evaluate("window.seen && seen.answer"):
        page.wait_for_timeout(20)
    seen = page.evaluate("seen")
    page.close()
    return seen["rate"], seen["answer"]


def searched(browser, page_file, text):
    """Milliseconds of a search through all transcripts."""
    page = browser.new_page()
    page.goto(f"file://{page_file}#/rows")
    page.wait_for_selector("#rows tr[aria-rowindex='2']")
    taken = page.evaluate(
        """async (text) => {
          const working = document.querySelector(".working");
          const began = performance.now();
          location.hash = `#/rows?text=${encodeURIComponent(text)}`;
          const frame = () => new Promise((resolve) => setTimeout(resolve, 5));
          while (working.hidden && performance.now() - began < 200) await frame();
          while (!working.hidden) await frame();
          return performance.now() - began;
        }""",
        text,
    )
    count = page.locator("#rows .count").inner_text()
    page.close()
    return taken, count


def main(sizes):
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"])
        for size in sizes:
            place = Path(os.environ.get("REPORTS", folder)) / f"many{size}"
            place.mkdir(exist_ok=True, parents=True)
            if not (place / "many.html").exists():
                trees.many(place, size, 10_000)
            began = time.monotonic()
            trees.report(place, "many", "--rows", "all")
            wrote = time.monotonic() - began
            page_file = place / "many.html"
            rate, answer = (min(times) / 1e3 for times in zip(*(opened(browser, page_file) for _ in range(OPENINGS)), strict=True))
            print(f"{size:,} conversations, a page of {page_file.stat().st_size / 1e6:.1f} MB, written in {wrote:.1f} s", flush=True)
            promised = PROMISED.get(size)
            print(f"  first rate {rate:.2f} s, answers after {answer:.2f} s" + (f" (promised: {promised} s)" if promised else ""))
            for text in ("needle in the haystack", "facts matter"):
                times = [searched(browser, page_file, text) for _ in range(2)]
                print(f"  search for “{text}”: {min(taken for taken, _count in times) / 1e3:.2f} s ({times[0][1]})" + (f" (promised: {SEARCHED_WITHIN} s)" if size >= 20_000 else ""), flush=True)
        browser.close()


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or sorted(PROMISED))
