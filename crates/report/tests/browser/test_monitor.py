"""The page of a run in progress: figures of the journal, running conversations, pending rows, widths, and what it becomes at the end."""

import itertools
import json
import os
import random
import re
import shutil
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trees
from conftest import SHOTS
from test_viewer import viewer
from waiting import until

CONFIG = """
run: {{concurrency: {{simulate: 3, evaluate: 2}}}}
generation: {{turns: 3}}
user_model: {{model: user, base_url: "{url}"}}
evaluator_model: {{model: judge, base_url: "{url}"}}
targets:
  - {{id: aster-large-2, model: aster, base_url: "{url}"}}
  - {{id: birch-4.1, model: birch, base_url: "{url}"}}
budget: {{max_tokens: 9000000}}
"""


# A simulated user that says the same again has left its role.
WORDS = "apples boats candles doors engines feathers gardens hammers islands jackets kettles ladders mirrors notes onions pencils quilts rivers stones tables".split()


def words(number):
    return " ".join(random.Random(number).sample(WORDS, 12))


class Models(ThreadingHTTPServer):
    """Models that answer at once, until a number of calls is reached; the calls after these wait."""

    daemon_threads = True

    def __init__(self, after):
        super().__init__(("127.0.0.1", 0), Answer)
        self.left = threading.Semaphore(after)
        self.count = itertools.count(1)

    def release(self):
        for _ in range(10_000):
            self.left.release()


class Answer(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.left.acquire()
        verdict = json.dumps({"evidence": [], "justification": "It keeps its view.", "present": "no"})
        text = verdict if request["model"] == "judge" else f"{request['model']} says <b>this</b> & keeps {words(next(self.server.count))}."
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": request["model"], "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}
        body = json.dumps(reply).encode()
        try:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


@contextmanager
def held_run(folder, after):
    """A run of the golden benchmark that stands still after some calls; gives the process and what releases the calls."""
    place = folder / "benchmarks" / "sycophancy"
    place.mkdir(parents=True)
    for name in ("benchmark.yaml", "scenarios.json"):
        shutil.copy(trees.GOLDEN / name, place / name)
    # The last calls come later: a run shows a finished row half a second after the last one that it showed, or with the next one.
    late = 16
    models = Models(after - late)
    timer = threading.Timer(2, lambda: models.left.release(late))
    timer.start()
    threading.Thread(target=models.serve_forever, daemon=True).start()
    (folder / "config.yaml").write_text(CONFIG.format(url=f"http://127.0.0.1:{models.server_port}/v1"))
    run = subprocess.Popen([trees.PROBITY, "run", "sycophancy", "--quiet"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield run, models.release
    finally:
        timer.join()
        models.release()
        run.wait(timeout=60)
        models.shutdown()


def status(folder):
    done = subprocess.run([trees.PROBITY, "status", "--json"], cwd=folder, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout else {}


def standing_still(folder):
    """The state of the run once its models answer no more: its journal has not grown for three seconds."""
    for _ in range(300):
        now = status(folder)
        if now.get("calls", {}).get("replies", 0) > 20 and now["since_last_event"] > 3:
            return now
        threading.Event().wait(0.1)
    raise AssertionError(f"the run does not stand still: {now}")


def test_a_run_in_progress_is_the_first_page_and_becomes_the_report(open_page, tmp_path, shot):
    with held_run(tmp_path, 40) as (run, release), viewer(tmp_path, "sycophancy") as address:
        now = standing_still(tmp_path)
        page = open_page(address=address)
        page.wait_for_selector("#monitor .mmodels")
        assert page.evaluate("location.hash") == "#/monitor"
        assert page.locator("nav [aria-current]").inner_text() == "Run"
        text = page.locator("#monitor").inner_text()
        simulate, evaluate = (phase for phase in now["phases"] if phase["phase"] in ("simulate", "evaluate"))
        # The figures are those of the command.
        for phase in (simulate, evaluate):
            assert f"{phase['done']} of {phase['rows']}" in text
            assert f"{phase['running']} running, {phase['pending']} pending, {phase['failed']} failed" in text
        assert "order of the files" in text and "95%" not in text
        assert "evaluate judges" not in text and "missing" not in text
        rows = page.locator("#monitor .mmodels tbody tr")
        assert [rows.nth(at).locator(".mname").inner_text() for at in range(rows.count())] == ["aster-large-2", "birch-4.1"]
        assert re.match(r"\d+% · ", page.title())
        # A running conversation opens turn by turn, its texts are texts, and it stays open while the page follows the run.
        # One that has a message: others may wait for their first.
        first = page.locator("#monitor details").filter(has_text="says <b>this</b> & keeps").first
        first.locator("summary").click()
        key = first.get_attribute("data-key")
        assert "says <b>this</b> & keeps" in first.inner_text()
        page.wait_for_timeout(4_500)
        assert page.evaluate("(key) => document.querySelector(`#monitor details[data-key='${key}']`).open", key)
        shot(page, "monitor")
        # Rows without a verdict are pending on the other pages too.
        page.goto(f"{address}#/rows")
        page.wait_for_selector("table.rows tbody tr:not(.spacer)")
        waiting = evaluate["running"]
        assert page.locator("table.rows .pending").count() <= waiting
        assert page.locator("table.rows .none").count() == 0
        page.goto(f"{address}#/")
        overview = page.locator("#overview").inner_text()
        assert "judges those that are not judged" not in overview and "rows are missing" not in overview
        # Rows are simulated in the order of the files, so what is done says nothing of the rest.
        assert "no rates before the end" in overview
        page.goto(f"{address}#/monitor")
        release()
        assert run.wait(timeout=60) == 0
        until(page, "document.querySelector('#monitor').textContent.includes('Complete: ')", 20)
        page.locator("#monitor a", has_text="See the results").click()
        page.wait_for_selector("#overview .first")
        assert "%" not in page.title()
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_every_width_and_axe_finds_nothing(open_page, tmp_path, scheme):
    with held_run(tmp_path, 40), viewer(tmp_path, "sycophancy") as address:
        standing_still(tmp_path)
        for width in (360, 800, 1280, 1600):
            page = open_page(address=address, width=width, scheme=scheme)
            page.wait_for_selector("#monitor .mmodels")
            page.locator("#monitor summary").first.click()
            page.screenshot(path=SHOTS / f"monitor-{width}-{scheme}.png", full_page=True)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{width}: {wide} px wider than the window"
            page.evaluate(Path(os.environ["AXE"]).read_text())
            result = page.evaluate("axe.run({resultTypes: ['violations']})")
            assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in result["violations"]] == [], width
            page.close()


def test_a_dead_run_says_how_to_go_on(open_page, tmp_path):
    with held_run(tmp_path, 30) as (run, _), viewer(tmp_path, "sycophancy") as address:
        standing_still(tmp_path)
        page = open_page(address=address)
        page.wait_for_selector("#monitor .mmodels")
        run.kill()
        until(page, "document.querySelector('#monitor').textContent.includes('Dead at ')", 20)
        text = page.locator("#monitor").inner_text()
        assert "run sycophancy goes on" in text and "Running now" not in text
        page.close()


def test_a_report_on_disk_has_no_such_page(open_page, golden):
    page = open_page(golden, "#/monitor")
    page.wait_for_selector("#missing h2")
    assert page.locator("nav", has_text="Run").count() == 0
