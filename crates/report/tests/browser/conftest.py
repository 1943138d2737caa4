"""A real Chromium, a page opened from a file with the network off, and the reports to open."""

import os
from pathlib import Path

import pytest
import trees
from playwright.sync_api import sync_playwright

# Screenshots are kept to be looked at; no test compares them.
SHOTS = Path(os.environ.get("REPORT_SCREENSHOTS", trees.ROOT / "target" / "report-screenshots"))
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# What Chromium would ask of its makers is refused before it is sent.
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


class Opener:
    """Opens reports, and remembers what went wrong in them: errors, messages of the console, requests."""

    def __init__(self, browser):
        self.browser = browser
        self.contexts = []
        self.wrong = []

    def __call__(self, file=None, route="", *, address=None, may_fail=False, width=1280, height=900, scheme="light", **options):
        context = self.browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True, **options)
        # A page that is a file needs no network. The viewer's asks the viewer alone.
        context.set_offline(address is None)
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: may_fail or self.wrong.append(f"console: {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", lambda request: self.request(request, address))
        page.on("dialog", lambda dialog: dialog.accept())
        if file or address:
            page.goto(f"{address or f'file://{file}'}{route}")
        return page

    def request(self, request, address):
        if not request.url.startswith(("file:", "blob:", address or "file:")):
            self.wrong.append(f"request: {request.url[:100]}")


@pytest.fixture
def open_page(browser):
    """`open_page(FILE, "#/rows")`; afterwards the console must be empty, and nothing may have been asked of a network."""
    opener = Opener(browser)
    yield opener
    for context in opener.contexts:
        context.close()
    assert opener.wrong == []


@pytest.fixture(scope="session")
def scripted(tmp_path_factory):
    return trees.scripted_run(tmp_path_factory.mktemp("scripted"))


@pytest.fixture(scope="session")
def golden(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    trees.golden(folder, "sycophancy")
    return trees.report(folder, "sycophancy")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    return trees.hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def judged(tmp_path_factory):
    """The report, and the conversation whose judges name messages."""
    return trees.judged(tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="session")
def reading(tmp_path_factory):
    """A conversation in Markdown, judged by a panel with a dissent."""
    return trees.reading(tmp_path_factory.mktemp("reading"))


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    return trees.many(tmp_path_factory.mktemp("many"), 20_000, 10_000)


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """A report of more models than are compared pair by pair."""
    return trees.fleet(tmp_path_factory.mktemp("fleet"), 14)


@pytest.fixture
def shot():
    """Keeps a picture of a page."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=SHOTS / f"{name}.png")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A report as a folder: the page, and its chunks beside it."""
    place = tmp_path_factory.mktemp("folder")
    trees.golden(place, "sycophancy")
    trees.probity(place, "report", "sycophancy", "--out", "out")
    (page,) = (place / "out").glob("*.html")
    return page
