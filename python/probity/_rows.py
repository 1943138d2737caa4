"""Rows of results: one dataclass for each kind, which is also the schema of its data frame."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ScoreRow:
    """A verdict: one for each conversation and metric. `passed` is null without a verdict; `no_verdict` says why. `cost` in dollars. `extra` is JSON with keys
    that have no column."""

    target: str
    conv_id: str
    scenario_id: str
    base_scenario_id: str
    sample: int
    epoch: int
    metric_id: str
    metric_name: str | None
    metric_type: str | None
    present: bool | None
    passed: bool | None
    score: float | None
    value: int | None
    label: str | None
    reason: str | None
    no_verdict: str | None
    error: str | None
    imported: bool
    cost: float | None
    extra: str


@dataclass(frozen=True)
class JudgeRow:
    """What one judge of a panel said, in one reading: `first`, or a further one such as `repeat`. `quotes` is JSON."""

    target: str
    conv_id: str
    metric_id: str
    judge: str
    reading: str
    present: bool | None
    value: int | None
    label: str | None
    reason: str | None
    no_verdict: str | None
    quotes: str


@dataclass(frozen=True)
class ConversationRow:
    """A conversation. `turns` counts the user's messages. `suspects_test` and `user_realism` are of the judges of realism, where there were any."""

    target: str
    conv_id: str
    scenario_id: str
    base_scenario_id: str
    metric_id: str | None
    sample: int
    turns: int
    error: str | None
    no_verdict: str | None
    simulator_faults: int
    suspects_test: bool | None
    user_realism: float | None
    cost: float | None
    input_tokens: int | None
    output_tokens: int | None
    extra: str


@dataclass(frozen=True)
class MessageRow:
    """A message of a conversation. `n` is its number, from 1; `turn` that of the user's message before it. `tool_calls` is JSON."""

    conv_id: str
    target: str
    n: int
    turn: int
    role: str
    content: str
    reasoning: str | None
    tool_calls: str
    tool_call_id: str | None
    name: str | None
    finish_reason: str | None


@dataclass(frozen=True)
class ScenarioRow:
    """A scenario. `demographic` becomes a column `demographic_AXIS` for each axis in a data frame."""

    scenario_id: str
    base_scenario_id: str
    metric_id: str
    persona: str
    user_goal: str
    latent_adversarial_goal: str
    title: str | None
    demographic: dict[str, Any]


@dataclass(frozen=True)
class CallRow:
    """A call to a model, in the order they ended. `target`, `scenario_id`, `sample` and `metric_id` are null where it was for no conversation. `step` is that of the target within the turn,
    from 0. `caller` is the program that asked for it. A `cached` reply has the tokens, dollars and seconds of the call that fetched it, and cost this run nothing. `calls` is more than 1 where the
    journal has calls of a conversation from the cache as one. `attempts` counts those that may have been billed; of a call that failed, all. `cost` is in dollars; null: not known."""

    run_id: str
    target: str | None
    scenario_id: str | None
    sample: int | None
    metric_id: str | None
    purpose: str
    row: str | None
    turn: int | None
    step: int | None
    model: str | None
    caller: str | None
    cached: bool
    calls: int
    attempts: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float | None
    error: str | None


@dataclass(frozen=True)
class Rate:
    """The rate of a target: of a metric, or of `all`, `positive` or `negative` ones. `lower` and `upper` are its 95% interval; null without a row. `missing` rows
    have no verdict, and are not among `rows`. `corrected` is the rate that people would give, where their labels tell it."""

    target: str
    metric: str
    estimate: float | None
    lower: float | None
    upper: float | None
    passed: int
    rows: int
    scenarios: int
    missing: int
    corrected: float | None = None
    corrected_lower: float | None = None
    corrected_upper: float | None = None


def columns(row: type[Any]) -> dict[str, str]:
    """The columns of a row type, with `str`, `int`, `float` or `bool` for each."""
    return {field.name: str(field.type).removesuffix(" | None") for field in fields(row)}


def array(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array, one after the other: only a part of the file is in memory."""
    decoder, text, is_over = json.JSONDecoder(), "", False
    with path.open(encoding="utf-8") as file:
        while True:
            text = text.lstrip(" \t\r\n,[")
            if text.startswith("]"):
                return
            try:
                row, end = decoder.raw_decode(text)
            except json.JSONDecodeError:
                if is_over:
                    if text.strip():
                        raise
                    return
                more = file.read(1 << 20)
                is_over, text = not more, text + more
                continue
            text = text[end:]
            yield row


def base_of(row: dict[str, Any]) -> str:
    """The scenario that a variant belongs to: `base_scenario_id`, else its id without the last part `_vNN`."""
    named = row.get("base_scenario_id") or row.get("_base_scenario_id")
    id_ = str(row["id"])
    head, _, tail = id_.rpartition("_v")
    return str(named) if named else head if head and tail.isdigit() else id_


SCORE_KEYS = frozenset((
    "id", "metric_id", "metric_name", "metric_type", "target_model", "conv_id", "present", "passed", "score", "value", "label", "justification", "sample", "error",
    "imported", "base_scenario_id", "_no_verdict", "_usage", "_judges",
))


def score(target: str, row: dict[str, Any]) -> ScoreRow:
    sample = int(row.get("sample") or 0)
    extra = {key: value for key, value in row.items() if key not in SCORE_KEYS}
    return ScoreRow(
        target, row["conv_id"], row["id"], base_of(row), sample, sample + 1, row["metric_id"], row.get("metric_name"), row.get("metric_type"), row.get("present"),
        row.get("passed"), row.get("score"), row.get("value"), row.get("label"), row.get("justification"), row.get("_no_verdict"), row.get("error"),
        bool(row.get("imported")), (row.get("_usage") or {}).get("cost"), json.dumps(extra),
    )


def judges(target: str, row: dict[str, Any]) -> Iterator[JudgeRow]:
    for judge in row.get("_judges") or ():
        for reading in [{"reading": "first", **judge}, *(judge.get("readings") or ())]:
            yield JudgeRow(
                target, row["conv_id"], row["metric_id"], str(judge.get("judge")), str(reading.get("reading")), reading.get("present"), reading.get("value"),
                reading.get("label"), reading.get("justification"), reading.get("no_verdict"), json.dumps(reading.get("quotes") or []),
            )


CONVERSATION_KEYS = frozenset((
    "id", "conv_id", "metric_id", "metric_name", "metric_type", "persona", "user_goal", "latent_adversarial_goal", "landmarks", "demographic", "title", "target",
    "sample", "_sample", "transcript", "error", "base_scenario_id", "_no_verdict", "_usage", "_simulator_faults", "_realism",
))


def conversation(target: str, row: dict[str, Any]) -> ConversationRow:
    usage, realism = row.get("_usage") or {}, row.get("_realism") or {}
    extra = {key: value for key, value in row.items() if key not in CONVERSATION_KEYS}
    of_realism = realism if isinstance(realism, dict) else {}
    return ConversationRow(
        target, row["conv_id"], row["id"], base_of(row), row.get("metric_id"), int(row.get("sample") or 0), sum(turn["role"] == "user" for turn in row["transcript"]),
        row.get("error"), row.get("_no_verdict"), len(row.get("_simulator_faults") or ()), of_realism.get("suspects_test"), of_realism.get("user_realism"),
        usage.get("cost"), usage.get("input_tokens"), usage.get("output_tokens"), json.dumps(extra),
    )


def messages(target: str, row: dict[str, Any]) -> Iterator[MessageRow]:
    turn = 0
    for n, message in enumerate(row["transcript"], 1):
        turn += message["role"] == "user"
        yield MessageRow(
            row["conv_id"], target, n, turn, message["role"], message.get("content") or "", message.get("reasoning"), json.dumps(message.get("tool_calls") or []),
            message.get("tool_call_id"), message.get("name"), message.get("finish_reason"),
        )


def scenario(row: dict[str, Any]) -> ScenarioRow:
    return ScenarioRow(
        row["id"], base_of(row), str(row.get("metric_id") or ""), row.get("user_persona") or row.get("persona") or "", row.get("user_goal") or "",
        row.get("latent_adversarial_goal") or "", row.get("title"), dict(row.get("demographic") or {}),
    )


# Who is called, by the words of the journal, and what for where the event does not say it.
CALLED = {"sut": "target_turn", "annotator": "judge", "user": "user_turn", "tool": "tool_answer", "host": "", "generator": "", "probe": "probe"}


CALL = re.compile(r"(?:fetched|(?P<cached>using cached)) (?P<role>\w+) (?:response|turn)|(?P<failed>\w+) exception|call not made")


def calls(events: Iterator[dict[str, Any]]) -> Iterator[CallRow]:
    """The calls among the events of a journal."""
    run_id, before = "", list[CallRow]()
    for event in events:
        if event.get("message") == "starting run":
            run_id = str(event.get("run_id"))
            yield from (replace(row, run_id=run_id) for row in before)
            before.clear()
        match, spend = CALL.fullmatch(str(event.get("message"))), event.get("spend")
        # What sums up the calls of an item has no `spend`.
        if match is None or not isinstance(spend, dict):
            continue
        row = call(run_id, match["role"] or match["failed"] or "", bool(match["cached"]), event, spend)
        if run_id:
            yield row
        else:
            before.append(row)  # metrics are written before the run says its id
    yield from before


def call(run_id: str, called: str, is_cached: bool, event: dict[str, Any], spend: dict[str, Any]) -> CallRow:
    failed, prompt = event.get("exception") or {}, event.get("prompt_id")
    scenario_id, _, sample = str(prompt).partition("__s")
    model = event.get("model") or event.get("annotator") or (event.get("sut") if called == "sut" else None)
    step = event.get("step")
    return CallRow(
        run_id, event.get("sut"), scenario_id if prompt else None, (int(sample) if sample.isdigit() else 0) if prompt else None, event.get("test"),
        event.get("purpose") or CALLED.get(called, ""), event.get("row"), event.get("turn"), int(step or 0) if called == "sut" else step, model, event.get("caller"),
        is_cached, int(event.get("turns") or 1), int(failed.get("attempts") or spend.get("calls") or 0), int(spend.get("input_tokens") or 0), int(spend.get("output_tokens") or 0),
        None if spend.get("unpriced_calls") else spend.get("priced_cost"), event.get("run_time") if "run_time" in event else event.get("original_run_time"),
        failed.get("message") or event.get("text"),
    )
