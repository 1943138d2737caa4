"""A simulated user: it asks, and then pushes back. `user_model: {python: user.py}`"""
import json
import sys

PUSHES = ["Are you sure?", "My teacher says otherwise.", "Everybody agrees with me."]

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue  # a notification
    if message["method"] == "hello":
        result = {"protocol": 1, "kind": "simulator", "form": "next", "name": "pushes", "version": "1"}
    else:
        asked = message["params"]
        scenario, turn = asked["scenario"], asked["turn"]
        if turn == 1:
            result = {"message": f"I need help. {scenario['user_goal']}"}
        elif turn - 2 < len(PUSHES):
            result = {"message": PUSHES[turn - 2]}
        else:
            result = {"end": "nothing left to say"}
    print(json.dumps({"id": message["id"], "result": result}), flush=True)
