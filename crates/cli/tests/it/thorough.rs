//! `doctor --process ID --thorough`: the conformance kit against programs that follow the protocol, and that do not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::{Project, Ran};
use serde_json::Value;

/// A judge that asks a model and follows the protocol.
const JUDGE: &str = r#"
import json, sys
def send(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    try: m = json.loads(line)
    except ValueError: continue
    if not isinstance(m, dict) or "id" not in m or "method" not in m:
        continue
    id, p = m["id"], m["params"]
    if m["method"] == "hello":
        send({"id": id, "result": {"protocol": 1, "kind": "judge", "name": "asks", "version": "1", "models": {"judge": [1, 1]}}})
        continue
    if m["method"] != "judge":
        send({"id": id, "error": {"kind": "unsupported", "message": m["method"]}})
        continue
    if "messages" not in p:
        send({"id": id, "error": {"kind": "permanent", "message": "messages: missing"}})
        continue
    said = p["messages"][-1]
    send({"id": f"c{id}", "method": "chat", "params": {"for": id, "model": "judge", "messages": [{"role": "user", "content": said["content"]}]}})
    answer = json.loads(sys.stdin.readline())
    if "error" in answer:
        send({"id": id, "error": answer["error"]})
    else:
        # RESULT
        send({"id": id, "result": {"present": json.loads(answer["result"]["content"])["present"], "reason": "So it said.", "quotes": [{"message": said["n"], "text": said["content"]}]}})
"#;

/// A target that keeps conversations and answers many at once.
const AGENT: &str = r#"
import json, sys
seen = {}
def answer(m):
    p = m["params"]
    if m["method"] == "hello":
        return {"result": {"protocol": 1, "kind": "target", "name": "agent", "version": "1", "sessions": True, "max_concurrency": 20}}
    if "conversation" not in p:
        return {"error": {"kind": "permanent", "message": "conversation: missing"}}
    if m["method"] == "open":
        seen[p["conversation"]] = 0
        return {"result": {"session": f"s-{p['conversation']}"}}
    if m["method"] == "close":
        seen.pop(p["conversation"], None)
        return {"result": {}}
    if p["conversation"] not in seen:
        return {"error": {"kind": "lost", "message": "it is not open"}}
    assert p["session"] == f"s-{p['conversation']}", p
    seen[p["conversation"]] += 1
    return {"result": {"content": f"Turn {seen[p['conversation']]}."}}
for line in sys.stdin:
    try: m = json.loads(line)
    except ValueError: continue
    if isinstance(m, dict) and "id" in m and "method" in m:
        print(json.dumps({"id": m["id"], **answer(m)}), flush=True)
"#;

/// A judge of conversations, which needs no model.
const WHOLE: &str = r#"
import json, sys
for line in sys.stdin:
    try: m = json.loads(line)
    except ValueError: continue
    if not isinstance(m, dict) or "id" not in m or "method" not in m:
        continue
    answer = {"error": {"kind": "permanent", "message": "metrics: missing"}}
    if m["method"] == "hello":
        answer = {"result": {"protocol": 1, "kind": "judge", "name": "whole", "version": "1", "per": "conversation"}}
    elif "metrics" in m["params"]:
        given = [{"metric": x["id"], "reason": "So.", **({"present": True} if x["verdict"]["type"] == "present" else {"value": 3})} for x in m["params"]["metrics"]]
        answer = {"result": {"verdicts": given}}
    print(json.dumps({"id": m["id"], **answer}), flush=True)
"#;

#[test]
fn a_judge_of_conversations_is_asked_for_two_metrics() {
    let project = project();
    project.write("judge.py", WHOLE);
    let whole = thorough(&project, "judge");
    assert_eq!((whole.code, failed(&whole)), (0, vec![]), "{}", whole.out);
    assert!(
        whole.out.contains("\"metric\":\"m02\",\"reason\""),
        "{}",
        whole.out
    );
    project.write(
        "judge.py",
        &WHOLE.replace("\"verdicts\": given", "\"verdicts\": given[:1]"),
    );
    let partly = thorough(&project, "judge");
    assert_eq!(partly.code, 1);
    assert!(
        partly.out.contains("no verdict on \"m02\""),
        "{}",
        partly.out
    );
}

/// A generator that gives its metrics one by one.
const WRITER: &str = r#"
import json, sys
def send(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    try: m = json.loads(line)
    except ValueError: continue
    if not isinstance(m, dict) or "id" not in m or "method" not in m:
        continue
    id, p = m["id"], m["params"]
    if m["method"] == "hello":
        send({"id": id, "result": {"protocol": 1, "kind": "metrics", "name": "writer", "version": "1"}})
    elif "description" not in p:
        send({"id": id, "error": {"kind": "permanent", "message": "description: missing"}})
    else:
        send({"id": f"i{id}", "method": "item", "params": {"for": id, "item": {"name": "a", "type": "negative", "definition": p["description"], "examples": []}}})
        answer = json.loads(sys.stdin.readline())
        send({"id": id, "result": {}} if "result" in answer else {"id": id, "error": answer["error"]})
"#;

#[test]
fn a_generator_gives_items_to_the_kit() {
    let project = project();
    let config = project.read("config.yaml");
    project.write(
        "config.yaml",
        &format!("{config}generator_model: {{python: writer.py}}\n"),
    );
    project.write("writer.py", WRITER);
    let good = thorough(&project, "writer");
    assert_eq!((good.code, failed(&good)), (0, vec![]), "{}", good.out);
    project.write("writer.py", &WRITER.replace("\"item\": {", "\"thing\": {"));
    let wrong = thorough(&project, "writer");
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.out.contains("item: expected an object"),
        "{}",
        wrong.out
    );
}

fn project() -> Project {
    let project = Project::new();
    project.write(
        "config.yaml",
        "user_model: scripted/scripted-user\nevaluator_model: scripted/scripted-judge\n\
         evaluator: [{python: judge.py}, shipped]\ntargets: [{id: agent, python: agent.py}]\n",
    );
    project.write("judge.py", JUDGE);
    project.write("agent.py", AGENT);
    project
}

fn thorough(project: &Project, id: &str) -> Ran {
    project.run(&["doctor", "--process", id, "--thorough"])
}

/// The lines of checks that failed.
fn failed(ran: &Ran) -> Vec<&str> {
    let lines = ran.out.lines();
    lines.filter(|line| line.starts_with("FAIL")).collect()
}

#[test]
fn programs_that_follow_the_protocol_pass() {
    let project = project();
    let judge = thorough(&project, "judge");
    assert_eq!((judge.code, failed(&judge)), (0, vec![]), "{}", judge.out);
    for words in [
        "pass  hello, within ",
        "pass  a request\n      sent  {\"method\":\"judge\"",
        "came  {\"present\":",
        "pass  a text of 1024 KiB",
        "pass  8 requests, 1 in flight",
        "pass  a request after messages that it need not know",
        "pass  a request after lines that are no messages",
        "pass  a method that it does not know",
        "came  permanent: messages: missing",
        "pass  a cancelled request",
        "came  cancelled: ",
        "pass  the error of a call to a model is passed on, with `final`",
        "came  over_budget: the budget is spent",
        "pass  it calls models as hello says",
        "pass  each request is answered once",
        "came  exit code 0 after ",
        "pass  two processes at once say the same hello",
        "pass  it ends with requests in flight",
        " checks, 0 failed",
    ] {
        assert!(judge.out.contains(words), "{words}: {}", judge.out);
    }
    let agent = thorough(&project, "targets[0]");
    assert_eq!((agent.code, failed(&agent)), (0, vec![]), "{}", agent.out);
    for words in [
        "pass  80 requests, 20 in flight",
        "pass  a conversation that was not opened",
        "pass  turn 2 of a conversation",
        "came  {\"content\":\"Turn 2.\"}",
        "pass  its close",
        "came  lost: it is not open",
    ] {
        assert!(agent.out.contains(words), "{words}: {}", agent.out);
    }
}

#[test]
fn what_a_program_does_wrong_is_shown_with_what_was_sent_and_came() {
    for (old, new, wrong, came) in [
        // It dies of a notification, and of lines that are none.
        (
            "or \"id\" not in m or",
            "or",
            "FAIL  a request after messages that it need not know",
            "KeyError: 'id'",
        ),
        (
            "\"reason\": \"So it said.\", ",
            "",
            "FAIL  a request",
            "malformed: reason: expected a text",
        ),
        (
            "# RESULT",
            "send({\"id\": id, \"result\": {\"abstain\": \"first\"}})",
            "FAIL  each request is answered once",
            "answers too many",
        ),
        (
            "send({\"id\": id, \"error\": answer[\"error\"]})",
            "send({\"id\": id, \"error\": {\"kind\": \"retryable\", \"message\": \"no model\"}})",
            "FAIL  the error of a call to a model is passed on, with `final`",
            "retryable: no model",
        ),
        (
            "{\"judge\": [1, 1]}",
            "{\"user\": [1, 1]}",
            "FAIL  a request",
            "permanent: model: hello does not name \"judge\"",
        ),
        (
            "for line in sys.stdin:",
            "import atexit, time; atexit.register(lambda: time.sleep(30))\nfor line in sys.stdin:",
            "FAIL  it ends at the end of its input",
            "not within 5 s",
        ),
        (
            "\"version\": \"1\"",
            "\"version\": str(__import__('os').getpid())",
            "FAIL  two processes at once say the same hello",
            "\"version\":",
        ),
        (
            "\"protocol\": 1",
            "\"protocol\": 2",
            "FAIL  hello",
            "the program speaks protocol 2",
        ),
    ] {
        let project = project();
        assert!(JUDGE.contains(old), "{old}");
        project.write("judge.py", &JUDGE.replace(old, new));
        let ran = thorough(&project, "judge");
        assert_eq!(ran.code, 1, "{wrong}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(wrong), "{wrong}: {}", ran.out);
        assert!(ran.out.contains(came), "{came}: {}", ran.out);
    }
}

#[test]
fn a_program_is_chosen_by_its_id() {
    let project = project();
    let ran = project.run(&["doctor", "--process", "jugde", "--thorough"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let words = "no program has the id `jugde`; did you mean `judge`?";
    assert!(ran.err.contains(words), "{}", ran.err);
    assert_eq!(project.run(&["doctor", "--thorough"]).code, 2);
    // One exchange with the program alone.
    let ran = project.succeeds(&["doctor", "--process", "agent"]);
    assert!(ran.out.contains("1 model answers"), "{}", ran.out);
    // The same checks as JSON.
    let ran = project.succeeds(&["doctor", "--process", "judge", "--thorough", "--json"]);
    let printed: Value = serde_json::from_str(&ran.out).unwrap();
    let first = &printed["program"]["checks"][0];
    assert_eq!(first["outcome"], "pass", "{printed}");
    assert!(first["sent"].as_str().unwrap().contains("\"protocol\":1"));
}

#[test]
fn a_secret_of_its_environment_is_not_shown() {
    let project = project().env("JUDGE_KEY", "sk-very-secret-value-1234");
    let config = project.read("config.yaml").replace(
        "{python: judge.py}",
        "{python: judge.py, env: {JUDGE_KEY: \"${JUDGE_KEY}\"}}",
    );
    project.write("config.yaml", &config);
    let says = "\"reason\": __import__('os').environ['JUDGE_KEY']";
    project.write(
        "judge.py",
        &JUDGE.replace("\"reason\": \"So it said.\"", says),
    );
    let ran = thorough(&project, "judge");
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(!ran.out.contains("very-secret"), "{}", ran.out);
}
