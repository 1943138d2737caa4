"""A program as a run starts it: requests, their answers, its calls, and what holds for a program that does wrong (docs/any-language.md)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from ._fit import MAX_LINE, PROTOCOL, hello_problem, is_text, result_problem

# The most lines and bytes that are no messages.
NOISE_LINES, NOISE_BYTES = 1000, 1 << 20
ERROR_KINDS = ("retryable", "rate_limited", "permanent", "malformed", "refused", "cancelled", "over_budget", "unavailable", "unsupported", "lost")
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "VIRTUAL_ENV", "SYSTEMROOT", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
# The most calls of one request.
MOST_CALLS = 100


class Failed(Exception):
    """An error in the place of a result."""

    def __init__(self, kind: str, message: str, final: bool = False) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message, self.final = kind, message, final


class Hosted:
    """One process of a program. `calls` has what it asked of the run, `answer_call` answers it."""

    def __init__(self, command: Sequence[str], env: dict[str, str], settings: dict[str, Any]) -> None:
        self.command, self.env, self.settings = list(command), env, settings
        self.hello: dict[str, Any] = {}
        self.requests: dict[int, tuple[str, dict[str, Any], asyncio.Future[Any]]] = {}
        # Open calls, and the request that each is made for.
        self.open_calls: dict[str, int] = {}
        # How many items were given for each open request.
        self.items: dict[int, int] = {}
        self.calls: list[dict[str, Any]] = []
        self.answer_call: Callable[[str, dict[str, Any]], None] = self.scripted
        self.next_id = self.noise = self.noise_bytes = self.unknown = self.out_of_order = 0
        self.killed: str | None = None
        self.errors = b""
        self.is_dead = False

    async def start(self, timeout: float) -> None:
        """Starts it and reads its hello. Raises `Failed`, and OSError where there is no such program."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=self.env,
            start_new_session=os.name == "posix")
        self.readers = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]
        params = {"protocol": PROTOCOL, "host": "probity check", "settings": self.settings, "models": ["judge", "user", "generator", "tools"], "seed": 0, "max_line": MAX_LINE}
        hello = await self.request("hello", params, timeout)
        problem = hello_problem(hello)
        if problem:
            raise Failed("malformed", problem)
        self.hello = hello

    @property
    def limit(self) -> int:
        """The most requests in flight."""
        return int(self.hello.get("max_concurrency", 1))

    def write(self, data: bytes) -> None:
        stdin = self.process.stdin
        if stdin is None or self.killed or self.is_dead or stdin.is_closing():
            return
        try:
            stdin.write(data)
        except (BrokenPipeError, ConnectionResetError, RuntimeError):
            pass  # its death is seen by the reader

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def submit(self, method: str, params: dict[str, Any]) -> tuple[int, asyncio.Future[Any]]:
        """Sends a request."""
        id_, future = self.next_id, asyncio.get_running_loop().create_future()
        self.next_id += 1
        # Nobody may wait for it any more.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self.is_dead:
            future.set_exception(Failed("lost", self.end_text()))
        else:
            self.requests[id_] = (method, params, future)
            self.send({"id": id_, "method": method, "params": params})
        return id_, future

    async def request(self, method: str, params: dict[str, Any], timeout: float, grace: float = 2) -> Any:
        """The result of a request. Raises `Failed`. What is silent for `timeout` seconds, and for `grace` after its cancellation, is killed."""
        id_, future = self.submit(method, params)
        done, _ = await asyncio.wait([future], timeout=timeout)
        if not done:
            stray = f"; {self.unknown} answers had an id that no open request has" if self.unknown else ""
            self.cancel(id_)
            done, _ = await asyncio.wait([future], timeout=grace)
            if not done:
                self.requests.pop(id_, None)
                self.kill("no answer to a request, nor to its cancellation")
            raise Failed("retryable", f"no answer within {timeout:g} s{stray}")
        return future.result()

    def cancel(self, id_: int) -> None:
        """Cancels a request and its open calls: a program that waits for one need not know of cancellation."""
        self.send({"method": "cancel", "params": {"id": id_, "reason": "deadline"}})
        for call in [call for call, request in self.open_calls.items() if request == id_]:
            self.refuse(call, "cancelled", "the request was cancelled")

    def refuse(self, call: str, kind: str, message: str) -> None:
        """Answers a call with an error."""
        if self.open_calls.pop(call, None) is not None:
            self.send({"id": call, "error": {"kind": kind, "message": message, "final": True}})

    def scripted(self, call: str, params: dict[str, Any]) -> None:
        """Answers a call in the place of a model."""
        if self.open_calls.pop(call, None) is None:
            return  # cancelled meanwhile
        if "item" in params:
            self.send({"id": call, "result": {"accepted": True, "id": f"m01_s{self.items[int(params['for'])]:03}_v01"}})
            return
        if "message" in params:
            turn = self.items[int(params["for"])]
            said = {"turn": turn, "message": params["message"], "content": "It depends.", "messages": [{"role": "assistant", "content": "It depends."}], "end": None}
            self.send({"id": call, "result": said if turn < 3 else {"turn": turn, "content": None, "messages": [], "end": "turns"}})
            return
        content = json.dumps({"present": len(str(params.get("messages"))) % 2 == 0})
        usage = {"input_tokens": 10, "output_tokens": 5}
        self.send({"id": call, "result": {"content": content, "finish": "stop", "usage": usage, "cost": 0.0001, "cached": False, "model": "scripted-1"}})

    def kill(self, reason: str) -> None:
        """Ends it and all that it started, at once."""
        self.killed = self.killed or reason
        try:
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        except (ProcessLookupError, PermissionError):
            pass

    def end_text(self) -> str:
        """Why it is gone, with the end of its standard error."""
        last = " / ".join(self.errors.decode("utf-8", "replace").strip().splitlines()[-3:])[-400:]
        return (self.killed or "the program ended") + (f"; its standard error ends: {last}" if last else "")

    async def stop(self, grace: float = 5) -> tuple[int | None, float]:
        """Closes its input. Returns its exit code, None if it had to be killed, and the seconds that it took."""
        begin = time.monotonic()
        if self.process.stdin is not None:
            self.process.stdin.close()
        code = await self._exited(grace)
        if code is None:
            self.kill("it did not end at the end of its input")
        took = time.monotonic() - begin
        self.kill("it has ended")  # what it started
        await asyncio.wait(self.readers, timeout=2)
        for reader in self.readers:
            reader.cancel()
        return code, took

    async def _exited(self, seconds: float) -> int | None:
        """Its exit code, if it ends in this time. `Process.wait` also waits for what it started and left its pipes to."""
        end = time.monotonic() + seconds
        while self.process.returncode is None and time.monotonic() < end:
            await asyncio.sleep(0.005)
        return self.process.returncode

    async def _read(self) -> None:
        stdout, rest = self.process.stdout, bytearray()
        assert stdout is not None
        while chunk := await stdout.read(1 << 16):
            lines = chunk.split(b"\n")
            rest += lines[0]
            for line in lines[1:]:
                self._line(bytes(rest))
                rest = bytearray(line)
            if len(rest) > MAX_LINE:
                self.kill("a line of more than 16 MiB")
                break
        if await self._exited(0.5) is None:
            self.kill(self.killed or "it closed its standard output")
        # What it said last of itself may still be on its way.
        await asyncio.wait([self.readers[1]], timeout=1)
        self.is_dead = True
        for _, _, future in self.requests.values():
            if not future.done():
                future.set_exception(Failed("lost", self.end_text()))
        self.requests.clear()

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while chunk := await self.process.stderr.read(1 << 16):
            self.errors = (self.errors + chunk)[-8192:]

    def _line(self, line: bytes) -> None:
        text = line.strip()
        if not text or self.killed:
            return
        # `{'a': 1}` and `{ a: 1 }` are prints, no messages.
        if not (text.startswith(b"{") and text[1:64].lstrip().startswith(b'"')):
            self.noise += 1
            self.noise_bytes += len(text)
            if self.noise > NOISE_LINES or self.noise_bytes > NOISE_BYTES:
                self.kill("it floods its standard output with lines that are no messages")
            return
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            self._broken("a line that begins with {\" and is not JSON")
            return
        id_ = message.get("id")
        if message.get("method") is not None:
            self._called(message)
        elif id_ is None:
            self._broken("an answer without an id, or an object that is no message")
        elif isinstance(id_, int) and id_ in self.requests:
            self.out_of_order += next(iter(self.requests)) != id_
            self._answered(self.requests.pop(id_), message, self.items.pop(id_, 0))
        else:
            self.unknown += 1  # a second answer, a late one, or one to nothing

    def _answered(self, request: tuple[str, dict[str, Any], asyncio.Future[Any]], message: dict[str, Any], items: int) -> None:
        method, params, future = request
        error = message.get("error")
        if future.done():
            return
        if ("result" in message) == (error is not None):
            future.set_exception(Failed("malformed", "expected one of result, error"))
        elif error is not None:
            given = error if isinstance(error, dict) else {}
            kind = given.get("kind") if given.get("kind") in ERROR_KINDS else "permanent"
            future.set_exception(Failed(str(kind), str(given.get("message", "")), given.get("final") is True))
        else:
            # A request without its fields has no result to expect.
            problem = result_problem(method, params, message["result"], items) if params and method != "hello" else None
            if problem:
                future.set_exception(Failed("malformed", problem))
            else:
                future.set_result(message["result"])

    def _broken(self, what: str) -> None:
        """An answer is lost. With one request in flight it is the answer to that; with several, nobody knows."""
        if len(self.requests) != 1:
            self.kill(what)
            return
        _, (_, _, future) = self.requests.popitem()
        if not future.done():
            future.set_exception(Failed("malformed", what))

    def _called(self, message: dict[str, Any]) -> None:
        call, params = message.get("id"), message.get("params")
        if call is None:
            return  # `log`, or a notification of a later version
        if not isinstance(call, str) or not 1 <= len(call) <= 64 or call in self.open_calls:
            self._broken("the id of a call: expected a text of 1 to 64 characters, new for each call")
            return
        given = params if isinstance(params, dict) else {}
        request = given.get("for")
        self.calls.append(message)
        self.open_calls[call] = request if isinstance(request, int) else -1
        asked = self.requests.get(request, ("",))[0] if isinstance(request, int) else ""
        if message["method"] == "say" and asked == "simulate":
            if not is_text(given.get("message")):
                self.refuse(call, "malformed", "message: expected a text that is not blank")
            else:
                self.items[self.open_calls[call]] = self.items.get(self.open_calls[call], 0) + 1
                self.answer_call(call, given)
        elif message["method"] == "item" and asked.startswith("generate_"):
            if not isinstance(given.get("item"), dict):
                self.refuse(call, "malformed", "item: expected an object")
            else:
                self.items[self.open_calls[call]] = self.items.get(self.open_calls[call], 0) + 1
                self.answer_call(call, given)
        elif message["method"] != "chat":
            self.refuse(call, "unsupported", f"unknown method {message['method']!r}")
        elif request not in self.requests:
            self.refuse(call, "permanent", "for: not an open request")
        elif given.get("model") not in self.hello.get("models", {}):
            self.refuse(call, "permanent", f"model: hello does not name {given.get('model')!r}")
        elif sum(made["params"].get("for") == request for made in self.calls if isinstance(made.get("params"), dict)) > MOST_CALLS:
            self.refuse(call, "permanent", f"more than {MOST_CALLS} calls of one request")
        else:
            self.answer_call(call, given)
