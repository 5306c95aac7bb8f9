r"""python -m pipelines.serve: pipelines as a REST service on this machine.

Answers POST /{pipeline}/run with the JSON of `python -m pipelines.ask --json`; GET /docs describes
it, GET /ready reports whether models and indexes are loaded, GET /metrics is for Prometheus. The
log is JSON lines on standard error, without questions. Without --store the invented Statutes of
Aldermere are served.

The service has no TLS, so it listens to this machine alone, and answers everyone there unless
--api-key-env names a key. To open it further, put a reverse proxy in front of it, on this machine
(docs/serve.md).

  python -m pipelines.serve
  python -m pipelines.serve --store adgm.db --pipeline hybrid --pipeline lexical --port 8000
  curl -s http://127.0.0.1:1416/hybrid/run -H 'Content-Type: application/json' \
    -d '{"query": "My landlord will not mend the boiler. What can I do?", "top_k": 3}'
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING

from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, require, say
from pipelines.serving.limits import Limits, address, is_loopback, listen, share_cores

if TYPE_CHECKING:
    from haystack import Pipeline

_PORT = 1416
_NEEDED = (
    *("fastapi", "fastapi_offline"),
    *("prometheus_fastapi_instrumentator", "opentelemetry.instrumentation.fastapi"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _serve(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser("serve", "Serve pipelines over HTTP.", __doc__)
    command_line.add_store(parser)
    limits = Limits()
    add = parser.add_argument
    add(
        "--pipeline",
        action="append",
        metavar="NAME",
        help=f"{command_line.PIPELINE_NAMES}; may be repeated "
        "(default: hybrid; lexical for a store of text alone)",
    )
    command_line.add_generator(parser)
    add("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine only")
    add("--port", type=int, default=_PORT, metavar="N", help=f"default: {_PORT}; 0: any")
    add("--insecure", action="store_true", help="allow other machines, and any host name")
    add(
        "--api-key-env",
        metavar="NAME",
        help="answer only requests that bring the key in this environment variable",
    )
    for flag, default, help_ in (
        ("--at-once", limits.at_once, "questions answered at the same time"),
        ("--waiting", limits.waiting, "questions that may wait for their turn"),
        ("--seconds", int(limits.seconds), "time for a question, waiting included"),
    ):
        help_ = f"{help_} (default: {default})"
        add(flag, type=command_line.positive, default=default, metavar="N", help=help_)
    options = parser.parse_args(arguments)
    command_line.check_generator(parser, options)
    return options


def _serve(options: argparse.Namespace) -> int:
    key = _key(options.api_key_env)
    if not options.insecure and not is_loopback(options.host):
        lacks = "neither passwords nor TLS" if key is None else "no TLS to hide the key"
        raise LoadingError(
            f"--host {options.host} opens the service to other machines, and it has {lacks}. Put a "
            "reverse proxy in front (docs/serve.md), or add --insecure."
        )
    listening = listen(options.host, options.port)
    require("The service", "serve", *_NEEDED)
    say("Starting")
    pipelines = _loaded(options)
    from pipelines.serving.app import build_app, serve
    from pipelines.serving.limits import LOOPBACK
    from pipelines.serving.metrics import log_as_json, trace_to_collector

    share_cores(options.at_once)
    limits = Limits(options.at_once, options.waiting, options.seconds)
    names = None if options.insecure else LOOPBACK | {options.host.lower()}
    app = build_app(pipelines, limits, names, key)
    trace_to_collector(app)
    url = address(listening)
    say(
        f"Listening at {url} for {', '.join(f'POST /{name}/run' for name in pipelines)}; "
        f"described at {url}docs (Ctrl+C ends it)"
    )
    if is_loopback(options.host):
        say("Only this machine can reach it; to open it, use a reverse proxy (docs/serve.md).")
    elif key is None:
        say("Everyone who can reach this machine can ask; there is no password and no TLS.")
    else:
        say("Whoever has the key can ask; there is no TLS, so others on the network can read it.")
    log_as_json()
    serve(app, limits, listening)
    return DONE


def _key(variable: str | None) -> str | None:
    """The service's key.

    Raises:
        LoadingError: the environment has none that a header can hold.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not re.fullmatch("[!-~]{12,}", key):
        fault = "is not 12 ASCII characters or more without blanks" if key else "is not set"
        raise LoadingError(
            f"--api-key-env {variable}: the environment variable {fault}. Make a key with "
            "python -c 'import secrets; print(secrets.token_urlsafe())'."
        )
    return key


def _loaded(options: argparse.Namespace) -> dict[str, Pipeline]:
    """The requested pipelines, by name; models and indexes are loaded later.

    Raises:
        LoadingError: one is refused, or two have the same name.
    """
    from pipelines.home import resolve
    from pipelines.loading import load_pipeline

    loaded: dict[str, Pipeline] = {}
    asked_for = options.pipeline or [None]
    for requested in asked_for:
        plan = resolve(
            *(requested, options.store, options.model, say),
            generator=options.generator,
            generator_model=options.generator_model,
            others=asked_for,
        )
        pipeline = load_pipeline(*plan.arguments)
        name = str(pipeline.metadata["name"])
        if name in loaded:
            raise LoadingError(f"Two pipelines are called '{name}'. Rename one of their files.")
        _leave_time(pipeline, options.seconds)
        loaded[name] = pipeline
    return loaded


def _leave_time(pipeline: Pipeline, seconds: int) -> None:
    """Limit slow components, so that they cannot cost the articles too.

    A generator gets half of a question's time, a ranker without a budget in its file a quarter.
    """
    for _, instance in pipeline.walk():
        if hasattr(instance, "time_limit"):
            instance.time_limit = min(instance.time_limit, seconds / 2)
        if hasattr(instance, "time_budget_ms") and instance.time_budget_ms is None:
            instance.time_budget_ms = seconds * 1000 / 4


if __name__ == "__main__":
    sys.exit(main())
