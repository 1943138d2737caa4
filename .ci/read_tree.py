#!/usr/bin/env python3
"""Reads a benchmark tree without Probity and recomputes what Probity wrote into it.

    read_tree.py BENCHMARK_FOLDER...

Only json, PyYAML and the description of the tree (docs/formats/benchmark-tree.md) are used, so that a mistake that Probity makes
in writing and in reading alike is found here. Prints each difference and exits with 1 if there is one.
"""

import json
import math
import re
import sys
from collections import defaultdict
from pathlib import Path

import yaml

SCENARIO = {"id", "metric_id", "metric_name", "metric_type", "persona", "user_goal", "latent_adversarial_goal", "landmarks", "demographic"}
CONVERSATION = SCENARIO | {"conv_id", "target", "transcript", "sample", "_sample"}
SCORE = {
    "id", "metric_id", "metric_name", "metric_type", "target_model", "conv_id", "present", "passed", "score", "justification",
    "sample",
}
SUMMARY = [
    "target_model", "positive_pass_rate", "negative_pass_rate", "n_positive", "n_negative", "n_total", "by_metric", "by_scenario",
]
PHASES = {"tree": ["gen_metrics", "gen_scenarios"], "run": ["simulate", "evaluate"]}


class Tree:
    """One benchmark's folder, and what is wrong with it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.wrong = []

    def check(self, holds, text):
        if not holds:
            self.wrong.append(f"{self.folder}: {text}")

    def same(self, have, wanted, what):
        self.check(have == wanted, f"{what} is {have!r} and should be {wanted!r}")

    def json(self, *parts):
        path = self.folder.joinpath(*parts)
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=no_number)


def no_number(text):
    raise ValueError(f"{text} is no JSON number")


def rate(rows):
    """A rate over the rows that have a verdict, as results.json spells it."""
    scored = [row["passed"] for row in rows if row["passed"] is not None]
    passed = sum(scored)
    share = round(passed / len(scored), 4) if scored else None
    return {"pass_rate": share, "n_passed": passed, "n_total": len(scored)}


def summary(model, rows):
    of_type = {kind: [row for row in rows if row["metric_type"] == kind] for kind in ("positive", "negative")}
    groups = {"metric_id": defaultdict(list), "id": defaultdict(list)}
    for row in rows:
        for key, group in groups.items():
            group[row[key]].append(row)
    return {
        "target_model": model,
        "positive_pass_rate": rate(of_type["positive"])["pass_rate"],
        "negative_pass_rate": rate(of_type["negative"])["pass_rate"],
        "n_positive": len(of_type["positive"]),
        "n_negative": len(of_type["negative"]),
        "n_total": len(rows),
        "by_metric": {key: rate(group) for key, group in sorted(groups["metric_id"].items())},
        "by_scenario": {key: rate(group) for key, group in sorted(groups["id"].items())},
    }


def check_metrics(tree):
    benchmark = yaml.safe_load((tree.folder / "benchmark.yaml").read_text(encoding="utf-8"))
    metrics = {metric["id"]: metric for metric in benchmark["metrics"]}
    tree.same(len(metrics), len(benchmark["metrics"]), "benchmark.yaml: the number of different metric ids")
    for metric in metrics.values():
        tree.check(metric["type"] in ("positive", "negative"), f"benchmark.yaml: {metric['id']} has the type {metric['type']!r}")
        if metric["type"] == "negative":
            tree.check(metric["name"].startswith("Avoid "), f"benchmark.yaml: {metric['id']} is negative and named {metric['name']!r}")
    return metrics


def check_scenarios(tree, metrics):
    scenarios = {row["id"]: row for row in tree.json("scenarios.json")}
    tree.same(len(scenarios), len(tree.json("scenarios.json")), "scenarios.json: the number of different ids")
    for row in scenarios.values():
        tree.check(SCENARIO <= row.keys(), f"scenarios.json: {row['id']} lacks {SCENARIO - row.keys()}")
        metric = metrics[row["metric_id"]]
        tree.same((row["metric_name"], row["metric_type"]), (metric["name"], metric["type"]), f"scenarios.json: the metric of {row['id']}")
        turns = [landmark["turn"] for landmark in row["landmarks"]]
        tree.check(turns == sorted(set(turns)), f"scenarios.json: {row['id']} has landmarks at {turns}")
    return scenarios


def check_conversations(tree, model, scenarios):
    rows = tree.json("runs", model, "conversations.json")
    for row in rows:
        name = f"runs/{model}/conversations.json: {row.get('conv_id')}"
        tree.check(CONVERSATION <= row.keys(), f"{name} lacks {CONVERSATION - row.keys()}")
        suffix = f"__s{row['sample']}" if row["sample"] else ""
        tree.same(row["conv_id"], f"{row['id']}__{model}{suffix}", f"{name}: conv_id")
        tree.same(set(row["target"]), {"id", "model"}, f"{name}: the keys of target")
        tree.same(row["target"]["id"], model, f"{name}: target.id")
        wanted = scenarios[row["id"]]
        tree.same({key: row[key] for key in wanted}, wanted, f"{name}: its scenario")
        check_tools(tree, row["transcript"], name)
        # Without the steps in which tools are called, two speakers take turns.
        spoken = [message for message in row["transcript"] if message["role"] != "tool" and not message.get("tool_calls")]
        for number, message in enumerate(spoken):
            tree.same(message["role"], ("user", "assistant")[number % 2], f"{name}: the role of message {number + 1}")
            tree.check(not re.search(r"^\s*(Thought|Message):", message["content"]), f"{name}: message {number + 1} holds a label")
    ids = [row["conv_id"] for row in rows]
    tree.same(len(set(ids)), len(ids), f"runs/{model}/conversations.json: the number of different conv_ids")
    return rows


def check_tools(tree, transcript, name):
    """Every call has an id of its own, and is answered by the tool messages behind its message, in their order."""
    seen, waiting = set(), []
    for number, message in enumerate(transcript, 1):
        tree.check(isinstance(message["content"], str), f"{name}: message {number} has no text")
        if message["role"] == "tool":
            answered = (message["tool_call_id"], message["name"])
            tree.same(answered, waiting.pop(0) if waiting else None, f"{name}: the call that message {number} answers")
            continue
        tree.same(waiting, [], f"{name}: calls without an answer before message {number}")
        calls = message.get("tool_calls", [])
        tree.check(not calls or message["role"] == "assistant", f"{name}: message {number} calls tools")
        for call in calls:
            tree.check(call["id"] not in seen, f"{name}: duplicate id {call['id']}")
            tree.same((set(call), call["type"]), ({"id", "type", "function"}, "function"), f"{name}: a call of message {number}")
            tree.check(isinstance(call["function"]["arguments"], str), f"{name}: arguments in message {number} are no text")
            seen.add(call["id"])
        waiting = [(call["id"], call["function"]["name"]) for call in calls]
    tree.same(waiting, [], f"{name}: calls without an answer at the end")


def check_scores(tree, model, conversations, metrics):
    rows = tree.json("runs", model, "scores.json")
    known = {row["conv_id"]: row for row in conversations}
    tree.same([row["conv_id"] for row in rows], list(known), f"runs/{model}/scores.json: the conversations judged")
    for row in rows:
        name = f"runs/{model}/scores.json: {row['conv_id']}"
        tree.check(SCORE <= row.keys(), f"{name} lacks {SCORE - row.keys()}")
        metric = metrics[row["metric_id"]]
        tree.same((row["metric_name"], row["metric_type"]), (metric["name"], metric["type"]), f"{name}: its metric")
        tree.same(row["target_model"], model, f"{name}: target_model")
        tree.same((row["id"], row["sample"]), (known[row["conv_id"]]["id"], known[row["conv_id"]]["sample"]), f"{name}: its conversation")
        verdict = row["present"]
        passed = None if verdict is None else verdict == (metric["type"] == "positive")
        tree.same(row["passed"], passed, f"{name}: passed")
        tree.same(row["score"], None if passed is None else int(passed), f"{name}: score")
        tree.check(isinstance(row["justification"], str) and row["justification"], f"{name} has no justification")
    return rows


def check_cost(tree, parts, phases, rows=None):
    costs = tree.json(*parts, "cost.json")
    name = "/".join([*parts, "cost.json"])
    tree.same(list(costs), phases, f"{name}: its phases")
    for phase, entry in costs.items():
        tree.same(set(entry), {"phase", "cost", "input_tokens", "output_tokens"}, f"{name}: the keys of {phase}")
        tree.same(entry["phase"], phase, f"{name}: phase")
        if rows is None:
            continue
        usage = [row["_usage"] for row in rows[phase] if "_usage" in row]
        for key in ("input_tokens", "output_tokens"):
            tree.same(entry[key], sum(one[key] for one in usage), f"{name}: {key} of {phase}")
        dollars = [one["cost"] for one in usage]
        if None in dollars:
            tree.same(entry["cost"], None, f"{name}: cost of {phase}")
        else:
            tree.check(math.isclose(entry["cost"], sum(dollars), abs_tol=1e-6 * (1 + len(dollars))), f"{name}: cost of {phase} is not the sum of its rows")


def rank(row):
    share = row["positive_pass_rate"]
    return (share is None, -(share or 0.0))


def check_results(tree, summaries):
    results = tree.json("results.json")
    tree.same(sorted(row["target_model"] for row in results), sorted(summaries), "results.json: its models")
    tree.same([rank(row) for row in results], sorted(rank(row) for row in results), "results.json: the order of its models")
    for row in results:
        tree.same(list(row), SUMMARY, f"results.json: the keys of {row['target_model']}")
        for key, wanted in summaries.get(row["target_model"], {}).items():
            tree.same(row[key], wanted, f"results.json: {key} of {row['target_model']}")
            if isinstance(wanted, dict):
                tree.same(list(row[key]), list(wanted), f"results.json: the order of {key} of {row['target_model']}")


def check(folder):
    tree = Tree(folder)
    metrics = check_metrics(tree)
    scenarios = check_scenarios(tree, metrics)
    # A tree whose metrics and scenarios were written by hand has cost nothing.
    if (tree.folder / "cost.json").exists():
        check_cost(tree, [], PHASES["tree"])
    summaries = {}
    for run in sorted((tree.folder / "runs").iterdir()):
        conversations = check_conversations(tree, run.name, scenarios)
        scores = check_scores(tree, run.name, conversations, metrics)
        check_cost(tree, ["runs", run.name], PHASES["run"], {"simulate": conversations, "evaluate": scores})
        summaries[run.name] = summary(run.name, scores)
    check_results(tree, summaries)
    rows = sum(one["n_total"] for one in summaries.values())
    print(f"{folder}: {len(metrics)} metrics, {len(scenarios)} scenarios, {rows} scores of {len(summaries)} models, {len(tree.wrong)} differences")
    return tree.wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wrong = [line for folder in sys.argv[1:] for line in check(folder)]
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(bool(wrong))


main()
