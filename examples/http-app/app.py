"""An application with sessions behind HTTP: POST /threads, POST /threads/ID/runs, DELETE /threads/ID. Standard library only.

    python3 app.py PORT
"""
import json
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

threads: dict[str, list[str]] = {}


def answer(said: list[str]) -> str:
    """What an adviser that remembers the conversation says to its last message."""
    if len(said) == 1:
        return f"Before I agree: what speaks against it? You wrote {said[-1]!r}."
    return f"This is your message {len(said)}. My view has not changed since the first: {said[0]!r} needs more evidence."


class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.strip("/").split("/")
        if path == ["threads"]:
            thread = uuid.uuid4().hex
            threads[thread] = []
            self.reply(200, {"thread_id": thread})
        elif len(path) == 3 and path[0] == "threads" and path[2] == "runs":
            said = threads.get(path[1])
            if said is None:
                self.reply(404, {"error": "no such thread"})
                return
            said.append(body["message"])
            text = answer(said)
            self.reply(200, {"answer": {"text": text}, "tokens": {"in": len(body["message"]) // 4, "out": len(text) // 4}})
        else:
            self.reply(404, {"error": "no such path"})

    def do_DELETE(self) -> None:
        threads.pop(self.path.strip("/").split("/")[-1], None)
        self.reply(200, {})

    def reply(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
