"""The page as a whole: what it opens from, what it shows without a script, that it looks as it should in all sizes."""

import os
from pathlib import Path

import pytest

ROUTES = ["", "#/rows", "#/scenarios", "#/cost", "#/label"]


def ready(page, route):
    page.wait_for_selector("html.js")
    if route == "#/rows":
        page.wait_for_selector("#rows tr[aria-rowindex='2']")
    if route == "#/label":
        page.wait_for_selector("#labeller")
    if route == "#/scenarios":
        page.wait_for_selector("#scenarios tbody a")


@pytest.mark.parametrize("route", ROUTES)
def test_a_run_ends_with_a_report_that_opens_from_its_file_without_a_network(open_page, scripted, route):
    page = open_page(scripted, route)
    ready(page, route)
    shown = {"": "overview", "#/rows": "rows", "#/scenarios": "scenarios", "#/cost": "cost", "#/label": "label"}[route]
    assert page.locator("main > section:visible").evaluate_all("all => all.map(one => one.id)") == [shown]
    assert page.locator("#top [aria-current=page]").get_attribute("href") == (route or "#/")


def test_without_a_script_the_overview_is_there(open_page, scripted):
    page = open_page(scripted, java_script_enabled=False)
    assert page.locator("#overview table").count() > 0
    assert page.locator("#no-script").is_visible()


def test_the_page_forbids_requests_and_code_from_elsewhere(open_page, scripted):
    # Without the script: what it sets by itself, such as the height of a row, is allowed to it.
    page = open_page(scripted, java_script_enabled=False)
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert page.locator("[style], [onclick], [onload], [onerror]").count() == 0


def test_a_folder_opens_from_its_file_too(open_page, folder):
    assert not list(folder.parent.glob("**/*.json")), "chunks are scripts: nothing else can be read from file://"
    page = open_page(folder, "#/rows")
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector(".transcript .message.assistant .text")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1600])
def test_nothing_hangs_over_the_edge(open_page, scripted, shot, width, scheme):
    page = open_page(scripted, width=width, scheme=scheme)
    for route in [*ROUTES, "#/c/"]:
        if route == "#/c/":
            page.goto(f"file://{scripted}#/rows")
            ready(page, "#/rows")
            page.locator("#rows tbody a").first.click()
            page.wait_for_selector("#conversation .transcript")
        else:
            page.goto(f"file://{scripted}{route}")
            ready(page, route)
        name = route.strip("#/") or "overview"
        shot(page, f"scripted-{name}-{width}-{scheme}")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{route} is {wide} px wider than the window"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(open_page, scripted, width, scheme):
    axe = Path(os.environ["AXE"]).read_text()
    page = open_page(scripted, width=width, scheme=scheme)
    found = []
    for route in [*ROUTES, "themes", "conversation", "compare", "answer"]:
        if route == "conversation":
            page.goto(f"file://{scripted}#/rows")
            page.locator("#rows tbody a").first.click()
            page.wait_for_selector("#conversation .transcript")
        elif route == "themes":
            page.goto(f"file://{scripted}#/themes?metric=m01")
            page.wait_for_selector("#themes .theme")
        elif route == "compare":
            page.keyboard.press("c")
            page.wait_for_selector("#scenario .answer-cell")
        elif route == "answer":
            page.goto(f"file://{scripted}#/label")
            page.fill("#labeller", "ana")
            page.keyboard.press("Enter")
            page.wait_for_selector(".controls")
            page.keyboard.press("p")
            page.wait_for_selector(".last .reason")
        else:
            page.goto(f"file://{scripted}{route}")
            ready(page, route)
        # The policy of the page lets no script in; the debugger's own evaluation is outside it.
        page.evaluate(axe)
        result = page.evaluate("axe.run({resultTypes: ['violations']})")
        for violation in result["violations"]:
            nodes = [f"{node['html'][:160]} {node['failureSummary'][:200]}" for node in violation["nodes"][:3]]
            found.append(f"{route}: {violation['id']}: {nodes}")
    assert found == []


def test_it_prints(open_page, scripted):
    page = open_page(scripted, "#/rows")
    ready(page, "#/rows")
    rows = int(page.locator("table.rows").get_attribute("aria-rowcount")) - 1
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("table.rows tbody tr[aria-rowindex]").count() == rows
    assert page.pdf()[:4] == b"%PDF"
