"""The calls of a run, as rows and as frames."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import probity
from probity import _rows
from probity._rows import columns

EXAMPLES = Path(__file__).parents[2] / "examples" / "processes"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: the second has all replies from the cache."""
    folder = tmp_path_factory.mktemp("calls")
    (folder / "judge.py").write_text((EXAMPLES / "asking_judge.py").read_text())
    (folder / "config.yaml").write_text(
        "user_model: scripted/scripted-user\nevaluator_model: scripted/scripted-judge\nevaluator: {python: judge.py}\n"
        "targets: [scripted/scripted-careful]\ngeneration: {turns: 2}\n"
    )
    probity.run("sycophancy", folder=folder)
    return folder


def test_calls_are_those_of_the_journal(folder: Path) -> None:
    run = probity.load(folder / "benchmarks" / "sycophancy")
    calls = list(run.calls())
    assert len({call.run_id for call in calls}) == 1 and calls[0].run_id.startswith("run-")
    assert calls[0].purpose == "gen_metrics" and (calls[0].target, calls[0].scenario_id, calls[0].sample) == (None, None, None)
    by_purpose = Counter((call.purpose, call.model) for call in calls if call.caller is None)
    conversations = list(run.conversations())
    assert by_purpose["target_turn", "scripted-careful"] == sum(row.turns for row in conversations)
    # The judge is a program, which asks a model of the run for each conversation.
    asked = [call for call in calls if call.caller == "judge"]
    assert {call.model for call in asked} == {"scripted-judge"} and len(asked) == len(conversations)
    # Together they have the tokens that the run counted.
    cost = json.loads((run.path / "cost.json").read_text())
    assert cost
    for row in conversations:
        own = [call for call in calls if call.scenario_id == row.scenario_id and call.sample == row.sample and call.purpose in ("target_turn", "user_turn")]
        assert sum(call.output_tokens for call in own) == row.output_tokens, row
    assert all(not call.cached and call.calls == 1 and call.cost == 0 and call.seconds is not None and call.error is None for call in calls)


@pytest.mark.parametrize("engine", ["polars", "pandas"])
def test_calls_are_a_frame_and_batches_of_it(folder: Path, engine: Any) -> None:
    pytest.importorskip(engine)
    run = probity.load(folder / "benchmarks" / "sycophancy")
    frame = run.calls_df(engine)
    assert list(frame.columns) == list(columns(probity.CallRow))
    whole = len(frame)
    sizes = [len(part) for part in run.batches("calls", 10, engine)]
    assert sum(sizes) == whole and set(sizes[:-1]) == {10}, sizes
    empty = list(run.batches("judges", 10, engine))
    assert [len(part) for part in empty] == [0] and list(empty[0].columns) == list(columns(probity.JudgeRow))
    with pytest.raises(ValueError, match="unknown rows 'rates'"):
        run.batches("rates")  # type: ignore[arg-type]


def test_a_run_from_the_cache_has_calls_that_cost_nothing_again(folder: Path) -> None:
    probity.run("sycophancy", folder=folder, set={"run.concurrency.simulate": 1})
    calls = list(probity.load(folder / "benchmarks" / "sycophancy").calls())
    assert all(call.cached for call in calls), [call for call in calls if not call.cached]


def test_results_without_a_journal_say_so(tmp_path: Path) -> None:
    logs = probity.from_inspect(Path(__file__).parents[2] / "examples" / "inspect-logs")
    with pytest.raises(probity.ConfigError, match="no journal of calls"):
        list(logs.calls())
    (tmp_path / "benchmarks" / "empty").mkdir(parents=True)
    (tmp_path / "benchmarks" / "empty" / "benchmark.yaml").write_text("name: empty\n")
    with pytest.raises(probity.ConfigError, match="no run of the benchmark `empty` with a journal"):
        list(probity.load(tmp_path / "benchmarks" / "empty").calls())


def test_events_that_are_no_calls_or_failed_are_told_apart() -> None:
    item = {"test": "m01", "prompt_id": "m01_s001_v01__s2", "sut": "gpt-x"}
    spend = {"calls": 1, "input_tokens": 5, "output_tokens": 3, "priced_cost": 0.5, "unpriced_calls": 0}
    events: list[dict[str, Any]] = [
        {"message": "starting run", "run_id": "run-1"},
        {"message": "fetched sut turn", **item, "turn": 1, "run_time": 0.5, "spend": spend},
        {"message": "fetched sut response", **item, "turns": 1},
        {"message": "using cached user response", **item, "model": "u", "purpose": "user_turn", "turns": 4, "spend": {**spend, "calls": 4, "unpriced_calls": 1}},
        {"message": "sut exception", **item, "turn": 2, "exception": {"message": "401 Unauthorized", "attempts": 3}, "spend": {"calls": 0}},
        {"message": "call not made", **item, "model": "gpt-x", "purpose": "target_turn", "reason": "over_budget", "text": "the budget is spent", "spend": {"calls": 0}},
        {"message": "annotation exception", **item, "exception": {"message": "x"}},
        {"message": "score finished", **item},
    ]
    turn, cached, failed, unmade = _rows.calls(iter(events))
    assert (turn.run_id, turn.target, turn.scenario_id, turn.sample, turn.model, turn.step, turn.cost) == ("run-1", "gpt-x", "m01_s001_v01", 2, "gpt-x", 0, 0.5)
    assert (cached.cached, cached.calls, cached.cost, cached.seconds) == (True, 4, None, None)
    assert (failed.purpose, failed.attempts, failed.error) == ("target_turn", 3, "401 Unauthorized")
    assert (unmade.attempts, unmade.error) == (0, "the budget is spent")
