"""Measures how language models behave under conversational pressure.

Parts of a run: `judge`, `target`, `serve`. Runs and results: `run`, `load`, `compare`, `gate`, `from_inspect`.
"""

from ._errors import CommandMissing, ConfigError, Error, GateFailed, Interrupted, RowsFailed
from ._host import AsyncHost, Host
from ._results import Comparison, Gate, Rate, Results, compare, from_inspect, gate, load
from ._run import command, run
from ._serve import CallFailed, Lost, Refused, Retryable, judge, serve, target
from ._types import Abstain, Conversation, Message, Metric, Quote, Reply, ToolCall, Verdict

scorer = judge
solver = target

__all__ = [
    "Abstain", "AsyncHost", "CallFailed", "CommandMissing", "Comparison", "ConfigError", "Conversation", "Error", "Gate", "GateFailed", "Host", "Interrupted", "Lost",
    "Message", "Metric", "Quote", "Rate", "Refused", "Reply", "Results", "Retryable", "RowsFailed", "ToolCall", "Verdict", "command",
    "compare", "from_inspect", "gate", "judge", "load", "run", "scorer", "serve", "solver", "target",
]
