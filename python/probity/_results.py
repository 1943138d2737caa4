"""Results: the files of a benchmark, and what the command says of them. Nothing of statistics is computed here."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from . import _frames, _rows
from ._errors import ConfigError, GateFailed
from ._frames import Engine
from ._rows import CallRow, ConversationRow, JudgeRow, MessageRow, Rate, ScenarioRow, ScoreRow
from ._run import call, call_lines

Batched = Literal["scores", "judges", "conversations", "messages", "calls"]
BATCHED: dict[str, type[Any]] = {"scores": ScoreRow, "judges": JudgeRow, "conversations": ConversationRow, "messages": MessageRow, "calls": CallRow}


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
            people = ((target.get("judge") or {}).get("people") or {}).get("scopes") or ()
            corrected = {scope["scope"]: scope.get("corrected") or {} for scope in people}
            for metric, rate in named.items():
                missing, by_people = rate.get("missing") or {}, corrected.get(metric, {})
                rates.append(Rate(
                    target["target"], metric, rate["estimate"], rate["lower"], rate["upper"], rate["passed"], rate["rows"], rate["scenarios"],
                    int(missing.get("failed") or 0) + int(missing.get("abstained") or 0),
                    by_people.get("estimate"), by_people.get("lower"), by_people.get("upper"),
                ))
        return rates

    def _read(self, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
        with tempfile.TemporaryDirectory() as copied:
            root = self.path
            if self._in_segments(file):
                # Python before 3.14 cannot read zstd: the command writes plain files.
                call(["export", "tree", self.name, "--benchmarks", str(self.path.parent), "--plain", copied])
                root = Path(copied) / self.name
            for target in self.targets():
                path = root / "runs" / target / file
                for row in _rows.array(path) if path.exists() else ():
                    yield target, row

    def _in_segments(self, file: str) -> bool:
        """Whether a target has the rows of this file in segments."""
        folders = [self.path / "runs" / target for target in self.targets()]
        return any((folder / file.removesuffix(".json") / "index.json").exists() and not (folder / file).exists() for folder in folders)

    def scores(self) -> Iterator[ScoreRow]:
        """The verdicts of all targets: one for each conversation and metric."""
        return (_rows.score(target, row) for target, row in self._read("scores.json"))

    def judges(self) -> Iterator[JudgeRow]:
        """What the judges of a panel said, each in each reading. A single judge without further readings has its verdict in `scores` alone."""
        return (judge for target, row in self._read("scores.json") for judge in _rows.judges(target, row))

    def conversations(self) -> Iterator[ConversationRow]:
        """The conversations of all targets."""
        return (_rows.conversation(target, row) for target, row in self._read("conversations.json"))

    def messages(self) -> Iterator[MessageRow]:
        """The messages of all conversations."""
        return (message for target, row in self._read("conversations.json") for message in _rows.messages(target, row))

    def scenarios(self) -> Iterator[ScenarioRow]:
        """The scenarios of the benchmark."""
        path = self.path / "scenarios.json"
        return (_rows.scenario(row) for row in (_rows.array(path) if path.exists() else ()))

    def calls(self) -> Iterator[CallRow]:
        """The calls to models of the newest run of the benchmark, from its journal. Raises `ConfigError` where there is none: logs of other programs have none."""
        if self._held is not None:
            raise ConfigError(f"{self.name}: results of logs have no journal of calls")
        yield from _rows.calls(call_lines(["journal", "show", str(self.path), "--benchmarks", str(self.path.parent)]))

    def calls_df(self, engine: Engine = None) -> Any:
        """`calls` as a data frame."""
        return _frames.frame(CallRow, self.calls(), engine)

    def batches(self, rows: Batched, size: int = 100_000, engine: Engine = None) -> Iterator[Any]:
        """`scores`, `judges`, `conversations`, `messages` or `calls` as data frames of `size` rows each: only one of them is in memory."""
        if rows not in BATCHED:
            raise ValueError(f"unknown rows {rows!r}; there are {', '.join(BATCHED)}")
        return _frames.batches(BATCHED[rows], getattr(self, rows)(), size, engine)

    def scores_df(self, engine: Engine = None) -> Any:
        """`scores` as a data frame of polars or pandas, whichever is installed. Columns have fixed types, also without rows."""
        return _frames.frame(ScoreRow, self.scores(), engine)

    def judges_df(self, engine: Engine = None) -> Any:
        """`judges` as a data frame."""
        return _frames.frame(JudgeRow, self.judges(), engine)

    def conversations_df(self, engine: Engine = None) -> Any:
        """`conversations` as a data frame."""
        return _frames.frame(ConversationRow, self.conversations(), engine)

    def messages_df(self, engine: Engine = None) -> Any:
        """`messages` as a data frame."""
        return _frames.frame(MessageRow, self.messages(), engine)

    def scenarios_df(self, engine: Engine = None) -> Any:
        """`scenarios` as a data frame, with a column `demographic_AXIS` for each axis."""
        return _frames.frame(ScenarioRow, self.scenarios(), engine)

    def statistics_df(self, engine: Engine = None) -> Any:
        """`rates` as a data frame."""
        return _frames.frame(Rate, iter(self.rates()), engine)

    def samples_df(self, engine: Engine = None) -> Any:
        """The conversations with the names that Inspect's `samples_df` has: `id`, `epoch`, `model`, `error`, and `score_METRIC` for each metric."""
        return _frames.samples(self.scores(), engine)

    def _shown(self) -> tuple[str, Sequence[str], list[Sequence[object]]]:
        rows = [(r.target, r.metric, r.estimate, r.lower, r.upper, f"{r.passed} of {r.rows}") for r in self.rates()]
        return f"{self.name}: pass rates with 95% intervals", ("target", "metric", "rate", "lower", "upper", "rows"), [*rows]

    def __repr__(self) -> str:
        return _table(*self._shown())

    def _repr_html_(self) -> str:
        return _html(*self._shown())


def load(path: str | os.PathLike[str]) -> Results:
    """The results in a benchmark's folder, or in logs of Inspect, promptfoo and other programs: every scorer that says yes or no is a metric."""
    folder = Path(path)
    if (folder / "benchmark.yaml").exists():
        return Results(folder.resolve())
    if not folder.exists():
        raise ConfigError(f"{folder}: no such file or folder")
    return from_inspect(folder)


Log = Any  # a path, or an `EvalLog` of inspect_ai, which is not imported for its type


def from_inspect(logs: Log | Sequence[Log], *, verdicts: Mapping[str, str] | None = None, cluster: str | None = None) -> Results:
    """The results in logs of Inspect (files, folders, or `EvalLog`s), with intervals that know which samples belong together. `verdicts` says when a scorer counts as yes, such as
    `{"flattery": ">=0.5"}`; without it every scorer that says yes or no is a metric. `cluster` is the key of the samples' metadata that dependent
    samples share."""
    listed = list(logs) if isinstance(logs, (list, tuple)) else [logs]
    held = tempfile.TemporaryDirectory(prefix="probity-")
    paths = [_log_path(log, Path(held.name) / "logs" / f"{at:04}.eval") for at, log in enumerate(listed)]
    rules = [f"{scorer}={scorer}:{condition}" for scorer, condition in (verdicts or {}).items()] or ["all"]
    arguments = ["import", *paths, "--benchmarks", held.name, "--as", "imported"]
    arguments += [word for rule in rules for word in ("--verdicts", rule)]
    if cluster:
        arguments += ["--cluster", cluster.removeprefix("metadata.")]
    call(arguments, good=(0, 1))
    return Results(Path(held.name) / "imported", held)


def _log_path(log: Log, written: Path) -> str:
    """The file of a log. An `EvalLog` is written first: it may have been changed since it was read."""
    if isinstance(log, (str, os.PathLike)):
        return os.path.abspath(log)
    from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

    if not isinstance(log, EvalLog):
        raise TypeError(f"expected a path or an EvalLog, not {type(log).__name__}")
    whole = log if log.samples is not None else read_eval_log(log.location)
    written.parent.mkdir(exist_ok=True)
    write_eval_log(whole, str(written), format="eval")
    return str(written)


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
