"""Whether what a program says has the form of protocol 1 (docs/any-language.md). Each function returns what is wrong, with the key; None: nothing is."""

from __future__ import annotations

from typing import Any

PROTOCOL = 1
MAX_LINE = 16 << 20
MOST_MESSAGES = 256
KINDS = ("judge", "target", "model", "simulator", "tools", "generator", "metrics", "scenarios")
WANTS = ("name", "type", "target", "ids", "system_prompt", "reasoning", "demographic", "persona", "user_goal", "hidden_goal", "landmarks")
SECRET = ("key", "token", "secret", "password", "authorization")


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def hello_problem(hello: Any) -> str | None:
    """What is wrong with an answer to `hello`."""
    if not isinstance(hello, dict):
        return "result: expected an object"
    if hello.get("protocol") != PROTOCOL:
        return f"protocol: expected {PROTOCOL}, found {hello.get('protocol')!r}"
    if hello.get("kind") not in KINDS:
        return f"kind: expected one of {', '.join(KINDS)}; found {hello.get('kind')!r}"
    if not is_text(hello.get("name")):
        return "name: expected a text that is not blank"
    if not isinstance(hello.get("version"), (str, type(None))):
        return "version: expected a text"
    if not is_whole(hello.get("max_concurrency", 1)) or hello.get("max_concurrency", 1) < 1:
        return "max_concurrency: expected a whole number, 1 or more"
    if hello.get("max_line") is not None and (not is_whole(hello["max_line"]) or hello["max_line"] < 1):
        return "max_line: expected a number of bytes"
    if hello.get("per") not in (None, "metric", "conversation"):
        return "per: expected metric or conversation"
    if hello.get("restore") and not hello.get("sessions"):
        return "restore: expected with `sessions` only"
    if hello.get("form") not in (None, "next", "whole"):
        return "form: expected next or whole"
    return _settings_problem(hello) or _models_problem(hello.get("models", {}))


def _settings_problem(hello: dict[str, Any]) -> str | None:
    settings, wants = hello.get("settings", {}), hello.get("wants", [])
    if not isinstance(settings, dict):
        return "settings: expected an object"
    for key in settings:
        if key.lower().endswith(SECRET):
            return f"settings.{key}: a fingerprint holds no secrets"
    if not isinstance(wants, list):
        return "wants: expected a list"
    for want in wants:
        if want not in WANTS:
            return f"wants: unknown {want!r}; known are {', '.join(WANTS)}"
    return None


def _models_problem(models: Any) -> str | None:
    if not isinstance(models, dict):
        return "models: expected an object"
    for name, uses in models.items():
        is_range = isinstance(uses, list) and len(uses) == 2 and all(is_whole(use) for use in uses)
        if not is_range or not 0 <= uses[0] <= uses[1] or uses[1] == 0:
            return f"models.{name}: expected the fewest and the most calls of a request, such as [1, 3]"
    return None


def result_problem(method: str, params: dict[str, Any], result: Any, items: int = 0) -> str | None:
    """What is wrong with the result of a request of `method` with these `params`. `items` were given before it, one by one."""
    if not isinstance(result, dict):
        return "result: expected an object"
    cost = result.get("cost")
    if cost is not None and (isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost < float("inf")):
        return "cost: expected dollars, 0 or more"
    if method == "judge":
        return _verdict_problem(params, result)
    if method == "chat":
        return _reply_problem(result)
    if method == "next_message":
        return _message_problem(result)
    if method == "simulate":
        return None if is_text(result.get("end")) else "end: expected the reason, a text"
    if method == "answer":
        return None if ("answer" in result) != ("error" in result) else "expected one of answer, error"
    if method in ("generate_metrics", "generate_scenarios"):
        key = method.removeprefix("generate_")
        rows = result.get(key)
        if items:
            return f"{key}: they were given one by one" if rows else None
        if not isinstance(rows, list) or not rows:
            return f"{key}: expected a list that is not empty"
        return next((f"{key}[{at}]: expected an object" for at, row in enumerate(rows) if not isinstance(row, dict)), None)
    return None


def _verdict_problem(params: dict[str, Any], answer: dict[str, Any]) -> str | None:
    """One verdict, or the list that a judge of whole conversations gives: each metric that was asked for once, and no other."""
    metrics = params["metrics"]
    listed = answer.get("verdicts")
    if listed is None:
        return f"verdicts: expected a list with each metric once: {', '.join(m['id'] for m in metrics)}" if len(metrics) > 1 else _one_problem(params, metrics[0], answer)
    if not isinstance(listed, list):
        return "verdicts: expected a list"
    left = {metric["id"]: metric for metric in metrics}
    for at, verdict in enumerate(listed):
        if not isinstance(verdict, dict):
            return f"verdicts[{at}]: expected an object"
        metric = left.pop(verdict.get("metric", metrics[0]["id"] if len(metrics) == 1 else None), None)
        if metric is None:
            return f"verdicts[{at}].metric: {verdict.get('metric')!r} was not requested, or has a verdict already"
        problem = _one_problem(params, metric, verdict)
        if problem:
            return f"verdicts[{at}].{problem}"
    return f"verdicts: no verdict on {', '.join(left)}" if left else None


def _one_problem(params: dict[str, Any], metric: dict[str, Any], result: dict[str, Any]) -> str | None:
    given = [key for key in ("present", "value", "label", "abstain") if result.get(key) is not None]
    if len(given) != 1:
        return f"expected one of present, value, label, abstain; found {', '.join(given) or 'none'}"
    key, form = given[0], metric["verdict"]
    if key == "abstain":
        return None if is_text(result[key]) else "abstain: expected a reason"
    if key != {"present": "present", "scale": "value", "categories": "label"}[form["type"]]:
        return f"{key}: the verdict of the metric is of type {form['type']}"
    value = result[key]
    if key == "present" and not isinstance(value, bool):
        return "present: expected true or false"
    if key == "value" and (not is_whole(value) or not form["min"] <= value <= form["max"]):
        return f"value: expected a whole number from {form['min']} to {form['max']}"
    if key == "label" and value not in form["labels"]:
        return f"label: expected one of {', '.join(form['labels'])}"
    if not is_text(result.get("reason")):
        return "reason: expected a text that is not blank"
    return _quotes_problem(params, result.get("quotes") or [])


def _quotes_problem(params: dict[str, Any], quotes: Any) -> str | None:
    texts = {message["n"]: message["content"] for message in params["messages"]}
    if not isinstance(quotes, list):
        return "quotes: expected a list"
    for at, quote in enumerate(quotes):
        if not isinstance(quote, dict) or not isinstance(quote.get("text"), str) or not is_whole(quote.get("message")):
            return f"quotes[{at}]: expected message, a number, and text"
        if " ".join(quote["text"].split()) not in " ".join(texts.get(quote["message"], "").split()):
            return f"quotes[{at}].text: not in message {quote['message']}"
    return None


def _reply_problem(result: dict[str, Any]) -> str | None:
    calls = result.get("tool_calls") or []
    if not isinstance(calls, list):
        return "tool_calls: expected a list"
    for at, call in enumerate(calls):
        if not isinstance(call, dict) or not isinstance(call.get("name"), str) or not isinstance(call.get("arguments"), (str, dict)):
            return f"tool_calls[{at}]: expected id, name, arguments"
    if result.get("messages") is not None:
        if result.get("content") is not None:
            return "messages: expected one of content and messages"
        return "tool_calls: those of `messages` are in them" if calls else _steps_problem(result["messages"])
    if result.get("content") is None:
        return None if calls else "content: missing"
    return None if isinstance(result["content"], str) else "content: expected a text"


def _steps_problem(messages: Any) -> str | None:
    """Messages of the assistant and of its own tools, the last of which is the reply."""
    if not isinstance(messages, list) or not 1 <= len(messages) <= MOST_MESSAGES:
        return f"messages: expected a list of 1 to {MOST_MESSAGES}"
    open_: dict[str, str] = {}
    for at, message in enumerate(messages):
        place, is_last = f"messages[{at}]", at + 1 == len(messages)
        if not isinstance(message, dict) or message.get("role") not in ("assistant", "tool"):
            return f"{place}.role: expected assistant or tool"
        if is_last and message["role"] == "tool":
            return f"{place}.role: the last message is the reply, of the assistant"
        calls = message.get("tool_calls") or []
        if message["role"] == "tool":
            calls = []
            if open_.pop(str(message.get("tool_call_id")), None) is None:
                return f"{place}.tool_call_id: no call before it"
        if not isinstance(message.get("content"), str) and not (calls and message.get("content") is None):
            return f"{place}.content: expected a text"
        if is_last and open_:
            return f"{next(iter(open_.values()))}: no answer to the call follows"
        if is_last and calls:
            return f"{place}.tool_calls: the last message is the reply, and calls nothing"
        problem = _own_calls_problem(calls, place, open_)
        if problem:
            return problem
    return None


def _own_calls_problem(calls: Any, place: str, open_: dict[str, str]) -> str | None:
    """Adds the calls of a message to those without an answer."""
    if not isinstance(calls, list):
        return f"{place}.tool_calls: expected a list"
    for at, call in enumerate(calls):
        called = call.get("function", call) if isinstance(call, dict) else {}
        if not isinstance(called, dict) or not is_text(call.get("id")) or not is_text(called.get("name")):
            return f"{place}.tool_calls[{at}]: expected id, name, arguments"
        if not isinstance(called.get("arguments"), (str, dict, type(None))):
            return f"{place}.tool_calls[{at}].arguments: expected an object or its text"
        if call["id"] in open_:
            return f"{place}.tool_calls[{at}].id: it is the id of an open call"
        open_[call["id"]] = f"{place}.tool_calls[{at}]"
    return None


def _message_problem(result: dict[str, Any]) -> str | None:
    if result.get("message") is None and result.get("end") is None:
        return "expected message, end, or both"
    if result.get("message") is not None and not is_text(result["message"]):
        return "message: expected a text that is not blank"
    return None if isinstance(result.get("end"), (str, type(None))) else "end: expected the reason, a text"
