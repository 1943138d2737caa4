"""Measures how language models behave under conversational pressure.

Parts of a run: `judge`, `target`, `simulator`, `tools`, `metrics`, `scenarios`, `model`, `serve`. Runs and results: `run`, `start`, `load`, `compare`, `gate`, `from_inspect`. Before a run: `plan`,
`doctor`, `validate`. For inspect_ai: the module `probity.inspect`.
"""

from ._checks import ModelCheck, Plan, Problem, doctor, plan, validate
from ._errors import CommandMissing, ConfigError, ConfigProblem, Error, GateFailed, Interrupted, RowsFailed
from ._host import AsyncHost, Host
from ._results import Comparison, Gate, Results, compare, from_inspect, gate, load
from ._rows import CallRow, ConversationRow, JudgeRow, MessageRow, Rate, ScenarioRow, ScoreRow
from ._run import Event, Running, arun, astart, command, run, start
from ._serve import CallFailed, ItemRefused, Lost, Refused, Retryable, SayRefused, ToolError, judge, metrics, model, scenarios, serve, simulator, target, tools
from ._types import Abstain, Conversation, Message, Metric, Quote, Reply, Said, Scenario, ToolCall, Verdict

scorer = judge
solver = target

__all__ = [
    "Abstain", "AsyncHost", "CallFailed", "CallRow", "CommandMissing", "Comparison", "ConfigError", "ConfigProblem", "Conversation", "ConversationRow", "Error", "Event", "Gate",
    "GateFailed", "Host", "Interrupted", "ItemRefused", "JudgeRow", "Lost", "Message", "MessageRow", "Metric", "ModelCheck", "Plan", "Problem", "Quote", "Rate", "Refused", "Reply",
    "Results", "Retryable", "RowsFailed", "Running", "Said", "SayRefused", "Scenario", "ScenarioRow", "ScoreRow", "ToolCall", "ToolError", "Verdict", "arun", "astart", "command", "compare",
    "doctor", "from_inspect", "gate", "judge", "load", "metrics", "model", "plan", "run", "scenarios", "scorer", "serve", "simulator", "solver", "start", "target", "tools", "validate",
]
