"""What a judge or a target asks of models: through the run, which journals, stores and counts the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from ._types import Message, Reply, ToolCall

if TYPE_CHECKING:
    from ._serve import Server

Messages = Union[str, Sequence[Union[Message, dict[str, Any]]]]


def call_params(model: str, messages: Messages, n: int, tools: Sequence[dict[str, Any]], response_format: dict[str, Any] | None) -> dict[str, Any]:
    """A call in the form of the protocol."""
    listed: list[Any] = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    params: dict[str, Any] = {"model": model, "messages": [said_as(message) for message in listed], "n": n}
    if tools:
        params["tools"] = list(tools)
    if response_format is not None:
        params["response_format"] = response_format
    return params


def said_as(message: Message | dict[str, Any]) -> dict[str, Any]:
    """A message in the form of chat completions."""
    if isinstance(message, dict):
        return message
    shown: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        shown["tool_calls"] = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in message.tool_calls]
    if message.tool_call_id:
        shown["tool_call_id"] = message.tool_call_id
    return shown


def _reply(result: dict[str, Any]) -> Reply:
    calls = tuple(ToolCall.read(call) for call in result.get("tool_calls") or ())
    return Reply(str(result.get("content") or ""), result.get("reasoning"), calls, result.get("usage"), result.get("cost"), result.get("finish"))


class Host:
    """The run, as a function sees it."""

    def __init__(self, server: Server, request: int) -> None:
        self._server, self._request = server, request

    def chat(self, model: str, messages: Messages, *, n: int = 0, tools: Sequence[dict[str, Any]] = (), response_format: dict[str, Any] | None = None) -> Reply:
        """Calls a model of the run by its name: `judge`, `user`, `generator`, `tools`, or one of `models` in config.yaml. Equal calls with equal `n` get one
        reply; independent draws take `n` 0, 1, 2. Raises `CallFailed`."""
        return _reply(self._server.call(self._request, call_params(model, messages, n, tools, response_format)).result())


class AsyncHost:
    """The run, as an `async` function sees it."""

    def __init__(self, server: Server, request: int) -> None:
        self._server, self._request = server, request

    async def chat(self, model: str, messages: Messages, *, n: int = 0, tools: Sequence[dict[str, Any]] = (), response_format: dict[str, Any] | None = None) -> Reply:
        """See `Host.chat`."""
        answer = self._server.call(self._request, call_params(model, messages, n, tools, response_format))
        return _reply(await asyncio.wrap_future(answer))
