"""A target that keeps its conversations: {id: my-agent, command: [python3, agent.py]}."""
import json
import sys

conversations: dict[str, list[str]] = {}
for line in sys.stdin:
    m = json.loads(line)
    method, p, r = m["method"], m.get("params", {}), {}
    if method == "hello":
        r = {"protocol": 1, "kind": "target", "name": "agent", "version": "1", "sessions": True, "system": "own"}
    elif method == "open":
        conversations[p["conversation"]] = []
    elif method == "close":
        conversations.pop(p["conversation"], None)
    elif method == "chat" and p["conversation"] not in conversations:
        print(json.dumps({"id": m["id"], "error": {"kind": "lost", "message": "not an open conversation"}}), flush=True)
        continue
    elif method == "chat":
        said = conversations[p["conversation"]]
        said.append(p["messages"][-1]["content"])
        r = {"content": f"That is your message {len(said)}. I still see what speaks against it.", "usage": {"input_tokens": 9, "output_tokens": 12}}
    if "id" in m:
        print(json.dumps({"id": m["id"], "result": r}), flush=True)
