"""Runs: the command of this package, started without a shell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import CommandMissing, ConfigError, Interrupted, RowsFailed

if TYPE_CHECKING:
    from ._results import Results


def command() -> str:
    """The path of the command `probity`: the one beside this Python, else that of PATH."""
    beside = Path(sys.executable).with_name("probity.exe" if os.name == "nt" else "probity")
    found = str(beside) if beside.exists() else shutil.which("probity")
    if not found:
        raise CommandMissing("the command `probity` was not found beside this Python or in PATH; install probity-eval")
    return found


def call(arguments: Sequence[str], *, folder: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None,
         good: Sequence[int] = (0,)) -> dict[str, Any]:
    """Runs the command with `--json`, and returns what it prints. Its messages go to standard error."""
    # Judges and targets in Python run with this Python.
    own = {"VIRTUAL_ENV": sys.prefix, **os.environ, **(env or {})}
    done = subprocess.run([command(), *arguments, "--json"], cwd=folder, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    if done.returncode in good:
        sys.stderr.write(done.stderr)
        result = json.loads(done.stdout)
        assert isinstance(result, dict)
        return result
    words = done.stderr.strip()[-4000:]
    if done.returncode == 130:
        raise Interrupted(words)
    if done.returncode == 1:
        raise RowsFailed(words)
    raise ConfigError(words)


def run(benchmark: str | None = None, *, config: str | os.PathLike[str] | None = None, targets: Sequence[str] = (), set: Mapping[str, object] | None = None,  # noqa: A002
        scripted: bool = False, max_cost: float | None = None, folder: str | os.PathLike[str] = ".", check: bool = True) -> Results:
    """Runs a benchmark through all phases, and returns its results. The same call goes on from a run that was stopped.

    `set` overrides keys of the configuration, such as `{"generation.turns": 4}`. `check=False`: rows that failed raise nothing."""
    from ._results import load

    arguments = ["run", *([benchmark] if benchmark else []), *(f"--target={target}" for target in targets)]
    if config is not None:
        arguments += ["--config", str(config)]
    if scripted:
        arguments.append("--scripted")
    values = dict(set or {})
    if max_cost is not None:
        values["budget.max_cost"] = max_cost
    env = {"PROBITY_" + key.replace(".", "__").upper(): value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    output = call(arguments, folder=folder, env=env, good=(0,) if check else (0, 1))
    name = benchmark or output["benchmarks"][0]["name"]
    return load(Path(folder) / "benchmarks" / name)
