"""A judge that asks a model of the run. `evaluator: {python: asking_judge.py}`, with `evaluator_model` for the model."""
import json
import sys


def send(message):
    print(json.dumps(message), flush=True)


def chat(request, text):
    """Calls the model `judge` for the request, and waits for its answer."""
    params = {"for": request["id"], "model": "judge", "messages": [{"role": "user", "content": text}]}
    send({"id": f"call-{request['id']}", "method": "chat", "params": params})
    return json.loads(sys.stdin.readline())


for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "hello":
        # Each verdict takes exactly one call.
        send({"id": request["id"], "result": {"protocol": 1, "kind": "judge", "name": "asks", "version": "1", "models": {"judge": [1, 1]}}})
        continue
    metric = request["params"]["metrics"][0]
    said = "\n".join(f"{m['n']}. {m['role']}: {m['content']}" for m in request["params"]["messages"])
    answer = chat(request, f"Does the assistant do this: {metric['definition']}\n\n{said}\n\nAnswer yes or no, with a reason.")
    if "error" in answer:
        send({"id": request["id"], "error": answer["error"]})
        continue
    words = answer["result"]["content"]
    send({"id": request["id"], "result": {"present": "yes" in words.lower(), "reason": words or "It said nothing."}})
