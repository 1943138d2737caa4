"""Runs that are watched, stopped and planned, and their rows and frames."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

import probity
from probity import _rows
from probity._rows import columns

PANEL = Path(__file__).parents[2] / "fixtures" / "frozen" / "panel" / "benchmarks"

SLOW = """
import os
import time
import probity

@probity.target(max_concurrency=1)
def slow(message):
    with open("seen.txt", "a") as file:
        file.write("x")
    # With this file, only the first rows end.
    while os.path.exists("hold.txt") and os.path.getsize("seen.txt") > 6:
        time.sleep(0.02)
    return "Thank you."

probity.serve()
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "config.yaml").write_text(
        "user_model: scripted/scripted-user\nevaluator_model: scripted/scripted-judge\ntargets: [{id: slow, python: slow.py, processes: 2}]\ngeneration: {turns: 2}\nrun: {concurrency: {simulate: 2}}\n"
    )
    return tmp_path


def test_a_run_reports_its_events(slow: Path) -> None:
    events: list[probity.Event] = []
    run = probity.run("sycophancy", folder=slow, on_event=events.append)
    assert events[-1].kind == "ended" and events[-1].done == events[-1].total == 10, events
    simulated = [event.done for event in events if event.phase == "simulate"]
    assert simulated == sorted(simulated) and simulated[-1] == 10, simulated
    assert len(list(run.scores())) == 10


def test_a_run_that_is_stopped_goes_on(slow: Path) -> None:
    (slow / "hold.txt").touch()
    running = probity.start("sycophancy", folder=slow)
    for event in running:
        if event.phase == "simulate" and event.done > 0:
            running.stop()
            running.stop()
            time.sleep(0.5)
            (slow / "hold.txt").unlink(missing_ok=True)
    with pytest.raises(probity.Interrupted):
        running.result()
    done = len(list(probity.load(slow / "benchmarks" / "sycophancy").conversations()))
    assert 0 < done < 10
    assert len(list(probity.run("sycophancy", folder=slow).scores())) == 10


def test_a_run_in_an_event_loop(slow: Path) -> None:
    async def both() -> probity.Results:
        seen = [event async for event in probity.astart("sycophancy", folder=slow)]
        assert seen[-1].kind == "ended"
        return await probity.arun("sycophancy", folder=slow)

    assert len(list(asyncio.run(both()).scores())) == 10


def test_rows_that_fail_are_named_and_the_others_are_there(slow: Path) -> None:
    (slow / "slow.py").write_text(SLOW.replace("    # With", "    if 'novel' in message: raise ValueError('no novels')\n    # With"))
    with pytest.raises(probity.RowsFailed) as failed:
        probity.run("sycophancy", folder=slow)
    assert any("ValueError: no novels" in line for line in failed.value.failures), failed.value.failures
    assert failed.value.run is not None
    assert any(rate.metric == "all" and rate.missing > 0 for rate in failed.value.run.rates())


def test_mistakes_have_a_place(slow: Path) -> None:
    with (slow / "config.yaml").open("a") as file:
        file.write("targetss: []\n")
    with pytest.raises(probity.ConfigError) as wrong:
        probity.run("sycophancy", folder=slow)
    [problem] = wrong.value.problems
    assert (problem.file, problem.line, problem.key) == ("config.yaml", 6, "targetss") and "did you mean" in problem.reason


def test_a_plan_a_doctor_and_a_check_of_files(slow: Path) -> None:
    probity.run("sycophancy", folder=slow, scripted=True)
    plan = probity.plan("sycophancy", folder=slow, scripted=True)
    assert (plan.calls, plan.new_rows, plan.dollars) == ((0, 0), 0, (0.0, 0.0))
    new = probity.plan("sycophancy", folder=slow)
    assert new.new_rows == 16 and 16 < new.calls[0] <= new.calls[1] and new.dollars is None
    assert all(model.ok for model in probity.doctor(folder=slow))
    benchmark = slow / "benchmarks" / "sycophancy" / "benchmark.yaml"
    assert [problem for problem in probity.validate(benchmark) if problem.severity == "problem"] == []
    benchmark.write_text("name: x\nmetrics: 3\n")
    [problem] = probity.validate(benchmark)
    assert (problem.line, problem.key) == (2, "metrics")
    assert probity.validate(slow / "gone")[0].reason.endswith("no such file or folder")


def panel() -> probity.Results:
    [folder] = [path.parent for path in PANEL.glob("*/benchmark.yaml")]
    return probity.load(folder)


FRAMES = ["scores", "judges", "conversations", "messages", "scenarios"]


@pytest.mark.parametrize("engine", ["polars", "pandas"])
def test_frames_have_the_types_of_their_rows(engine: Any, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    results = panel()
    for name in FRAMES:
        frame = getattr(results, f"{name}_df")(engine)
        assert len(frame) == len(list(getattr(results, name)())) > 0, name
    # Without a row the columns have the same types.
    (tmp_path / "benchmark.yaml").write_text("name: empty\n")
    empty = probity.load(tmp_path)
    for name in ["scores", "judges", "conversations", "messages"]:
        full, none = (getattr(r, f"{name}_df")(engine) for r in (results, empty))
        assert list(full.columns) == list(none.columns) and list(full.dtypes) == list(none.dtypes), name
    samples = results.samples_df(engine)
    assert {"id", "epoch", "model"} <= set(samples.columns) and len(samples) < len(results.scores_df(engine)) + 1
    assert len(results.statistics_df(engine)) == len(results.rates())


def test_judges_of_a_panel_have_their_readings() -> None:
    judges = list(panel().judges())
    assert {judge.judge for judge in judges} == {"first", "second", "third"}
    assert {"first", "order", "length"} <= {judge.reading for judge in judges}
    score = next(panel().scores())
    assert score.base_scenario_id == "caves_s001" and score.epoch == 1 and score.cost == 0.0
    assert columns(type(score))["passed"] == "bool"


def test_arrays_are_read_in_parts(tmp_path: Path) -> None:
    rows = [{"text": "é]}" * 100_000, "n": n} for n in range(12)]
    file = tmp_path / "rows.json"
    for text in (json.dumps(rows), json.dumps(rows, indent=2), "[]", " [ ] "):
        file.write_text(text)
        assert list(_rows.array(file)) == json.loads(text)
    file.write_text(json.dumps(rows)[:-100])
    with pytest.raises(json.JSONDecodeError):
        list(_rows.array(file))


def test_judges_and_logs_of_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes

    import probity.inspect

    @probity.judge
    def thanks(conversation: probity.Conversation, metric: probity.Metric) -> tuple[bool, str]:
        return "thank" in conversation.messages[-1].content.lower(), metric.definition

    samples = [Sample(input=f"Question {n}", target="thank", metadata={"group": n // 2}) for n in range(6)]
    says = ["thank you" if n % 3 else "no" for n in range(12)]
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in says]
    for output in outputs:
        # Without it, a tokenizer is fetched from the network.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = inspect_ai.Task(dataset=samples, scorer=[includes(), probity.inspect.scorer(thanks, "It thanks.")], name="manners")
    monkeypatch.setenv("PROBITY_INSPECT", "1")
    monkeypatch.setenv("PROBITY_CLUSTER", "group")
    [log] = inspect_ai.eval(task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=str(tmp_path / "logs"), display="none")
    assert "pass rates with 95% intervals" in capsys.readouterr().out
    plain = {rate.metric: rate for rate in probity.from_inspect(log).rates()}
    clustered = {rate.metric: rate for rate in probity.from_inspect([log], cluster="group").rates()}
    assert plain["thanks"].estimate == plain["includes"].estimate == clustered["thanks"].estimate == 4 / 6
    assert (plain["thanks"].scenarios, clustered["thanks"].scenarios) == (6, 3)
    with pytest.raises(TypeError, match="expected a path or an EvalLog"):
        probity.from_inspect(3)
