"""A judge that asks a model of the run. `evaluator: {python: asking_judge.py}`, with `evaluator_model` for the model."""
import json
import sys

HELLO = {"protocol": 1, "kind": "judge", "name": "asks", "version": "1", "models": {"judge": [1, 1]}}


def send(**message):
    print(json.dumps(message), flush=True)


def receive():
    """The next message. Lines that are none are skipped; at the end of the input the process ends."""
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict):
            return message
    sys.exit()


def chat(request, text):
    """Calls the model `judge` for the request, and waits for its answer."""
    call = f"call-{request}"
    send(id=call, method="chat", params={"for": request, "model": "judge", "messages": [{"role": "user", "content": text}]})
    while True:
        answer = receive()
        if answer.get("id") == call:
            return answer


def judge(request, params):
    metric = params["metrics"][0]
    said = "\n".join(f"{m['n']}. {m['role']}: {m['content']}" for m in params["messages"])
    answer = chat(request, f"Does the assistant do this: {metric['definition']}\n\n{said}\n\nAnswer yes or no, with a reason.")
    if "error" in answer:
        return {"error": answer["error"]}
    words = answer["result"]["content"]
    return {"result": {"present": "yes" in words.lower(), "reason": words or "It said nothing."}}


while True:
    message = receive()
    method, request = message.get("method"), message.get("id")
    if method == "hello":
        send(id=request, result=HELLO)
    elif method == "judge":
        try:
            send(id=request, **judge(request, message["params"]))
        except (KeyError, TypeError) as error:
            send(id=request, error={"kind": "permanent", "message": f"a field is missing: {error}"})
    elif request is not None and method:
        send(id=request, error={"kind": "unsupported", "message": f"no method {method}"})
