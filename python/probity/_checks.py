"""What the command says before a run: its plan, its models, its files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._run import call


@dataclass(frozen=True)
class Plan:
    """What a run would call and spend, at least and at most. `dollars` is null where a price is not known. `details` is all that `plan --json` says."""

    calls: tuple[int, int]
    tokens: tuple[int, int]
    dollars: tuple[float, float] | None
    new_rows: int
    details: dict[str, Any]


def plan(benchmark: str | None = None, *, config: str | os.PathLike[str] | None = None, targets: Sequence[str] = (), scripted: bool = False,
         folder: str | os.PathLike[str] = ".") -> Plan:
    """Counts the calls of a run, and calls no model."""
    arguments = ["plan", *([benchmark] if benchmark else []), *(f"--target={target}" for target in targets)]
    arguments += ["--config", str(config)] if config is not None else []
    arguments += ["--scripted"] if scripted else []
    output = call(arguments, folder=folder)
    total = output["total"]
    ends = {key: (total[key]["low"], total[key]["high"]) for key in ("calls", "tokens", "dollars") if total.get(key)}
    dollars = None if total.get("unpriced") else ends.get("dollars")
    new = sum(int(row["new"]) for row in output.get("cache") or ())
    return Plan(ends["calls"], ends["tokens"], dollars, new, output)


@dataclass(frozen=True)
class ModelCheck:
    """A model of the configuration, and whether it answered."""

    model: str
    endpoint: str
    ok: bool
    text: str


def doctor(*, config: str | os.PathLike[str] | None = None, folder: str | os.PathLike[str] = ".") -> list[ModelCheck]:
    """Calls each model of the configuration once."""
    arguments = ["doctor", *(["--config", str(config)] if config is not None else [])]
    output = call(arguments, folder=folder, good=(0, 1, 3))
    return [ModelCheck(model["model"], model["endpoint"], bool(model["ok"]), model["text"]) for model in output["models"]]


@dataclass(frozen=True)
class Problem:
    """Something wrong in a file. `severity` is `problem`, or `note` for what is only worth knowing."""

    path: str
    kind: str | None
    severity: str
    line: int | None
    column: int | None
    key: str | None
    reason: str
    help: str | None


def validate(path: str | os.PathLike[str]) -> list[Problem]:
    """Checks files or a folder against their formats. Empty: nothing is wrong."""
    output = call(["validate", os.path.abspath(path)], good=(0, 1, 2))
    found = []
    for file in output["files"]:
        for finding in file["findings"]:
            found.append(Problem(
                file["path"], file.get("kind"), finding["severity"], finding.get("line"), finding.get("column"), finding.get("key"), finding["reason"], finding.get("help"),
            ))
    found += [Problem(text.split(": ")[0], None, "problem", None, None, None, text, None) for text in output.get("unchecked") or ()]
    return found
