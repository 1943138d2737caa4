"""Results: the files of a benchmark, and what the command says of them. Nothing of statistics is computed here."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._errors import ConfigError, GateFailed
from ._run import call


@dataclass(frozen=True)
class Rate:
    """The rate of a target: of a metric, or of `all`, `positive` or `negative` ones. `lower` and `upper` are its 95% interval; null without a row."""

    target: str
    metric: str
    estimate: float | None
    lower: float | None
    upper: float | None
    passed: int
    rows: int
    scenarios: int


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    cells = [[_shown(cell) for cell in row] for row in rows]
    widths = [max(len(line[at]) for line in [list(head), *cells]) for at in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in [list(head), *cells]]
    return "\n".join([title, *lines])


def _html(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    def line(tag: str, cells: Sequence[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(_shown(cell))}</{tag}>" for cell in cells) + "</tr>"

    return f"<p>{html.escape(title)}</p><table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


def _shown(cell: object) -> str:
    return "-" if cell is None else f"{cell:.3g}" if isinstance(cell, float) else str(cell)


class Results:
    """The results of a benchmark, in its folder."""

    def __init__(self, path: Path, held: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.path, self._held = path, held
        self.name = path.name

    @property
    def statistics(self) -> dict[str, Any]:
        """`statistics.json`, written first where it is missing."""
        file = self.path / "statistics.json"
        if not file.exists():
            call(["aggregate", self.name, "--benchmarks", str(self.path.parent)], good=(0, 1))
        value = json.loads(file.read_text(encoding="utf-8"))
        assert isinstance(value, dict)
        return value

    def targets(self) -> list[str]:
        """The ids of the targets."""
        return sorted(folder.name for folder in (self.path / "runs").glob("*") if folder.is_dir())

    def rates(self) -> list[Rate]:
        """The rates of all targets: over all rows, by polarity, and by metric."""
        rates = []
        for target in self.statistics["targets"]:
            of = target["rates"]
            named = {**{key: of[key] for key in ("all", "positive", "negative") if of.get(key)}, **(of.get("metrics") or {})}
            for metric, rate in named.items():
                rates.append(Rate(target["target"], metric, rate["estimate"], rate["lower"], rate["upper"], rate["passed"], rate["rows"], rate["scenarios"]))
        return rates

    def _rows(self, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for target in self.targets():
            path = self.path / "runs" / target / file
            for row in json.loads(path.read_text(encoding="utf-8")) if path.exists() else ():
                yield target, row

    def scores(self) -> Iterator[dict[str, Any]]:
        """The rows of `scores.json` of all targets: one for each conversation and metric."""
        for target, row in self._rows("scores.json"):
            yield {
                "target": target, "conv_id": row["conv_id"], "scenario_id": row["id"], "sample": row.get("sample", 0), "epoch": row.get("sample", 0) + 1,
                "metric_id": row["metric_id"], "metric_name": row.get("metric_name"), "metric_type": row.get("metric_type"), "present": row.get("present"),
                "passed": row.get("passed"), "score": row.get("score"), "value": row.get("value"), "label": row.get("label"), "reason": row.get("justification"),
                "no_verdict": row.get("_no_verdict"), "error": row.get("error"), "imported": bool(row.get("imported")), "cost": (row.get("_usage") or {}).get("cost"),
            }

    def conversations(self) -> Iterator[dict[str, Any]]:
        """The rows of `conversations.json` of all targets."""
        for target, row in self._rows("conversations.json"):
            usage = row.get("_usage") or {}
            yield {
                "target": target, "conv_id": row["conv_id"], "scenario_id": row["id"], "base_scenario_id": row.get("base_scenario_id"), "metric_id": row.get("metric_id"),
                "sample": row.get("sample", 0), "turns": sum(turn["role"] == "user" for turn in row["transcript"]), "error": row.get("error"),
                "no_verdict": row.get("_no_verdict"), "cost": usage.get("cost"), "input_tokens": usage.get("input_tokens"), "output_tokens": usage.get("output_tokens"),
            }

    def messages(self) -> Iterator[dict[str, Any]]:
        """The messages of all conversations."""
        for target, row in self._rows("conversations.json"):
            turn = 0
            for n, message in enumerate(row["transcript"], 1):
                turn += message["role"] == "user"
                yield {
                    "conv_id": row["conv_id"], "target": target, "n": n, "turn": turn, "role": message["role"], "content": message.get("content") or "",
                    "reasoning": message.get("reasoning"), "tool_calls": json.dumps(message.get("tool_calls") or []), "finish_reason": message.get("finish_reason"),
                }

    def scores_df(self, engine: str | None = None) -> Any:
        """`scores` as a data frame of polars or pandas."""
        return _frame(self.scores(), engine)

    def conversations_df(self, engine: str | None = None) -> Any:
        """`conversations` as a data frame."""
        return _frame(self.conversations(), engine)

    def messages_df(self, engine: str | None = None) -> Any:
        """`messages` as a data frame."""
        return _frame(self.messages(), engine)

    def statistics_df(self, engine: str | None = None) -> Any:
        """`rates` as a data frame."""
        return _frame((dict(vars(rate)) for rate in self.rates()), engine)

    def _shown(self) -> tuple[str, Sequence[str], list[Sequence[object]]]:
        rows = [(r.target, r.metric, r.estimate, r.lower, r.upper, f"{r.passed} of {r.rows}") for r in self.rates()]
        return f"{self.name}: pass rates with 95% intervals", ("target", "metric", "rate", "lower", "upper", "rows"), [*rows]

    def __repr__(self) -> str:
        return _table(*self._shown())

    def _repr_html_(self) -> str:
        return _html(*self._shown())


def _frame(rows: Iterator[dict[str, Any]], engine: str | None) -> Any:
    for name in [engine] if engine else ["polars", "pandas"]:
        try:
            module = __import__(name)
        except ImportError:
            continue
        return module.DataFrame(list(rows), infer_schema_length=None) if name == "polars" else module.DataFrame(list(rows))
    raise ImportError("a data frame needs polars or pandas: pip install 'probity-eval[polars]'")


def load(path: str | os.PathLike[str]) -> Results:
    """The results in a benchmark's folder, or in logs of Inspect, promptfoo and other programs: every scorer that says yes or no is a metric."""
    folder = Path(path)
    if (folder / "benchmark.yaml").exists():
        return Results(folder.resolve())
    if not folder.exists():
        raise ConfigError(f"{folder}: no such file or folder")
    return from_inspect(folder)


def from_inspect(logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, verdicts: Mapping[str, str] | None = None, cluster: str | None = None) -> Results:
    """The results in logs of Inspect, with intervals that know which samples belong together. `verdicts` says when a scorer counts as yes, such as
    `{"flattery": ">=0.5"}`; without it every scorer that says yes or no is a metric. `cluster` is the key of the samples' metadata that dependent
    samples share."""
    paths = [logs] if isinstance(logs, (str, os.PathLike)) else list(logs)
    held = tempfile.TemporaryDirectory(prefix="probity-")
    rules = [f"{scorer}={scorer}:{condition}" for scorer, condition in (verdicts or {}).items()] or ["all"]
    arguments = ["import", *(os.path.abspath(path) for path in paths), "--benchmarks", held.name, "--as", "logs"]
    arguments += [word for rule in rules for word in ("--verdicts", rule)]
    if cluster:
        arguments += ["--cluster", cluster.removeprefix("metadata.")]
    call(arguments, good=(0, 1))
    return Results(Path(held.name) / "logs", held)


@dataclass(frozen=True)
class Comparison:
    """The difference `a` - `b` of two targets, paired by scenario: in rates, with its 95% interval and its corrected p-value."""

    a: str
    b: str
    difference: float | None
    lower: float | None
    upper: float | None
    p_value: float | None
    p_corrected: float | None
    units: int
    says: str

    def __str__(self) -> str:
        return f"{self.a} - {self.b}: {_shown(self.difference)} ({_shown(self.lower)} to {_shown(self.upper)}), corrected p {_shown(self.p_corrected)}: {self.says}"


def compare(results: Results, a: str, b: str) -> Comparison:
    """Compares two targets over all rows."""
    output = call(["compare", results.name, a, b, "--benchmarks", str(results.path.parent)])
    for found in output["comparisons"]:
        if found["scope"] == "all" and {found["a"], found["b"]} == {a, b}:
            sign = 1 if found["a"] == a else -1
            ends = [found["lower"], found["upper"]][::sign]
            lower, upper = (None if end is None else sign * end for end in ends)
            difference = None if found["difference"] is None else sign * found["difference"]
            return Comparison(a, b, difference, lower, upper, found["p_value"], found["p_corrected"], found["units"], found["says"])
    raise ConfigError(f"{results.name}: {a} and {b} have no scenario in common")


@dataclass(frozen=True)
class Gate:
    """The answer of a gate: `pass`, `fail` or `inconclusive`, and the result of each rule."""

    answer: str
    results: list[dict[str, Any]]

    def check(self) -> None:
        """Raises `GateFailed` unless it passes."""
        if self.answer != "pass":
            open_ = [f"{r['target']}: {r['requires']}: {r['answer']}: {r['reason']}" for r in self.results if r["answer"] != "pass"]
            raise GateFailed(f"{self.answer}\n" + "\n".join(open_))


def gate(results: Results, rules: str | os.PathLike[str]) -> Gate:
    """Holds the rules of a file against the results."""
    output = call(["gate", results.name, "--rules", os.path.abspath(rules), "--benchmarks", str(results.path.parent)], good=(0, 1, 4))
    return Gate(output["answer"], output["results"])
