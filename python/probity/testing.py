"""Tests of judges and targets: values to call them with, and the real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._host import Messages, call_params, said_as
from ._types import Conversation, Message, Metric, Reply, Scenario


def conversation(*texts: str) -> Conversation:
    """A conversation of these texts: the user's first, then alternating."""
    roles = ("user", "assistant")
    return Conversation("0" * 16, tuple(Message(n, roles[(n - 1) % 2], text) for n, text in enumerate(texts, 1)))


def metric(definition: str, verdict: dict[str, Any] | None = None) -> Metric:
    """A metric with this definition."""
    return Metric("m01", definition, verdict=verdict or {"type": "present"})


class FakeHost:
    """Stands in for the run: `chat` answers from a list, in turn, from a dict of lists by model, or from a function of the model and the messages. `calls` has
    what was asked, as `(model, messages)`."""

    def __init__(self, answers: Sequence[str] | Mapping[str, Sequence[str]] | Callable[[str, list[dict[str, Any]]], str] = ()) -> None:
        self._answers = answers
        self._next: dict[str, int] = {}
        self.calls: list[tuple[str, list[dict[str, Any]]]] = []

    def chat(self, model: str, messages: Messages, *, n: int = 0, tools: Sequence[dict[str, Any]] = (), response_format: dict[str, Any] | None = None) -> Reply:
        """See `probity.Host.chat`."""
        asked = call_params(model, messages, n, tools, response_format)["messages"]
        self.calls.append((model, asked))
        if callable(self._answers):
            return Reply(self._answers(model, asked))
        answers = self._answers.get(model, ()) if isinstance(self._answers, Mapping) else self._answers
        key = model if isinstance(self._answers, Mapping) else ""
        at = self._next.get(key, 0)
        self._next[key] = at + 1
        if at >= len(answers):
            raise AssertionError(f"no answer is left for call {at + 1} of {model}")
        return Reply(answers[at])


class Played:
    """A file's process, started as a run starts it."""

    def __init__(self, file: str | os.PathLike[str], settings: dict[str, Any] | None = None, host: FakeHost | None = None) -> None:
        self.host = host
        passed = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH") if name in os.environ}
        env = {**passed, "PROBITY_PROTOCOL": "1", "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        self.process = subprocess.Popen([sys.executable, os.fspath(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True, encoding="utf-8")
        self.next = 0
        self.replies: tuple[str, ...] = ()
        self.hello: dict[str, Any] = self.request("hello", {"protocol": 1, "host": "probity.testing", "settings": settings or {}, "models": ["judge", "user", "generator", "tools"], "seed": 0, "max_line": 16 << 20})

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and returns its result. Raises RuntimeError with the error of the process."""
        assert self.process.stdin and self.process.stdout
        id_, self.next = self.next, self.next + 1
        self.items: list[dict[str, Any]] = []
        self.said: list[str] = []
        self.say({"id": id_, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("method") == "chat":
                self.answer_call(answer)
            if answer.get("method") == "say":
                self.answer_say(answer)
            if answer.get("method") == "item":
                self.items.append(answer["params"]["item"])
                self.say({"id": answer["id"], "result": {"accepted": True, "id": f"m01_s{len(self.items):03}_v01"}})
            if answer.get("id") == id_:
                if "error" in answer:
                    raise RuntimeError(f"{answer['error']['kind']}: {answer['error']['message']}")
                result = answer["result"]
                assert isinstance(result, dict)
                return result
        raise RuntimeError("the process ended")

    def say(self, message: dict[str, Any]) -> None:
        """Writes a line."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def answer_say(self, call: dict[str, Any]) -> None:
        self.said.append(str(call["params"]["message"]))
        turn = len(self.said)
        if turn > len(self.replies):
            result: dict[str, Any] = {"turn": turn, "content": None, "messages": [], "end": "turns"}
        else:
            reply = self.replies[turn - 1]
            result = {"turn": turn, "message": self.said[-1], "content": reply, "messages": [{"role": "assistant", "content": reply}], "end": None}
        self.say({"id": call["id"], "result": result})

    def answer_call(self, call: dict[str, Any]) -> None:
        if self.host is None:
            answer: dict[str, Any] = {"error": {"kind": "permanent", "message": "no host: play(file, host=FakeHost([...]))", "final": True}}
        else:
            params = call["params"]
            reply = self.host.chat(params["model"], params["messages"], n=int(params.get("n") or 0))
            answer = {"result": {"content": reply.content, "finish": "stop", "usage": None, "cost": 0.0, "cached": False, "model": None}}
        self.say({"id": call["id"], **answer})

    def judge(self, what: Conversation, *metrics: Metric) -> dict[str, Any]:
        """The verdict on a conversation; of a judge of whole conversations, those by all metrics."""
        messages = [{"n": m.n, **said_as(m)} for m in what.messages]
        asked = [{"id": how.id, "definition": how.definition, "examples": list(how.examples), "verdict": how.verdict} for how in metrics]
        return self.request("judge", {"row": what.row, "sample": 0, "attempt": 1, "metrics": asked, "messages": messages, "timeout_s": 60})

    def chat(self, *texts: str) -> list[str]:
        """The replies to these messages, in one conversation."""
        sessions, history, replies = bool(self.hello.get("sessions")), [], []
        if sessions:
            self.request("open", {"conversation": "c1", "system": None, "tools": [], "metadata": {}})
        for turn, text in enumerate(texts, 1):
            history.append({"role": "user", "content": text})
            shown = history[-1:] if sessions else history
            reply = self.request("chat", {"conversation": "c1", "turn": turn, "step": 0, "attempt": 1, "seed": 0, "tools": [], "metadata": {}, "messages": shown, "timeout_s": 60})
            said = reply.get("messages") or [{"role": "assistant", "content": reply.get("content")}]
            replies.append(str(said[-1]["content"]))
            history.extend(said)
        if sessions:
            self.request("close", {"conversation": "c1", "session": None, "reason": "done"})
        return replies

    def next_message(self, scenario: Scenario, *texts: str, turns: int = 5) -> dict[str, Any]:
        """What a simulated user says after these texts: its own first, then alternating."""
        messages = [{"n": m.n, "role": m.role, "content": m.content} for m in conversation(*texts).messages]
        played = {"id": scenario.id, "persona": scenario.persona, "user_goal": scenario.user_goal, "latent_adversarial_goal": scenario.latent_adversarial_goal,
                  "landmarks": list(scenario.landmarks), "demographic": scenario.demographic}
        params = {"scenario": played, "user_context": None, "messages": messages, "turn": len(texts) // 2 + 1, "turns": turns, "seed": 0, "attempt": 1, "timeout_s": 60}
        return self.request("next_message", params)

    def simulate(self, scenario: Scenario, *replies: str) -> list[str]:
        """What a simulated user that plays a whole conversation says, to these replies and at the end."""
        played = {"id": scenario.id, "persona": scenario.persona, "user_goal": scenario.user_goal, "latent_adversarial_goal": scenario.latent_adversarial_goal,
                  "landmarks": list(scenario.landmarks), "demographic": scenario.demographic}
        self.replies = replies
        self.request("simulate", {"scenario": played, "user_context": None, "turns": len(replies) + 1, "seed": 0, "attempt": 1, "timeout_s": 60})
        return self.said

    def answer(self, tool: str, arguments: dict[str, Any], calls: Sequence[dict[str, Any]] = (), world_state: str = "") -> dict[str, Any]:
        """The answer to a call of a tool."""
        params = {"conversation": "0" * 16, "turn": 1, "call": len(calls) + 1, "tool": tool, "arguments": arguments, "calls": list(calls), "world_state": world_state, "timeout_s": 60}
        return self.request("answer", params)

    def metrics(self, description: str, count: tuple[int, int] = (1, 4)) -> list[dict[str, Any]]:
        """The metrics for a benchmark with this description."""
        params = {"name": "test", "description": description, "user_context": None, "count": list(count), "timeout_s": 60}
        return list(self.request("generate_metrics", params).get("metrics") or self.items)

    def scenarios(self, how: Metric, count: int = 1, turns: int = 4) -> list[dict[str, Any]]:
        """The scenarios for a metric."""
        asked = {"id": how.id, "name": how.name or "", "type": how.type or "positive", "definition": how.definition, "examples": list(how.examples)}
        params: dict[str, Any] = {"name": "test", "description": "", "user_context": None, "metric": asked, "count": count, "turns": turns, "landmarks": True,
                  "demographics": {}, "tools": [], "timeout_s": 60}
        return list(self.request("generate_scenarios", params).get("scenarios") or self.items)

    def end(self) -> int:
        """Closes its input, and waits until it has ended. Returns its exit code."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(10)
        self.process.stdout.close()
        return code

    def __enter__(self) -> Played:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end()


def play(file: str | os.PathLike[str], settings: dict[str, Any] | None = None, host: FakeHost | None = None) -> Played:
    """Starts the process of a file. Use it with `with`. `host` answers its calls to models."""
    return Played(file, settings, host)
