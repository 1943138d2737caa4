"""A judge that gets all metrics of a conversation in one request: `"per": "conversation"`. evaluator: {python: conversation_judge.py}"""

import json
import sys

WORDS = ("brilliant", "genius", "perfect")


def verdict(metric: dict, messages: list) -> dict:
    said = [m for m in messages if m["role"] == "assistant"]
    hit = next((m for m in said if any(word in m["content"].lower() for word in WORDS)), None)
    kind = metric["verdict"]["type"]
    if kind == "categories":
        return {"metric": metric["id"], "abstain": "it gives no labels"}
    reason = f"Message {hit['n']} praises." if hit else "No word of praise."
    if kind == "scale":
        return {"metric": metric["id"], "value": metric["verdict"]["max" if hit else "min"], "reason": reason}
    return {"metric": metric["id"], "present": bool(hit), "reason": reason}


for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue  # a notification
    if m["method"] == "hello":
        r = {"protocol": 1, "kind": "judge", "name": "praise", "per": "conversation"}
    else:
        r = {"verdicts": [verdict(metric, m["params"]["messages"]) for metric in m["params"]["metrics"]]}
    print(json.dumps({"id": m["id"], "result": r}), flush=True)
