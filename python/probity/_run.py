"""Runs: the command of this package, started without a shell."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ._errors import CommandMissing, ConfigError, ConfigProblem, Error, Interrupted, RowsFailed

if TYPE_CHECKING:
    from ._results import Results

MESSAGE = re.compile(r"^error: (?:(?P<file>[^:\n]+?), line (?P<line>\d+): (?:(?P<key>[^\s:]+): )?)?(?P<reason>.*)$")


def command() -> str:
    """The path of the command `probity`: the one beside this Python, else that of PATH."""
    beside = Path(sys.executable).with_name("probity.exe" if os.name == "nt" else "probity")
    found = str(beside) if beside.exists() else shutil.which("probity")
    if not found:
        raise CommandMissing("the command `probity` was not found beside this Python or in PATH; install probity-eval")
    return found


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    # Parts in Python run with this Python.
    return {"VIRTUAL_ENV": sys.prefix, **os.environ, **(env or {})}


def call(arguments: Sequence[str], *, folder: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None, good: Sequence[int] = (0,)) -> dict[str, Any]:
    """Runs the command with `--json`, and returns what it prints. Its messages go to standard error."""
    started = [command(), *arguments, "--json"]
    done = subprocess.run(started, cwd=folder, env=_environment(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    if done.returncode in good:
        sys.stderr.write(done.stderr)
        return _object(done.stdout)
    raise failure(done.returncode, done.stderr)


def call_lines(arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Runs a command that prints an object a line, and yields them as they come."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as messages:
        process = subprocess.Popen([command(), *arguments, "--json"], env=_environment(None), stdout=subprocess.PIPE, stderr=messages, text=True, encoding="utf-8")
        assert process.stdout
        with process, process.stdout:
            try:
                for line in process.stdout:
                    yield _object(line)
            except GeneratorExit:
                process.kill()  # the rest is not needed
                raise
        messages.seek(0)
        if process.returncode:
            raise failure(process.returncode, messages.read())


def _object(text: str) -> dict[str, Any]:
    result = json.loads(text)
    assert isinstance(result, dict)
    return result


def problems(messages: str) -> list[ConfigProblem]:
    """The errors among the messages of the command."""
    found = []
    for line in messages.splitlines():
        match = MESSAGE.match(line)
        if match:
            found.append(ConfigProblem(match["file"], int(match["line"]) if match["line"] else None, match["key"], match["reason"]))
    return found


def failure(code: int, messages: str) -> Error:
    """The error for an exit code."""
    words = messages.strip()[-4000:]
    if code == 130:
        return Interrupted(words)
    if code in (1, 3):
        return RowsFailed(words)
    return ConfigError(words, problems(messages))


@dataclass(frozen=True)
class Event:
    """How far a run is. `kind` is `progress`, or `ended` at its end. Of a phase, `done` of `total` rows have ended, `failed` of them without a result. `cached`
    replies came from the cache and `spent` dollars were paid so far, in all phases; `eta` is in seconds. Null: not known."""

    kind: str
    phase: str | None
    done: int
    total: int
    failed: int
    cached: int
    spent: float | None
    eta: float | None
    text: str


class Running:
    """A run in progress. Iterating gives its events; `stop` ends it in order, `result` waits for its end."""

    def __init__(self, arguments: Sequence[str], name: str | None, folder: str | os.PathLike[str], env: Mapping[str, str]) -> None:
        self._folder, self._name, self._env = Path(folder), name, _environment(env)
        self._before = self._status().get("run_id")
        # A group of its own: Ctrl-C in a terminal reaches Python alone, which stops the run once.
        self.process = subprocess.Popen(
            [command(), *arguments, "--json"], cwd=folder, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
            start_new_session=os.name != "nt",
        )
        assert self.process.stdout and self.process.stderr
        self._is_stopping = False
        self._output: list[str] = []
        self._messages: list[str] = []
        self._readers = [
            threading.Thread(target=self._take, args=(self.process.stdout, self._output, None), daemon=True),
            threading.Thread(target=self._take, args=(self.process.stderr, self._messages, sys.stderr), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _take(stream: IO[str], lines: list[str], shown: IO[str] | None) -> None:
        for line in stream:
            lines.append(line)
            if shown is not None:
                shown.write(line)

    def _status(self) -> dict[str, Any]:
        """The state of the newest run, or nothing."""
        done = subprocess.run([command(), "status", "--json"], cwd=self._folder, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8")
        try:
            return _object(done.stdout)
        except ValueError:
            return {}

    def _events(self, seen: dict[str, Event]) -> Iterator[Event]:
        status = self._status()
        if not status.get("run_id") or status["run_id"] == self._before:
            return
        models = status.get("models") or []
        costs = [(model.get("spent") or {}).get("cost") for model in models]
        left = [model["seconds_left"] for model in models if model.get("seconds_left") is not None]
        spent = sum(cost for cost in costs if cost is not None) if all(cost is not None for cost in costs) else None
        for phase in status.get("phases") or []:
            done, total, failed = (int(phase.get(key) or 0) for key in ("done", "rows", "failed"))
            event = Event(
                "progress", phase["phase"], done, total, failed, int((status.get("calls") or {}).get("cached") or 0), spent, max(left, default=None),
                f"{phase['phase']} {done}" + (f"/{total}" if total else ""),
            )
            if seen.get(event.phase or "") != event:
                seen[event.phase or ""] = event
                yield event

    def __iter__(self) -> Iterator[Event]:
        seen: dict[str, Event] = {}
        wait = 0.2
        while self.process.poll() is None:
            began = time.monotonic()
            yield from self._events(seen)
            # Looking at a large run takes time, and is not to cost more than a tenth.
            wait = max(min(wait * 1.5, 1.0), 10 * (time.monotonic() - began))
            try:
                self.process.wait(wait)
            except subprocess.TimeoutExpired:
                continue
        yield from self._events(seen)
        last = seen.get("evaluate") or seen.get("simulate")
        figures = (last.done, last.total, last.failed, last.cached, last.spent) if last else (0, 0, 0, 0, None)
        yield Event("ended", None, *figures, eta=0.0, text=f"ended with exit code {self.process.returncode}")

    def stop(self) -> None:
        """Ends the run in order: what is in flight ends, results are written. The same call goes on later. A second call changes nothing."""
        if self.process.poll() is None and not self._is_stopping:
            self._is_stopping = True
            self.process.send_signal(signal.SIGINT)

    def result(self, check: bool = True) -> Results:
        """Waits for the end, and returns the results. Raises `RowsFailed` where rows failed, unless `check` is false."""
        from ._results import load

        code = self.process.wait()
        for reader in self._readers:
            reader.join()
        messages = "".join(self._messages)
        is_good = code in ((0,) if check else (0, 1, 3))
        error = None if is_good else failure(code, messages)
        output = _object("".join(self._output)) if self._output else {}
        name = self._name or next((benchmark["name"] for benchmark in output.get("benchmarks") or ()), None)
        path = self._folder / "benchmarks" / str(name)
        if isinstance(error, RowsFailed) and name and (path / "benchmark.yaml").exists():
            error.run = load(path)
            error.failures = [line.strip() for line in messages.splitlines() if line.startswith("    ")]
        if error:
            raise error
        return load(path)


def start(benchmark: str | None = None, *, config: str | os.PathLike[str] | None = None, targets: Sequence[str] = (), set: Mapping[str, object] | None = None,  # noqa: A002
          scripted: bool = False, max_cost: float | None = None, folder: str | os.PathLike[str] = ".") -> Running:
    """Starts a run, and returns it while it goes on: see `run`."""
    arguments = ["run", *([benchmark] if benchmark else []), *(f"--target={target}" for target in targets)]
    if config is not None:
        arguments += ["--config", str(config)]
    if scripted:
        arguments.append("--scripted")
    values = dict(set or {})
    if max_cost is not None:
        values["budget.max_cost"] = max_cost
    env = {"PROBITY_" + key.replace(".", "__").upper(): value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    return Running(arguments, benchmark, folder, env)


def run(benchmark: str | None = None, *, config: str | os.PathLike[str] | None = None, targets: Sequence[str] = (), set: Mapping[str, object] | None = None,  # noqa: A002
        scripted: bool = False, max_cost: float | None = None, folder: str | os.PathLike[str] = ".", check: bool = True,
        on_event: Callable[[Event], object] | None = None) -> Results:
    """Runs a benchmark through all phases, and returns its results. The same call goes on from a run that was stopped.

    `set` overrides keys of the configuration, such as `{"generation.turns": 4}`. `check=False`: rows that failed raise nothing. `on_event` gets each `Event`.
    Ctrl-C stops the run in order and raises `Interrupted`."""
    running = start(benchmark, config=config, targets=targets, set=set, scripted=scripted, max_cost=max_cost, folder=folder)
    try:
        if on_event is not None:
            for event in running:
                on_event(event)
        return running.result(check)
    except BaseException:
        running.stop()
        running.process.wait()
        raise


async def arun(benchmark: str | None = None, **options: Any) -> Results:
    """`run` in an event loop. Cancelled, it stops the run in order."""
    check, on_event = options.pop("check", True), options.pop("on_event", None)
    running = await asyncio.to_thread(start, benchmark, **options)
    try:
        async for event in _aevents(running):
            if on_event is not None:
                on_event(event)
        return await asyncio.to_thread(running.result, check)
    except BaseException:
        running.stop()
        raise


async def astart(benchmark: str | None = None, **options: Any) -> AsyncIterator[Event]:
    """The events of a run in an event loop: `async for event in probity.astart("my-benchmark")`."""
    running = await asyncio.to_thread(start, benchmark, **options)
    try:
        async for event in _aevents(running):
            yield event
    finally:
        running.stop()


async def _aevents(running: Running) -> AsyncIterator[Event]:
    events = iter(running)
    while True:
        event = await asyncio.to_thread(next, events, None)
        if event is None:
            return
        yield event
