"""A scripted server that speaks OpenAI's chat protocol, on loopback."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What "endless" sends if nobody hangs up.
ENDLESS = 64 * 2**20


@dataclass
class Script:
    """What the server says, and what it was asked.

    Attributes:
        reply: the text of its reply.
        reply_to: makes the reply from the last message in place of `reply`.
        fault: how it fails: "500", "401", "slow", "cut", "cut stream", "no json", "length", "body",
            "redirect", "gzip bomb", "drip" (a blank at a time), "endless", "endless error",
            "endless stream", "endless headers", or "" where it does not.
        asked: the bodies of the requests.
        body: the body of the response, for the fault "body".
        location: where "redirect" leads.
        sent: bytes of the last body that were sent: all of it, or until the client hung up.
        hung_up: set when the client hangs up on a body without end.
    """

    reply: str = ""
    reply_to: Callable[[str], str] | None = None
    fault: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    body: bytes = b""
    location: str = ""
    sent: int = 0
    hung_up: threading.Event = field(default_factory=threading.Event)

    @property
    def prompt(self) -> str:
        """All messages of the last request."""
        return "\n".join(message["content"] for message in self.asked[-1]["messages"])


@contextmanager
def chat_server() -> Iterator[Script]:
    """A running server; its script may be changed between requests."""
    script = Script()
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            script.asked.append(json.loads(self.rfile.read(length)))
            if script.reply_to is not None:
                script.reply = script.reply_to(script.asked[-1]["messages"][-1]["content"])
            if script.fault in ("500", "401"):
                self._send(b'{"error": {"message": "no"}}', status=int(script.fault))
            elif script.fault == "slow":
                over.wait(30)
                self.close_connection = True
            elif script.fault == "redirect":
                self.send_response(307)
                self.send_header("Location", script.location)
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif script.fault == "gzip bomb":
                message = {"role": "assistant", "content": script.reply}
                body = _completion(message=message, finish="stop") + b" " * 2**23
                self._send(gzip.compress(body), encoding="gzip")
            elif script.fault == "body":
                self._send(script.body)
            elif script.fault == "drip" or script.fault.startswith("endless"):
                self._pour(script.fault)
            elif script.fault == "no json":
                self._send(b"<html>bad gateway</html>")
            elif script.asked[-1].get("stream"):
                self._stream()
            else:
                finish = "length" if script.fault == "length" else "stop"
                message = {"role": "assistant", "content": script.reply}
                body = _completion(message=message, finish=finish)
                cut = len(body) // 2 if script.fault == "cut" else len(body)
                self._send(body[:cut], declared=len(body))

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            half = len(script.reply) // 2
            parts = [script.reply[:half], script.reply[half:]]
            for place, part in enumerate(parts):
                last = place == len(parts) - 1
                if last and script.fault == "cut stream":
                    break
                finish = "stop" if last else None
                body = _completion(delta={"content": part}, finish=finish)
                self.wfile.write(b"data: " + body + b"\n\n")
                self.wfile.flush()
            else:
                self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def _pour(self, fault: str) -> None:
            """Send until the client hangs up."""
            script.sent = 0
            script.hung_up.clear()
            piece, pause = b"x" * 2**16, 0.0
            if fault == "endless stream":
                part = _completion(delta={"content": "x" * 1000}, finish=None)
                piece = (b"data: " + part + b"\n\n") * 50
            if fault in ("drip", "endless headers"):
                piece, pause = b" ", 0.01
            if fault == "endless headers":
                piece = b"HTTP/1.1 102 Processing\r\n\r\n"
            else:
                self.send_response(500 if fault == "endless error" else 200)
                streamed = fault == "endless stream"
                kind = "text/event-stream" if streamed else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                piece = b"%x\r\n%s\r\n" % (len(piece), piece)
            self.close_connection = True
            try:
                while script.sent < ENDLESS and not over.wait(pause):
                    self.wfile.write(piece)
                    script.sent += len(piece)
            except OSError:
                script.hung_up.set()

        def _send(
            self,
            body: bytes,
            status: int = 200,
            declared: int | None = None,
            encoding: str | None = None,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) if declared is None else declared))
            if encoding:
                self.send_header("Content-Encoding", encoding)
            self.end_headers()
            self.wfile.write(body)
            script.sent = len(body)
            if declared not in (None, len(body)):
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _completion(finish: str | None, **content: Any) -> bytes:
    streamed = "delta" in content
    return json.dumps(
        {
            "id": "c1",
            "object": "chat.completion.chunk" if streamed else "chat.completion",
            "created": int(time.time()),
            "model": "scripted",
            "choices": [{"index": 0, "finish_reason": finish, **content}],
        }
    ).encode()
