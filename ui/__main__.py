"""python -m ui: the page, over the demo law or a store of one's own."""

from __future__ import annotations

import argparse
import contextlib
import errno
import ipaddress
import os
import socket
import sys
import webbrowser

from pipelines import command_line
from pipelines.command_line import DONE, EXIT_CODES, WRONG_USE, say
from ui.listening import address, listen

_EPILOG = """\
Without --store, the first start builds a store of the invented Statutes of Aldermere and keeps it
in LEXARBOR_HOME (default: lexarbor in your cache folder). Nothing leaves this machine.

  python -m ui
  python -m ui --store adgm.db --port 8000 --open"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    try:
        listening = listen(options.host, options.port)
    except OSError as error:
        say(f"error: {_refusal(options.host, options.port, error)}")
        return WRONG_USE
    with listening:
        return command_line.run(lambda: _serve(options, listening))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ui",
        description="Ask a law in the browser.",
        epilog=f"{_EPILOG}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--store", metavar="FILE", help="default: the demo store")
    parser.add_argument(
        "--pipeline",
        metavar="NAME",
        help="lexical, dense, hybrid or a YAML file "
        "(default: hybrid; lexical for a store of text alone)",
    )
    parser.add_argument("--model", metavar="DIR", help="default: the one that the store records")
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine only")
    parser.add_argument(
        "--port", type=_port, default=7860, metavar="N", help="default: 7860; 0: any free one"
    )
    parser.add_argument("--open", action="store_true", help="open the page in your browser")
    return parser.parse_args(arguments)


def _serve(options: argparse.Namespace, listening: socket.socket) -> int:
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    say("Starting")
    from components.retrievers.snapshot import readable
    from pipelines.asking import Answer, ask
    from pipelines.binding import default_pipeline
    from pipelines.home import store_to_ask
    from pipelines.loading import load_pipeline
    from ui.app import build_page
    from ui.collection import Collection
    from ui.server import build_server, make_server

    store = store_to_ask(options.store, options.pipeline, say)
    name = options.pipeline or default_pipeline(store)
    pipeline = load_pipeline(name, store, options.model)
    # Models and indexes are loaded now, so that the first reader does not wait for them.
    pipeline.warm_up()
    parts = dict(pipeline.walk())
    stores = (getattr(part, "document_store", None) for part in parts.values())
    collection = Collection.of(readable(next(each for each in stores if each)).entries())

    def answer(question: str) -> Answer:
        return ask(pipeline, question)

    app = build_server(build_page(answer, collection, list(parts)))
    url = address(listening)
    say(
        f"{collection.articles:,} articles of {len(collection.laws):,} laws, "
        f"pipeline '{pipeline.metadata['name']}'. The page is at {url} (Ctrl+C ends it)"
    )
    if not _is_loopback(listening):
        say("Everyone who can reach this machine can read the page and ask; there is no password.")
    if options.open:
        webbrowser.open(url)
    # The server raises the interruption again once it has ended in good order.
    with contextlib.suppress(KeyboardInterrupt):
        make_server(app).run(sockets=[listening])
    return DONE


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use. Stop what runs there, or choose another one: "
            f"--port {port + 1 if port < 65535 else 7860}."
        )
    if error.errno == errno.EACCES:
        return f"port {port} is reserved by the system. Choose one above 1023: --port 7860."
    return f"{host} is no address of this machine. Give another one with --host."


def _is_loopback(listening: socket.socket) -> bool:
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port, a whole number from 0 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
