"""Measures how language models behave under conversational pressure.

Parts of a run: `judge`, `target`, `simulator`, `tools`, `serve`. Runs and results: `run`, `load`, `compare`, `gate`, `from_inspect`.
"""

from ._errors import CommandMissing, ConfigError, Error, GateFailed, Interrupted, RowsFailed
from ._host import AsyncHost, Host
from ._results import Comparison, Gate, Rate, Results, compare, from_inspect, gate, load
from ._run import command, run
from ._serve import CallFailed, Lost, Refused, Retryable, ToolError, judge, serve, simulator, target, tools
from ._types import Abstain, Conversation, Message, Metric, Quote, Reply, Scenario, ToolCall, Verdict

scorer = judge
solver = target

__all__ = [
    "Abstain", "AsyncHost", "CallFailed", "CommandMissing", "Comparison", "ConfigError", "Conversation", "Error", "Gate", "GateFailed", "Host", "Interrupted", "Lost",
    "Message", "Metric", "Quote", "Rate", "Refused", "Reply", "Results", "Retryable", "RowsFailed", "Scenario", "ToolCall", "ToolError", "Verdict", "command",
    "compare", "from_inspect", "gate", "judge", "load", "run", "scorer", "serve", "simulator", "solver", "target", "tools",
]
