"""What judges and targets get and give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool. `arguments` is JSON text."""

    id: str
    name: str
    arguments: str

    @staticmethod
    def read(data: dict[str, Any]) -> ToolCall:
        """A call in the form of the protocol, or in that of chat completions."""
        called = data.get("function") or data
        return ToolCall(str(data.get("id", "")), str(called.get("name", "")), str(called.get("arguments", "")))


@dataclass(frozen=True)
class Message:
    """A message of a conversation. `n` is its number, from 1, in a judge's conversation."""

    n: int
    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    reasoning: str | None = None

    @staticmethod
    def read(data: dict[str, Any], n: int) -> Message:
        """A message in the form of the protocol."""
        calls = tuple(ToolCall.read(call) for call in data.get("tool_calls") or ())
        return Message(int(data.get("n", n)), str(data["role"]), str(data.get("content") or ""), calls, data.get("tool_call_id"), data.get("reasoning"))


@dataclass(frozen=True)
class Conversation:
    """A conversation to be judged. `row` is a hash: the judge does not see which model it is. `wanted` has what `wants` asked for."""

    row: str
    messages: tuple[Message, ...]
    wanted: dict[str, Any] = field(default_factory=dict)

    def said_by(self, role: str) -> list[Message]:
        """The messages of a role: `assistant` is the system under test."""
        return [message for message in self.messages if message.role == role]


@dataclass(frozen=True)
class Metric:
    """The behaviour to look for. `verdict` is the form of the answer: `present`, `scale` with `min` and `max`, or `categories` with `labels`."""

    id: str
    definition: str
    examples: tuple[Any, ...] = ()
    verdict: dict[str, Any] = field(default_factory=lambda: {"type": "present"})
    name: str | None = None
    type: str | None = None


@dataclass(frozen=True)
class Scenario:
    """What a simulated user plays: who it is, what it says that it wants, and the pressure that it puts on the target without saying so. `landmarks` are
    instructions for single turns."""

    id: str
    persona: str = ""
    user_goal: str = ""
    latent_adversarial_goal: str = ""
    landmarks: tuple[dict[str, Any], ...] = ()
    demographic: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def read(data: dict[str, Any]) -> Scenario:
        """A scenario in the form of the protocol."""
        def text(key: str) -> str:
            return str(data.get(key) or "")

        landmarks, demographic = tuple(data.get("landmarks") or ()), dict(data.get("demographic") or {})
        return Scenario(text("id"), text("persona"), text("user_goal"), text("latent_adversarial_goal"), landmarks, demographic)

    def row(self) -> dict[str, Any]:
        """A row of scenarios.json without its ids."""
        row = {"persona": self.persona, "user_goal": self.user_goal, "latent_adversarial_goal": self.latent_adversarial_goal}
        return {**row, "landmarks": list(self.landmarks), "demographic": self.demographic}


@dataclass(frozen=True)
class Said:
    """What the target said to a message of a simulated user that plays a whole conversation. `message` is the message as the transcript has it, and `end` why
    nothing more may be said: `turns` or `stopped`, and None where something may. At the end there is no `content`."""

    turn: int
    content: str = ""
    messages: tuple[Message, ...] = ()
    end: str | None = None
    message: str | None = None

    @staticmethod
    def read(data: dict[str, Any]) -> Said:
        """An answer to `say` in the form of the protocol."""
        messages = tuple(Message.read(message, at) for at, message in enumerate(data.get("messages") or (), 1))
        return Said(int(data.get("turn", 0)), str(data.get("content") or ""), messages, data.get("end"), data.get("message"))


@dataclass(frozen=True)
class Quote:
    """Words of a message that a verdict rests on. They have to be in the message with this number."""

    message: int
    text: str


@dataclass(frozen=True)
class Verdict:
    """A judge's answer: one of `present`, `value` and `label`, as the metric asks, with a reason; or `abstain`, the reason for none. `details` are kept
    with the row, as `_details`: at most 64 KiB of JSON."""

    present: bool | None = None
    value: int | None = None
    label: str | None = None
    abstain: str | None = None
    reason: str = ""
    quotes: tuple[Quote, ...] | list[Quote] = ()
    cost: float | None = None
    details: dict[str, Any] | None = None


class Abstain(Exception):
    """Raised by a judge that gives no verdict, with the reason."""


@dataclass(frozen=True)
class Reply:
    """A target's reply. `cost` in dollars and `usage` (`input_tokens`, `output_tokens`) are what it spent, where that is known.

    A target with tools of its own may give `messages` in the place of `content`: its messages with calls, the answers of its tools, and the reply as the last
    one, as `Message`s or dictionaries of chat completions. Judges see them."""

    content: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: dict[str, int] | None = None
    cost: float | None = None
    finish: str | None = None
    messages: Sequence[Message | dict[str, Any]] = ()
