#!/usr/bin/env python3
"""Reads Inspect logs with the real inspect_ai and compares them with the benchmark tree they were exported from.

    check_inspect.py BENCHMARK_FOLDER LOG_FOLDER
    check_inspect.py --safety LOG_FOLDER FILE...      result files of safety evaluations in place of a tree

Counts, scores, explanations, messages, errors, rates and usage must be those of the tree, whichever way Inspect reads them. Prints each
difference and exits with 1 if there is one.
"""

import json
import math
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

from inspect_ai.log import (
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
)

INSPECT = str(Path(sys.executable).with_name("inspect"))

differences = []


def same(what, ours, theirs):
    if ours != theirs:
        differences.append(f"{what}: the tree has {ours!r}, the log {theirs!r}")


def value_of(score):
    """NaN is Inspect's sign for a score without a value."""
    if isinstance(score.value, float) and math.isnan(score.value):
        return None
    return score.value


def check_sample(place, row, scores, sample):
    same(f"{place}: scenario", row["id"], sample.metadata["id"])
    same(f"{place}: conv_id", row["conv_id"], sample.metadata["conv_id"])
    said = [message for message in sample.messages if message.role != "system"]
    same(f"{place}: roles", [turn["role"] for turn in row["transcript"]], [message.role for message in said])
    same(f"{place}: texts", [turn["content"] for turn in row["transcript"]], [message.text for message in said])
    check_tools(place, row["transcript"], said, sample)
    replies = [turn["content"] for turn in row["transcript"] if turn["role"] == "assistant"]
    calls = [event for event in sample.events if event.event == "model"]
    same(f"{place}: replies", replies, [event.output.completion for event in calls])
    # Each reply was given to all that was said before it.
    at = [n for n, message in enumerate(sample.messages) if message.role == "assistant"]
    same(
        f"{place}: what was replied to",
        [[message.id for message in sample.messages[:n]] for n in at],
        [[message.id for message in event.input] for event in calls],
    )
    last = row["transcript"][-1:] or [{"role": None, "content": ""}]
    same(f"{place}: output", last[0]["content"] if last[0]["role"] == "assistant" else "", sample.output.completion)
    same(f"{place}: error", row.get("error"), sample.error.message if sample.error else None)
    given = sample.scores or {}
    same(f"{place}: metrics", [score["metric_id"] for score in scores], [score.metadata["metric_id"] for score in given.values()])
    for ours, theirs in zip(scores, given.values()):
        same(f"{place}: score", ours["score"], value_of(theirs))
        same(f"{place}: explanation", ours["justification"], theirs.explanation or "")
        same(f"{place}: present", ours["present"], theirs.metadata["present"])


def check_tools(place, transcript, said, sample):
    """Calls and answers stand in the messages and again as events."""
    ours = [call for turn in transcript for call in turn.get("tool_calls") or []]
    theirs = [call for message in said for call in getattr(message, "tool_calls", None) or []]
    same(f"{place}: calls", [(c["id"], c["function"]["name"]) for c in ours], [(c.id, c.function) for c in theirs])
    for ours_, call in zip(ours, theirs):
        try:
            arguments = json.loads(ours_["function"]["arguments"] or "{}")
        except ValueError:
            arguments = None
        if isinstance(arguments, dict):
            same(f"{place}: arguments of {call.id}", (arguments, None), (call.arguments, call.parse_error))
        else:
            same(f"{place}: arguments of {call.id}", True, ours_["function"]["arguments"] in call.parse_error)
    answers = [(turn.get("tool_call_id"), turn.get("name")) for turn in transcript if turn["role"] == "tool"]
    same(f"{place}: answers", answers, [(m.tool_call_id, m.function) for m in said if m.role == "tool"])
    asked = {call["id"] for call in ours}
    events = [(e.id, e.function, e.result) for e in sample.events if e.event == "tool"]
    texts = [turn["content"] for turn in transcript if turn["role"] == "tool"]
    same(f"{place}: events of tools", [(*a, t) for a, t in zip(answers, texts) if a[0] in asked], events)
    ids = {message.id for message in said if message.role == "tool"}
    same(f"{place}: messages of tools' events", True, all(e.message_id in ids for e in sample.events if e.event == "tool"))
    offered = sample.metadata.get("tools")
    for event in (e for e in sample.events if e.event == "model" and offered is not None):
        same(f"{place}: tools offered", sorted(offered), sorted(tool.name for tool in event.tools))


def check_interval(place, ours, metrics):
    """Interval and standard error are those of statistics.json."""
    shown = (metrics["pass_rate"].metadata or {}) if "pass_rate" in metrics else {}
    same(f"{place}: interval", (ours.get("lower"), ours.get("upper")), (shown.get("lower"), shown.get("upper")))
    stderr = metrics.get("stderr")
    same(f"{place}: standard error", ours.get("standard_error"), stderr.value if stderr else None)


def check_rates(place, scores, intervals, log):
    rates = defaultdict(list)
    for row in scores:
        rates[row["metric_id"]].append(row["score"])
    for score in log.results.scores:
        known = [value for value in rates.pop(score.name, []) if value is not None]
        same(f"{place}: {score.name}: scored", len(known), score.scored_samples)
        rate = sum(known) / len(known) if known else None
        theirs = score.metrics.get("pass_rate")
        same(f"{place}: {score.name}: pass rate", rate, theirs.value if theirs else None)
        check_interval(f"{place}: {score.name}", intervals.get(score.name, {}), score.metrics)
    same(f"{place}: metrics that the log does not have", [], list(rates))


def intervals_of(tree, target):
    """The rates of metrics in statistics.json."""
    statistics = json.loads((tree / "statistics.json").read_text(encoding="utf-8"))
    return next(entry["rates"]["metrics"] for entry in statistics["targets"] if entry["target"] == target)


def check_usage(place, log):
    for name in ["model_usage", "role_usage"]:
        total = defaultdict(int)
        for sample in log.samples:
            for key, usage in getattr(sample, name).items():
                total[key] += usage.total_tokens
        whole = {key: usage.total_tokens for key, usage in getattr(log.stats, name).items()}
        same(f"{place}: {name}", dict(total), whole)
    replies = sum(e.output.usage.total_tokens for s in log.samples for e in s.events if e.event == "model" and e.output.usage)
    failed = any(sample.error for sample in log.samples)
    target = log.stats.role_usage.get("target")
    if target and not failed:
        same(f"{place}: usage of the target's replies", target.total_tokens, replies)


def check_log(tree, path):
    log = read_eval_log(path)
    header = read_eval_log(path, header_only=True)
    same(f"{path}: header", header.model_dump_json(exclude={"samples", "reductions"}), log.model_dump_json(exclude={"samples", "reductions"}))
    target = log.eval.metadata["target_id"]
    folder = tree / "runs" / target
    place = f"{tree.name}, {target}"
    rows = json.loads((folder / "conversations.json").read_text(encoding="utf-8"))
    found = folder / "scores.json"
    scores = json.loads(found.read_text(encoding="utf-8")) if found.exists() else []
    by_conversation = defaultdict(list)
    for score in scores:
        by_conversation[score["conv_id"]].append(score)
    summaries = {(s.id, s.epoch): s for s in read_eval_log_sample_summaries(path)}
    samples = {(s.id, s.epoch): s for s in log.samples}
    same(f"{place}: samples", len(rows), len(samples))
    same(f"{place}: total_samples", len(rows), log.results.total_samples)
    same(f"{place}: completed_samples", sum("error" not in row for row in rows), log.results.completed_samples)
    same(f"{place}: summaries", sorted(samples), sorted(summaries))
    same(f"{place}: epochs", max(row["sample"] for row in rows) + 1, log.eval.config.epochs)
    same(f"{place}: sample_ids", list(dict.fromkeys(row["id"] for row in rows)), log.eval.dataset.sample_ids)
    for row in rows:
        key = (row["id"], row["sample"] + 1)
        sample = samples.get(key)
        if sample is None:
            differences.append(f"{place}: {key} is missing")
            continue
        check_sample(f"{place}, {key}", row, by_conversation[row["conv_id"]], sample)
        alone = read_eval_log_sample(path, id=key[0], epoch=key[1])
        same(f"{place}, {key}: read alone", alone.model_dump_json(), sample.model_dump_json())
        # What Inspect itself would have written as the summary has the same scores.
        listed, own = summaries[key].scores or {}, sample.summary().scores or {}
        short = [(name, str(score.value), score.explanation, score.reason) for name, score in listed.items()]
        same(f"{place}, {key}: summary", [(name, str(s.value), s.explanation, s.reason) for name, s in own.items()], short)
    check_rates(place, scores, intervals_of(tree, target), log)
    check_usage(place, log)
    return target


def check_safety_log(path, files):
    """The log of one result file, and what Inspect makes of it."""
    log = read_eval_log(path)
    found = [data for data in files if data["probity"]["run"]["run_id"] == log.eval.run_id]
    found = [data for data in found if data["probity"]["run"]["target"]["id"] == log.eval.metadata["target_id"]]
    same(f"{path}: files of the run", 1, len(found))
    for data in found:
        layers = data.get("results_by_iteration")
        rows = data["results"] if layers is None else [row for layer in layers for row in layer]
        samples = {sample.metadata["conversation_id"]: sample for sample in log.samples}
        same(f"{path}: samples", len(rows) + len(data["probity"]["errors"]), len(log.samples))
        passed = sum(score.metadata["passed"] for score in log.results.scores)
        same(f"{path}: passed", data["total_passed"], passed)
        for row in rows:
            sample = samples[row["conversation_id"]]
            texts = [row["user_input"], row["model_response"]] if layers is not None else [m["content"] for m in row["conversation"]]
            same(f"{path}: {sample.id}: texts", texts, [m.text for m in sample.messages if m.role != "system"])
            (score,) = sample.scores.values()
            lowest = row["safe_response_score" if layers is not None else "min_safe_response_score"]
            same(f"{path}: {sample.id}: score", (lowest, row["passed"]), (score.value, score.metadata["passed"]))
            same(f"{path}: {sample.id}: explanation", True, bool(score.explanation))
    check_usage(path, log)


def safety(folder, paths):
    files = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
    logs = list_eval_logs(str(folder))
    for log in logs:
        check_safety_log(log.name.removeprefix("file://"), [file.get("data", file) for file in files])
    end(folder.name, logs, len(files))


def end(name, logs, wanted):
    same("logs", wanted, len(logs))
    for difference in differences:
        print(difference[:2000])
    print(f"{name}: {len(logs)} logs, {len(differences)} differences")
    sys.exit(1 if differences else 0)


def main():
    if sys.argv[1] == "--safety":
        safety(Path(sys.argv[2]), sys.argv[3:])
    tree, folder = Path(sys.argv[1]), Path(sys.argv[2])
    logs = list_eval_logs(str(folder))
    wanted = sorted(p.name for p in (tree / "runs").iterdir() if (p / "conversations.json").exists())
    same("targets", wanted, sorted(check_log(tree, log.name.removeprefix("file://")) for log in logs))
    for path in folder.glob("*.eval"):
        broken = zipfile.ZipFile(path).testzip()
        same(f"{path}: broken part", None, broken)
    listed = subprocess.run([INSPECT, "log", "list", "--json", "--log-dir", folder], capture_output=True, text=True, check=True)
    same("inspect log list", len(logs), len(json.loads(listed.stdout)))
    for log in logs:
        dumped = subprocess.run([INSPECT, "log", "dump", log.name], capture_output=True, text=True, check=True)
        same(f"inspect log dump {log.name}", "2", str(json.loads(dumped.stdout)["version"]))
    end(tree.name, logs, len(wanted))


main()
