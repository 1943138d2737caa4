"""Parts of a run: a decorated function, served over standard input and output by protocol 1 (docs/any-language.md)."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, Union, overload

from ._host import AsyncHost, Host, said_as
from ._types import Abstain, Conversation, Message, Metric, Reply, Said, Scenario, Verdict

F = TypeVar("F", bound=Callable[..., Any])
Models = Union[Sequence[str], Mapping[str, tuple[int, int]]]

PARAMETERS = {
    "judge": ("conversation", "metric", "fault", "settings", "host"),
    "target": ("message", "messages", "conversation", "session", "turn", "tools", "seed", "settings", "host"),
    "simulator": ("scenario", "messages", "turn", "turns", "seed", "fault", "settings", "host"),
    "tools": ("tool", "arguments", "calls", "conversation", "session", "turn", "world_state", "fault", "settings", "host"),
    "metrics": ("name", "description", "user_context", "count", "existing", "fault", "settings", "host"),
    "scenarios": ("name", "description", "user_context", "metric", "count", "turns", "landmarks", "demographics", "tools", "existing", "fault",
                  "settings", "host"),
}
# A model answers with the prompts of the role that it has.
PARAMETERS["model"] = PARAMETERS["target"]
# A simulated user that plays a whole conversation.
OF_WHOLE = ("scenario", "say", "turns", "seed", "fault", "settings", "host")
# A judge that gets all metrics of a conversation in one request.
OF_CONVERSATIONS = ("conversation", "metrics", "fault", "settings", "host")
# The parts of one file that are served together, and what they are then.
TOGETHER: dict[tuple[str, ...], str] = {("metrics", "scenarios"): "generator"}


class Retryable(Exception):
    """Raised where the same request may succeed later. `seen=False`: a turn was not seen, and may be repeated."""

    kind = "retryable"

    def __init__(self, text: str, *, seen: bool = True) -> None:
        super().__init__(text)
        self.seen = seen


class Refused(Exception):
    """Raised where a provider's filter refused the content."""

    kind = "refused"


class Lost(Exception):
    """Raised where a conversation is not known any more: it begins again."""

    kind = "lost"


class CallFailed(Exception):
    """A call to a model of the run failed, after all its attempts. Not caught, it is the function's answer. `kind` is `over_budget`, `cancelled`, `refused`, or
    another kind of the protocol."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ItemRefused(Exception):
    """Raised in a generator function where the metric or scenario that it yielded does not fit, with the reason. It may yield another one in its place."""

    kind = "malformed"


class SayRefused(Exception):
    """Raised by `say` where the message has a fault of the simulated user, with what is wrong. Another one may be said in its place."""

    kind = "malformed"


class ToolError(Exception):
    """Raised by a tool that refuses a call. The target sees the text."""


class Part:
    """A decorated function and what it says of itself."""

    def __init__(self, function: Callable[..., Any], kind: str, options: dict[str, Any]) -> None:
        self.function, self.kind, self.options = function, kind, options
        self.names = list(inspect.signature(function).parameters)
        if options.get("per", "metric") not in ("metric", "conversation"):
            raise TypeError(f"{kind} {function.__name__}: per is \"metric\" or \"conversation\", not {options['per']!r}")
        if options.get("form", "next") not in ("next", "whole"):
            raise TypeError(f"{kind} {function.__name__}: form is \"next\" or \"whole\", not {options['form']!r}")
        known = OF_CONVERSATIONS if self.is_per_conversation else OF_WHOLE if self.is_whole else PARAMETERS[kind]
        for name in self.names:
            if name not in known:
                raise TypeError(f"{kind} {function.__name__}: unknown parameter {name!r}; there are {', '.join(known)}")
        self.is_async = inspect.iscoroutinefunction(function)
        self.settings: dict[str, Any] = dict(options.get("settings") or {})
        self.sessions: dict[str, dict[str, Any]] = {}

    @property
    def is_per_conversation(self) -> bool:
        return bool(self.options.get("per") == "conversation")

    @property
    def is_whole(self) -> bool:
        return bool(self.options.get("form") == "whole")

    @property
    def file(self) -> str:
        # A function that was made for a file, and not in it, names that file.
        return str(self.options.get("file") or inspect.getsourcefile(self.function) or "")

    def concurrency(self) -> int:
        given = self.options.get("max_concurrency")
        return int(given) if given else (64 if self.is_async else 8)

    def hello(self, params: dict[str, Any]) -> dict[str, Any]:
        self.settings.update(params.get("settings") or {})
        version = self.options.get("version") or hashlib.sha256(Path(self.file).read_bytes()).hexdigest()
        hello = {
            "protocol": 1, "kind": self.kind, "name": self.options.get("name") or self.function.__name__, "version": version,
            "settings": self.settings, "max_concurrency": self.concurrency(),
        }
        models = self.options.get("models") or {}
        named = models if isinstance(models, dict) else {name: (0, 100) for name in models}
        if named:
            hello["models"] = {name: list(uses) for name, uses in named.items()}
        if self.kind == "judge":
            hello["wants"] = list(self.options.get("wants") or ())
            if self.is_per_conversation:
                hello["per"] = "conversation"
        elif self.kind == "simulator":
            hello["form"] = "whole" if self.is_whole else "next"
        elif self.kind == "tools" and self.options.get("sessions"):
            hello["sessions"] = True
        elif self.kind in ("target", "model"):
            hello["sessions"] = bool(self.options.get("sessions"))
            if self.options.get("restore"):
                hello["restore"] = True
            if self.options.get("system"):
                hello["system"] = self.options["system"]
        return hello

    def call(self, values: dict[str, Any]) -> Any:
        """The function's result; of an async one the coroutine."""
        return self.function(**{name: values[name] for name in self.names})

    def judge_values(self, params: dict[str, Any]) -> dict[str, Any]:
        metrics = [Metric(asked["id"], asked["definition"], tuple(asked.get("examples") or ()), asked["verdict"], asked.get("name"), asked.get("type"))
                   for asked in params["metrics"]]
        messages = tuple(Message.read(message, at) for at, message in enumerate(params["messages"], 1))
        known = {"row", "sample", "attempt", "fault", "metrics", "messages", "timeout_s"}
        wanted = {key: value for key, value in params.items() if key not in known}
        conversation = Conversation(params["row"], messages, wanted)
        return {"conversation": conversation, "metric": metrics[0], "metrics": metrics, "fault": params.get("fault"), "settings": self.settings}

    def simulator_values(self, params: dict[str, Any]) -> dict[str, Any]:
        messages = [Message.read(message, at) for at, message in enumerate(params.get("messages") or (), 1)]
        values = {key: params.get(key) for key in ("turn", "turns", "seed", "fault")}
        return {**values, "scenario": Scenario.read(params["scenario"]), "messages": messages, "settings": self.settings}

    def tools_values(self, params: dict[str, Any]) -> dict[str, Any]:
        keys = ("tool", "arguments", "calls", "conversation", "turn", "world_state", "fault")
        session = self.session_of(params["conversation"])
        return {**{key: params.get(key) for key in keys}, "session": session, "settings": self.settings}

    def generator_values(self, params: dict[str, Any]) -> dict[str, Any]:
        values = {name: params.get(name) for name in PARAMETERS[self.kind] if name not in ("settings", "host", "metric")}
        values["existing"] = list(params.get("existing") or ())
        if self.kind == "scenarios":
            asked = params["metric"]
            values["metric"] = Metric(asked["id"], asked["definition"], tuple(asked.get("examples") or ()), {"type": "present"}, asked.get("name"), asked.get("type"))
        return {**values, "settings": self.settings}

    def session_of(self, conversation: str) -> dict[str, Any]:
        """What the function keeps of a conversation."""
        if self.options.get("sessions") and conversation not in self.sessions:
            raise Lost("not an open conversation")
        return self.sessions.get(conversation, {})

    def open(self, params: dict[str, Any]) -> None:
        """A conversation begins, or goes on with what was said."""
        session: dict[str, Any] = {}
        if self.options.get("restore"):
            session["history"] = [Message.read(message, at) for at, message in enumerate(params.get("history") or (), 1)]
        self.sessions[params["conversation"]] = session

    def target_values(self, params: dict[str, Any]) -> dict[str, Any]:
        messages = [Message.read(message, at) for at, message in enumerate(params["messages"], 1)]
        conversation = params["conversation"]
        session = self.session_of(conversation)
        said = [message.content for message in messages if message.role == "user"]
        return {
            "message": said[-1] if said else "", "messages": messages, "conversation": conversation,
            "session": session, "turn": params.get("turn", 0), "tools": params.get("tools") or [],
            "seed": params.get("seed", 0), "settings": self.settings,
        }


RETURNS = {"present": "True or False", "value": "a whole number of the scale", "label": "a label"}
TYPES = {"present": bool, "value": int, "label": str}


def judged(result: Any, verdict: dict[str, Any]) -> dict[str, Any]:
    """A judge's answer in the form of the protocol."""
    key = {"present": "present", "scale": "value", "categories": "label"}[verdict["type"]]
    if isinstance(result, Verdict):
        if result.abstain is not None:
            return {"abstain": result.abstain}
        answer: dict[str, Any] = {k: v for k, v in (("present", result.present), ("value", result.value), ("label", result.label)) if v is not None}
        answer["reason"] = result.reason or "; ".join(f"{k}: {v}" for k, v in answer.items())
        if result.quotes:
            answer["quotes"] = [{"message": quote.message, "text": quote.text} for quote in result.quotes]
        if result.cost is not None:
            answer["cost"] = result.cost
        if result.details is not None:
            answer["details"] = result.details
        return answer
    value, reason = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    # Whether a number or a label is one of the metric's is for the host to say: it asks again.
    if type(value) is not TYPES[key]:
        raise TypeError(f"a judge returns {RETURNS[key]}, that with a reason as a tuple, or a Verdict; this is {value!r}"[:400])
    return {key: value, "reason": reason or f"{key}: {value}"}


def judged_all(result: Any, metrics: Sequence[Metric]) -> dict[str, Any]:
    """The answer of a judge of whole conversations: `result` has a value, a tuple or a `Verdict` by the id of each metric."""
    if not isinstance(result, Mapping) or set(result) != {metric.id for metric in metrics}:
        given = ", ".join(map(str, result)) if isinstance(result, Mapping) else type(result).__name__
        raise TypeError(f"a judge of conversations returns a dictionary with each metric once: {', '.join(metric.id for metric in metrics)}; this is {given}")
    verdicts = [{"metric": metric.id, **judged(result[metric.id], metric.verdict)} for metric in metrics]
    costs = [verdict.pop("cost") for verdict in verdicts if "cost" in verdict]
    return {"verdicts": verdicts, **({"cost": sum(costs)} if costs else {})}


def replied(result: Any) -> dict[str, Any]:
    """A target's reply in the form of the protocol."""
    if isinstance(result, str):
        return {"content": result}
    if not isinstance(result, Reply):
        raise TypeError(f"a target returns a text or a Reply, not {type(result).__name__}")
    if result.messages and result.content:
        raise TypeError("a Reply has content or messages, not both: the last message is the reply")
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in result.tool_calls]
    steps = [said_as(message) for message in result.messages] or None
    all_ = {"content": None if steps else result.content, "messages": steps, "reasoning": result.reasoning, "usage": result.usage, "cost": result.cost, "finish": result.finish, "tool_calls": calls or None}
    return {key: value for key, value in all_.items() if value is not None}


def said(result: Any) -> dict[str, Any]:
    """A simulated user's message in the form of the protocol; None ends the conversation."""
    if result is None:
        return {"end": "done"}
    if not isinstance(result, str):
        raise TypeError(f"a simulator returns a text, or None to end, not {type(result).__name__}")
    return {"message": result}


def written(result: Any, kind: str) -> dict[str, Any]:
    """Metrics or scenarios in the form of the protocol."""
    return {kind: [row_of(item) for item in result]}


def row_of(item: Any) -> Any:
    return item.row() if isinstance(item, Scenario) else item


PARTS: list[Part] = []


def _decorate(kind: str, function: F | None, options: dict[str, Any]) -> Any:
    def add(wrapped: F) -> F:
        PARTS.append(Part(wrapped, kind, options))
        return wrapped

    return add(function) if function is not None else add


@overload
def judge(function: F) -> F: ...
@overload
def judge(*, name: str | None = None, version: str | None = None, settings: dict[str, Any] | None = None,
          wants: tuple[str, ...] | list[str] = (), models: Models = (), max_concurrency: int | None = None, per: str = "metric") -> Callable[[F], F]: ...
def judge(function: F | None = None, **options: Any) -> Any:
    """Makes a function a judge. It may take `conversation`, `metric`, `fault` (what was wrong with its last result), `settings` and `host`, and returns a value, `(value, reason)` or a `Verdict`.

    With `per="conversation"` it may take `metrics` in the place of `metric`: all of the request, and returns a dictionary with the answer by
    the id of each.

    `models` names the models of the run that it calls through `host`: `["judge"]`, or with the fewest and the most calls of a verdict `{"judge": (1, 3)}`."""
    return _decorate("judge", function, options)


@overload
def target(function: F) -> F: ...
@overload
def target(*, name: str | None = None, version: str | None = None, settings: dict[str, Any] | None = None,
           sessions: bool = False, restore: bool = False, system: str | None = None, models: Models = (), max_concurrency: int | None = None) -> Callable[[F], F]: ...
def target(function: F | None = None, **options: Any) -> Any:
    """Makes a function a system under test. It may take `message`, `messages`, `conversation`, `session` (a dict, with `sessions=True`), `turn`,
    `tools`, `seed`, `settings` and `host`, and returns a text or a `Reply`. `models` names the models of the run that it calls. With `restore=True`,
    `session["history"]` has the messages before, where a conversation goes on in another process: it repeats one turn, and does not begin again."""
    return _decorate("target", function, options)


@overload
def simulator(function: F) -> F: ...
@overload
def simulator(*, name: str | None = None, version: str | None = None, settings: dict[str, Any] | None = None,
              models: Models = (), max_concurrency: int | None = None, form: str = "next") -> Callable[[F], F]: ...
def simulator(function: F | None = None, **options: Any) -> Any:
    """Makes a function the simulated user. With `form="whole"` it plays a conversation: it takes `say`, which says a message and returns what the target `Said` (awaited,
    in an `async` function), for as long as `Said.end` is None; `SayRefused` says what is wrong with a message. Else it may take `scenario`, `messages` (what was said), `turn`, `turns`, `seed`, `fault` (what was wrong with its last
    message), `settings` and `host`, and returns the next message, or None to end the conversation."""
    return _decorate("simulator", function, options)


@overload
def tools(function: F) -> F: ...
@overload
def tools(*, name: str | None = None, version: str | None = None, settings: dict[str, Any] | None = None,
          sessions: bool = False, models: Models = (), max_concurrency: int | None = None) -> Callable[[F], F]: ...
def tools(function: F | None = None, **options: Any) -> Any:
    """Makes a function answer the calls of simulated tools. It may take `tool`, `arguments`, `calls` (the earlier ones of the conversation), `conversation`,
    `session` (a dict, with `sessions=True`: one that is empty though there are earlier calls goes on in another process), `turn`, `world_state`, `fault` (what was wrong with its last result), `settings` and `host`, and returns anything that is JSON. `raise probity.ToolError(text)` refuses a call: the target sees the text."""
    return _decorate("tools", function, options)


@overload
def metrics(function: F) -> F: ...
@overload
def metrics(*, name: str | None = None, version: str | None = None, settings: dict[str, Any] | None = None,
            models: Models = (), max_concurrency: int | None = None) -> Callable[[F], F]: ...
def metrics(function: F | None = None, **options: Any) -> Any:
    """Makes a function write the metrics of a benchmark. It may take `name`, `description`, `user_context`, `count` (fewest and most), `existing`, `fault` (what was wrong with
    its last result), `settings` and `host`, and returns or yields dictionaries with `name`, `type`, `definition` and `examples`.

    What is yielded is taken one by one: `yield` returns its id, or raises `ItemRefused`. If the run goes on after a stop, a function that does not take `existing`,
    the ones that are there, is run from its start, and what it yields first is passed over."""
    return _decorate("metrics", function, options)


@overload
def scenarios(function: F) -> F: ...
@overload
def scenarios(*, name: str | None = None, version: str | None = None, settings: dict[str, Any] | None = None,
              models: Models = (), max_concurrency: int | None = None) -> Callable[[F], F]: ...
def scenarios(function: F | None = None, **options: Any) -> Any:
    """Makes a function write the scenarios of a metric. It may take `metric`, `count`, `turns`, `name`, `description`, `user_context`, `landmarks`, `demographics`,
    `tools`, `existing`, `fault` (what was wrong with its last result), `settings` and `host`, and returns or yields dictionaries with any key of scenarios.json, or
    `Scenario`s. What is yielded is taken one by one, as of `metrics`.

    Together with a function for `metrics` in the same file it is a generator of both."""
    return _decorate("scenarios", function, options)


@overload
def model(function: F) -> F: ...
@overload
def model(*, name: str | None = None, version: str | None = None, settings: dict[str, Any] | None = None,
          sessions: bool = False, models: Models = (), max_concurrency: int | None = None) -> Callable[[F], F]: ...
def model(function: F | None = None, **options: Any) -> Any:
    """Makes a function a model for any role but that of a judge under `evaluator`: it gets the prompts of the role. It takes and returns what a `target` does."""
    return _decorate("model", function, options)


def serve() -> None:
    """Serves the decorated function where this file was started by a run. Imported by something else, it does nothing."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    caller = sys._getframe(1).f_globals.get("__file__")
    if main is None or caller is None or os.path.abspath(main) != os.path.abspath(caller):
        return
    parts = [part for part in PARTS if os.path.abspath(part.file) == os.path.abspath(caller)]
    together = tuple(sorted(part.kind for part in parts))
    if len(parts) != 1 and together not in TOGETHER:
        raise SystemExit(f"{caller}: expected one decorated function, or one for metrics and one for scenarios, found {', '.join(together) or 'none'}")
    if os.environ.get("PROBITY_PROTOCOL") != "1":
        part = parts[0]
        keys = {
            "judge": f"evaluator: {{python: {caller}}}", "target": f"targets: [{{id: {part.function.__name__}, python: {caller}}}]",
            "simulator": f"user_model: {{python: {caller}}}", "tools": f"tool_model: {{python: {caller}}}",
            "metrics": f"generator_model: {{python: {caller}}}", "scenarios": f"generator_model: {{python: {caller}}}",
            "model": f"user_model: {{python: {caller}}}",
        }
        key = keys[part.kind]
        raise SystemExit(f"{caller} is a part of a run: {part.kind}. A run starts it: write into config.yaml\n  {key}\nor try it: python -m probity check {caller}")
    Server(*parts).run()


class Say:
    """Says a message of a simulated user that plays a whole conversation."""

    def __init__(self, server: Server, request: int) -> None:
        self._server, self._request = server, request

    def __call__(self, message: str) -> Said:
        """Returns what the target said. Raises `SayRefused`."""
        try:
            return Said.read(self._server.call(self._request, {"message": message}, "say").result())
        except CallFailed as error:
            raise _refused_say(error) from None


class AsyncSay:
    """Says a message, in an `async` function."""

    def __init__(self, server: Server, request: int) -> None:
        self._server, self._request = server, request

    async def __call__(self, message: str) -> Said:
        """See `Say`."""
        try:
            return Said.read(await asyncio.wrap_future(self._server.call(self._request, {"message": message}, "say")))
        except CallFailed as error:
            raise _refused_say(error) from None


def _refused_say(error: CallFailed) -> Exception:
    return SayRefused(str(error)) if error.kind == "malformed" else error


class Server:
    """Reads requests, runs the function in threads or in one loop, and writes replies."""

    def __init__(self, *parts: Part) -> None:
        # Those of one file, by their kinds. All run in threads, or all in one loop.
        self.parts = {part.kind: part for part in parts}
        self.part = parts[0]
        if len({part.is_async for part in parts}) > 1:
            raise SystemExit("functions of one file have to be all async, or none")
        # Standard output is the protocol's: what the function prints goes to standard error.
        self.out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self.lock = threading.Lock()
        self.open: set[int] = set()
        self.calls: dict[str, Future[dict[str, Any]]] = {}
        self.next_call = 0
        self.loop: asyncio.AbstractEventLoop | None = None

    def send(self, id_: int, answer: dict[str, Any]) -> None:
        # Before the request counts as answered: what cannot be written is answered with an error.
        line = json.dumps({"id": id_, **answer}, allow_nan=False)
        with self.lock:
            if id_ not in self.open:
                return
            self.open.discard(id_)
            self.out.write(line + "\n")
            self.out.flush()

    def call(self, request: int, params: dict[str, Any], method: str = "chat") -> Future[dict[str, Any]]:
        """Sends a call to the host. Its result comes later."""
        answer: Future[dict[str, Any]] = Future()
        with self.lock:
            id_ = f"c{self.next_call}"
            self.next_call += 1
            self.calls[id_] = answer
            self.out.write(json.dumps({"id": id_, "method": method, "params": {"for": request, **params}}, allow_nan=False) + "\n")
            self.out.flush()
        return answer

    def called(self, message: dict[str, Any]) -> None:
        """The answer to a call."""
        with self.lock:
            answer = self.calls.pop(str(message.get("id")), None)
        if answer is None:
            return
        error = message.get("error")
        if isinstance(error, dict):
            answer.set_exception(CallFailed(str(error.get("kind")), str(error.get("message"))))
        else:
            answer.set_result(message.get("result") or {})

    def run(self) -> None:
        if self.part.is_async:
            self.loop = asyncio.new_event_loop()
            threading.Thread(target=self.loop.run_forever, daemon=True).start()
        pool = ThreadPoolExecutor(self.part.concurrency())
        for line in sys.stdin:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if not isinstance(message, dict):
                continue
            if not isinstance(message.get("method"), str):
                self.called(message)
                continue
            id_, params = message.get("id"), message.get("params") or {}
            if message["method"] == "cancel":
                self.send(int(params.get("id") or 0), {"error": {"kind": "cancelled", "message": "cancelled"}})
            elif isinstance(id_, int):
                self.open.add(id_)
                pool.submit(self.answer, id_, message["method"], params)
        self.out.flush()
        # Requests in flight have nobody to answer to.
        os._exit(0)

    def answer(self, id_: int, method: str, params: dict[str, Any]) -> None:
        try:
            self.send(id_, {"result": self.result(id_, method, params)})
        except Abstain as error:
            self.send(id_, {"result": {"abstain": str(error) or "no reason given"}})
        except ToolError as error:
            self.send(id_, {"result": {"error": str(error) or "refused"}})
        except (Retryable, Refused, Lost, ItemRefused, SayRefused) as error:
            answer = {"kind": error.kind, "message": str(error)}
            self.send(id_, {"error": {**answer, "seen": getattr(error, "seen", True)}})
        except CallFailed as error:
            self.send(id_, {"error": {"kind": error.kind, "message": str(error)[:4000], "final": True}})
        except Exception as error:  # noqa: BLE001 the function is the user's
            traceback.print_exc()
            kind = "unsupported" if isinstance(error, NotImplementedError) else "permanent"
            self.send(id_, {"error": {"kind": kind, "message": f"{type(error).__name__}: {error}"[:4000] + self.place_of(error)}})

    def place_of(self, error: Exception) -> str:
        """The last line of the user's own file that an error went through."""
        files = {part.function.__code__.co_filename for part in self.parts.values() if hasattr(part.function, "__code__")}
        lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        return f" ({os.path.basename(lines[-1].filename)}, line {lines[-1].lineno})" if lines else ""

    def result(self, id_: int, method: str, params: dict[str, Any]) -> Any:
        part = self.part
        host = (AsyncHost if part.is_async else Host)(self, id_)
        if method == "hello":
            return self.hello(params)
        if method == "judge" and part.kind == "judge":
            values = part.judge_values(params)
            if part.is_per_conversation:
                return self.judged_all({**values, "host": host})
            return judged(self.run_function({**values, "host": host}), values["metric"].verdict)
        if method == "chat" and part.kind in ("target", "model"):
            return replied(self.run_function({**part.target_values(params), "host": host}))
        if method == "simulate" and part.is_whole:
            say = (AsyncSay if part.is_async else Say)(self, id_)
            end = self.run_function({**part.simulator_values(params), "say": say, "host": host})
            return {"end": end if isinstance(end, str) and end.strip() else "done"}
        if method == "next_message" and part.kind == "simulator" and not part.is_whole:
            return said(self.run_function({**part.simulator_values(params), "host": host}))
        if method == "answer" and part.kind == "tools":
            return {"answer": self.run_function({**part.tools_values(params), "host": host})}
        if method in ("generate_metrics", "generate_scenarios") and method.removeprefix("generate_") in self.parts:
            part = self.parts[method.removeprefix("generate_")]
            values = part.generator_values(params)
            result = self.run_function({**values, "host": host}, part)
            if not isinstance(result, Generator):
                return written(result, part.kind)
            # One that knows nothing of those that are there yields them again: they are passed over.
            self.give(id_, result, [] if "existing" in part.names else values["existing"])
            return {}
        if method == "open" and part.options.get("sessions"):
            part.open(params)
            return {}
        if method == "close":
            part.sessions.pop(params.get("conversation", ""), None)
            return {}
        raise NotImplementedError(f"unknown method {method!r}")

    def give(self, request: int, items: Generator[Any, Any, Any], passed_over: list[dict[str, Any]]) -> None:
        """Gives what a function yields, one by one, for as long as more is requested."""
        try:
            item = next(items)
            for known in passed_over:
                item = items.send(known.get("id"))
            while True:
                try:
                    accepted = self.call(request, {"item": row_of(item)}, "item").result()
                except CallFailed as error:
                    if error.kind != "malformed":
                        items.close()
                        return
                    item = items.throw(ItemRefused(str(error)))
                else:
                    item = items.send(accepted.get("id"))
        except StopIteration:
            return

    def judged_all(self, values: dict[str, Any]) -> dict[str, Any]:
        try:
            result = self.run_function(values)
        except Abstain as error:
            result = {metric.id: Verdict(abstain=str(error) or "no reason given") for metric in values["metrics"]}
        return judged_all(result, values["metrics"])

    def hello(self, params: dict[str, Any]) -> dict[str, Any]:
        hellos = [part.hello(params) for part in self.parts.values()]
        first = hellos[0]
        if len(hellos) > 1:
            first["kind"] = TOGETHER[tuple(sorted(self.parts))]
            first["models"] = {name: uses for hello in hellos for name, uses in hello.get("models", {}).items()}
        return first

    def run_function(self, values: dict[str, Any], part: Part | None = None) -> Any:
        result = (part or self.part).call(values)
        if self.loop is not None:
            return asyncio.run_coroutine_threadsafe(result, self.loop).result()
        return result
