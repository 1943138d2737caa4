"""`python -m probity check` against programs that are right and programs that are wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "processes"

# A judge that misbehaves in one way, which its argument names. What it does with hello and the others is right.
WRONG = r'''
import json, os, subprocess, sys, time

mode = sys.argv[1]
HELLO = {"protocol": 1, "kind": "judge", "name": "wrong", "version": "1"}
GOOD = {"present": False, "reason": "Nothing."}

def out(text):
    print(text, flush=True)

def say(**message):
    out(json.dumps(message))

for line in sys.stdin:
    if not line.startswith('{"'):
        continue
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if method == "hello":
        hellos = {"protocol": {"protocol": 2}, "kind": {"kind": "oracle"}, "secret": {"settings": {"api_key": "x"}}, "wants": {"wants": ["thresholds"]},
                  "models": {"models": {"judge": 3}}, "per": {"per": "row"}, "two": {"max_concurrency": 2}, "unstable": {"version": str(os.getpid())},
                  "unnamed": {"models": {"user": [0, 1]}}}
        if mode == "refuses":
            say(id=id, error={"kind": "permanent", "message": "setting `threshold`: expected a number"})
        elif mode == "silent":
            time.sleep(60)
        else:
            say(id=id, result={**HELLO, **hellos.get(mode, {})})
    elif method == "judge" and message["params"] == {}:
        say(id=id, error={"kind": "permanent", "message": "metrics: missing"})
    elif method == "judge" and mode == "poison" and message["params"]["row"] == "%016x" % 103:
        os._exit(3)
    elif method == "judge":
        if mode == "dies":
            print("Traceback: boom", file=sys.stderr, flush=True)
            os._exit(3)
        elif mode == "hangs":
            time.sleep(60)
        elif mode == "floods":
            while True:
                out("spam " * 100)
        elif mode == "long_line":
            while True:
                sys.stdout.write('{"id": "' + "x" * 65536)
        elif mode == "rubbish":
            out('{"id": 1, "result": {this is not JSON')
        elif mode == "wrong_id":
            say(id=id + 1000, result=GOOD)
        elif mode == "no_id":
            say(result=GOOD)
        elif mode == "both":
            say(id=id, result=GOOD, error={"kind": "permanent", "message": "both"})
        elif mode == "no_verdict":
            say(id=id, result={"present": "yes", "reason": "x"})
        elif mode == "no_reason":
            say(id=id, result={"present": True, "reason": " "})
        elif mode == "quote":
            say(id=id, result={**GOOD, "quotes": [{"message": 2, "text": "never said"}]})
        elif mode == "closes_output":
            os.close(1)
            time.sleep(60)
        elif mode == "unnamed":
            say(id="c1", method="chat", params={"for": id, "model": "judge", "messages": []})
            say(id=id, error=json.loads(sys.stdin.readline())["error"])
        elif mode == "twice":
            say(id=id, result=GOOD)
            say(id=id, result=GOOD)
        else:
            if mode == "prints":
                out("Loading model\n{'a': 1}\n{}\n[1]")
            elif mode == "talks":
                print("noise " * 20000, file=sys.stderr, flush=True)
            elif mode == "child":
                subprocess.Popen(["sleep", "300"])
            say(id=id, result=GOOD)
    elif id is not None:
        say(id=id, error={"kind": "unsupported", "message": "unknown method"})
if mode == "stays":
    time.sleep(60)
sys.exit(4 if mode == "code" else 0)
'''


def check(*arguments: str, timeout: float = 1) -> tuple[int, str]:
    """The exit code and the output of the command."""
    command = [sys.executable, "-m", "probity", "check", f"--timeout={timeout}", "--start-timeout=10", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("wrong") / "wrong.py"
    file.write_text(WRONG)
    return file


@pytest.mark.parametrize("name", ["judge.py", "asking_judge.py", "conversation_judge.py", "user.py", "agent.py"])
def test_the_examples_pass(name: str) -> None:
    code, text = check(str(EXAMPLES / name), timeout=20)
    assert code == 0 and "checks, 0 failed" in text, text


def test_a_program_in_another_language_passes() -> None:
    code, text = check("--", "sh", str(EXAMPLES / "judge.sh"), timeout=6)
    assert code == 0 and "checks, 0 failed" in text, text


@pytest.mark.parametrize("source", [
    "import asyncio\n\n@probity.judge(models=['judge'])\nasync def part(conversation, host):\n    reply = await host.chat('judge', 'Is it?')\n    return 'true' in reply.content, reply.content",
    "@probity.judge(per='conversation')\ndef part(conversation, metrics):\n    return {m.id: (False, 'No.') if m.verdict['type'] == 'present' else (1, 'Never.') for m in metrics}",
    "@probity.target(sessions=True)\ndef part(message, session):\n    session['turns'] = session.get('turns', 0) + 1\n    return f\"{session['turns']}: {message[:20]}\"",
    "@probity.target\ndef part(message):\n    call = {'id': 'a', 'name': 'look', 'arguments': {}}\n    return probity.Reply(messages=[{'role': 'assistant', 'tool_calls': [call]}, "
    "probity.Message(2, 'tool', 'found', tool_call_id='a'), {'role': 'assistant', 'content': 'Done.'}])",
    "@probity.target(sessions=True, restore=True)\ndef part(message, session):\n    session['turns'] = session.get('turns', len(session['history']) // 2) + 1\n    return str(session['turns'])",
    "@probity.tools(sessions=True)\ndef part(session, calls):\n    session['calls'] = session.get('calls', len(calls)) + 1\n    return session['calls']",
    "@probity.model\ndef part(messages):\n    return messages[-1].content.upper()",
    "@probity.simulator\ndef part(turn, turns):\n    return f'Message {turn}.' if turn <= turns else None",
    "@probity.simulator(form='whole')\ndef part(say, turns):\n    for turn in range(turns):\n        if say(f'Message {turn}.').end:\n            return",
    "@probity.simulator(form='whole')\nasync def part(say):\n    while not (await say('And then?')).end:\n        pass",
    "@probity.tools\ndef part(tool, arguments):\n    return {tool: arguments}",
    "@probity.metrics\ndef part(description):\n    yield {'name': 'a', 'type': 'negative', 'definition': description, 'examples': []}",
    "@probity.metrics\ndef part(description):\n    return [{'name': 'a', 'type': 'negative', 'definition': description, 'examples': []}]",
    "@probity.scenarios\ndef part(metric, count):\n    for at in range(count):\n        yield probity.Scenario('', f'Poet {at}', 'Praise.', metric.definition)",
])
def test_parts_of_the_package_pass(tmp_path: Path, source: str) -> None:
    (tmp_path / "part.py").write_text(f"import probity\n{source}\n\nprobity.serve()\n")
    code, text = check(str(tmp_path / "part.py"), timeout=20)
    assert code == 0 and "checks, 0 failed" in text, text


@pytest.mark.parametrize(("mode", "words"), [
    ("protocol", "FAIL  hello: malformed: protocol: expected 1, found 2"),
    ("kind", "FAIL  hello: malformed: kind: expected one of judge"),
    ("secret", "FAIL  hello: malformed: settings.api_key: a fingerprint holds no secrets"),
    ("wants", "FAIL  hello: malformed: wants: unknown 'thresholds'"),
    ("models", "FAIL  hello: malformed: models.judge: expected the fewest and the most calls"),
    ("per", "FAIL  hello: malformed: per: expected metric or conversation"),
    ("refuses", "FAIL  hello: permanent: setting `threshold`: expected a number"),
    ("dies", "FAIL  a request: lost: the program ended; its standard error ends: Traceback: boom"),
    ("hangs", "FAIL  a request: retryable: no answer within 1 s"),
    ("floods", "FAIL  a request: lost: it floods its standard output"),
    ("long_line", "FAIL  a request: lost: a line of more than 16 MiB"),
    ("rubbish", "FAIL  a request: malformed: a line that begins with {\" and is not JSON"),
    ("wrong_id", "FAIL  a request: retryable: no answer within 1 s; 1 answers had an id that no open request has"),
    ("no_id", "FAIL  a request: malformed: an answer without an id"),
    ("both", "FAIL  a request: malformed: expected one of result, error"),
    ("no_verdict", "FAIL  a request: malformed: present: expected true or false"),
    ("no_reason", "FAIL  a request: malformed: reason: expected a text that is not blank"),
    ("quote", "FAIL  a request: malformed: quotes[0].text: not in message 2"),
    ("closes_output", "FAIL  a request: lost: it closed its standard output"),
    ("unnamed", "FAIL  a request: permanent: model: hello does not name 'judge'"),
    ("poison", "FAIL  8 requests, 1 in flight: "),
    ("twice", "FAIL  each request is answered once: "),
    ("stays", "FAIL  it ends at the end of its input: not within 5 s"),
    ("code", "FAIL  it ends at the end of its input: exit code 4"),
    ("unstable", "FAIL  two processes at once say the same hello"),
])
def test_what_is_wrong_is_said(wrong: Path, mode: str, words: str) -> None:
    code, text = check("--", sys.executable, str(wrong), mode)
    assert code == 1 and words in text, text
    assert not text.endswith(" 0 failed\n"), text


@pytest.mark.parametrize("mode", ["good", "two", "prints", "talks", "child"])
def test_what_does_no_harm_passes(wrong: Path, mode: str) -> None:
    code, text = check("--", sys.executable, str(wrong), mode, timeout=20)
    assert code == 0, text
    assert ("note  standard output holds messages only: " in text) == (mode == "prints"), text


def test_what_cannot_be_started_is_said() -> None:
    code, text = check("--", "no-such-program")
    assert code == 1 and "FAIL  hello: no-such-program: No such file or directory" in text, text


def test_a_silent_start_ends_in_time(wrong: Path) -> None:
    code, text = check("--start-timeout=1", "--", sys.executable, str(wrong), "silent")
    assert code == 1 and "FAIL  hello: retryable: no answer within 1 s" in text, text
