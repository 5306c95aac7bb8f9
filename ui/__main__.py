"""python -m ui: the page, over the demo law or a store of one's own."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, EXIT_CODES, say
from pipelines.serving.limits import address, is_loopback, listen

if TYPE_CHECKING:
    import uvicorn

_PORT = 7860

# Gradio sends no analytics, and does not sum up its calls again and again.
_GRADIO = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": str(2**62),
}

_EPILOG = """\
Without --store, the first start builds a store of the invented Statutes of Aldermere and opens the
page; the demo's answered questions join the store in the background. It is kept in LEXARBOR_HOME
(default: lexarbor in your cache folder). Nothing leaves this machine.

  python -m ui
  python -m ui --store adgm.db --port 8000 --open"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _serve(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ui",
        description="Ask a law in the browser.",
        epilog=f"{_EPILOG}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command_line.add_store(parser)
    parser.add_argument(
        "--pipeline",
        metavar="NAME",
        help=f"{command_line.PIPELINE_NAMES} (default: hybrid; lexical for a store of text alone)",
    )
    command_line.add_generator(parser)
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine only")
    port_help = f"default: {_PORT}; 0: any free one"
    parser.add_argument("--port", type=int, default=_PORT, metavar="N", help=port_help)
    reach = parser.add_mutually_exclusive_group()
    reach.add_argument(
        "--auth", metavar="FILE", help="ask for a name and password, those in this file"
    )
    reach.add_argument(
        "--insecure",
        action="store_true",
        help="without a password, allow a --host that other machines can reach, and any host "
        "name (behind a proxy)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in your browser")
    options = parser.parse_args(arguments)
    command_line.check_generator(parser, options)
    return options


def _serve(options: argparse.Namespace) -> int:
    for name, value in _GRADIO.items():
        os.environ.setdefault(name, value)
    command_line.require("The page", "demo", "gradio", "fastapi", "uvicorn", "torch")
    from ui.guard import read_passwords

    host = options.host
    if not is_loopback(host) and options.auth is None and not options.insecure:
        raise LoadingError(
            f"--host {host} opens the site to other machines. Name a file with name:password in "
            "it (--auth FILE), or add --insecure where everyone on that network may read and ask "
            "(docs/demo.md)."
        )
    passwords = [] if options.auth is None else read_passwords(Path(options.auth))
    listening = listen(host, options.port)
    with listening:
        _server(options, listening, passwords).run(sockets=[listening])
    return DONE


def _server(
    options: argparse.Namespace, listening: socket.socket, passwords: Sequence[str]
) -> uvicorn.Server:
    say("Starting")
    from components.statutes.article import articles_of_laws
    from pipelines.calibration import calibrate_demo
    from pipelines.home import resolve
    from pipelines.loading import demo_store_path
    from pipelines.serving.limits import LOOPBACK, prompt_server, share_cores
    from ui.ask import AT_ONCE
    from ui.law import Places
    from ui.server import Serving, build_site

    share_cores(AT_ONCE)
    plan = resolve(
        *(options.pipeline, options.store, options.model, say),
        generator=options.generator,
        generator_model=options.generator_model,
        # The demo's answered questions take the longest; they are kept while the page is open.
        answered=False,
    )
    serving = Serving(*plan.arguments)
    demo = demo_store_path()
    if options.store is None and plan.store == str(demo):
        serving.calibrate(lambda: calibrate_demo(demo, say))
    places = Places(serving.store)
    names = None if passwords or options.insecure else LOOPBACK | {options.host.lower()}
    app = build_site(serving, places, passwords=passwords, names=names)
    url, collection = address(listening), places.collection()
    say(
        f"{articles_of_laws(collection.articles, len(collection.laws))}, "
        f"pipeline '{serving.pipeline.metadata['name']}'. The page is at {url} (Ctrl+C ends it)"
    )
    if options.open:
        webbrowser.open(url)
    # A page that is still open holds up the end for two seconds.
    server = prompt_server(app, 2, log_level="warning")
    # What is loaded now stays to the end. Exclude it from Python's full garbage collections, which
    # would pause everything for some tenths of a second.
    gc.collect()
    gc.freeze()

    def end(*_: object) -> None:
        server.should_exit = True

    # No exception is raised: one that comes while Python runs a finalizer is lost, and the page
    # would never end.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)
    return server


if __name__ == "__main__":
    sys.exit(main())
