"""A judge that misbehaves in one way where the row is `bad`, and is good otherwise.

    python3 misbehaves.py MODE
"""
import json
import os
import subprocess
import sys
import threading
import time

MODE = sys.argv[1]
GOOD = {"present": False, "reason": "Nothing."}
HELLO = {"protocol": 1, "kind": "judge", "name": "misbehaves", "version": "1"}
lock = threading.Lock()


def out(text, end="\n"):
    with lock:
        sys.stdout.write(text + end)
        sys.stdout.flush()


def send(**message):
    out(json.dumps(message), "\r\n" if MODE == "crlf" else "\n")


def flood(text, end="\n"):
    while True:
        out(text, end)


def misbehave(id):
    if MODE == "noise":
        out("Loading model... 100%\nwarning: x\n{'a': 1}\n{}")
    elif MODE == "double":
        send(id=id, result=GOOD)
    elif MODE == "rubbish":
        out('{"id": 1, "result": {this is not JSON')
        return
    elif MODE == "two_keys":
        send(id=id, result=GOOD, error={"kind": "permanent", "message": "both"})
        return
    elif MODE == "odd_error":
        send(id=id, error={"kind": "strange", "message": "x"})
        return
    elif MODE == "dies":
        print("Traceback: boom", file=sys.stderr, flush=True)
        os._exit(3)
    elif MODE == "hangs":
        time.sleep(60)
    elif MODE == "flood":
        flood("spam " * 100)
    elif MODE == "long_line":
        flood('{"id": "' + "x" * 65536, "")
    elif MODE == "closes_input":
        os.close(0)
        time.sleep(60)
    elif MODE == "closes_output":
        os.close(1)
        time.sleep(60)
    elif MODE == "stderr_flood":
        for _ in range(20000):
            print("noise " * 50, file=sys.stderr)
    elif MODE == "child":
        child = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        send(id=id, result={"present": False, "reason": str(child.pid)})
        return
    elif MODE == "calls":
        send(id="c1", method="chat", params={"for": id, "model": "judge", "messages": []})
        answer = json.loads(sys.stdin.readline())
        send(id=id, result={"present": False, "reason": answer["error"]["kind"]})
        return
    elif MODE == "environment":
        send(id=id, result={"present": False, "reason": json.dumps(sorted(os.environ))})
        return
    send(id=id, result=GOOD)


def later(id, row):
    time.sleep(0.2)
    if row == "bad":
        os._exit(7)
    send(id=id, result=GOOD)


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method == "hello":
        if MODE == "no_hello":
            time.sleep(60)
        elif MODE == "oracle":
            send(id=id, result={**HELLO, "kind": "oracle"})
        elif MODE == "old":
            send(id=id, result={**HELLO, "protocol": 0})
        elif MODE == "secret":
            send(id=id, result={**HELLO, "settings": {"api_key": "x"}})
        elif MODE == "refuses":
            send(id=id, error={"kind": "permanent", "message": "setting `threshold`: expected a number"})
        elif MODE == "poison":
            send(id=id, result={**HELLO, "max_concurrency": 100})
        else:
            send(id=id, result=HELLO)
    elif method == "judge" and MODE == "poison":
        threading.Thread(target=later, args=(id, params["row"])).start()
    elif method == "judge":
        if params["row"] == "bad":
            misbehave(id)
        else:
            send(id=id, result=GOOD)
if MODE == "ignores_end":
    time.sleep(60)
