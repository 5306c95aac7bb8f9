"""The chat generator of an answer, as part of a pipeline's definition."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from pipelines.files import LoadingError, components_in, pipeline_file, read_pipeline_file

_GENERATOR = "components.generators.tolerant.TolerantChatGenerator"

# A key for OpenAI must not be sent to any other server.
_KEY_VARIABLE = "LEXARBOR_GENERATOR_KEY"
_OPENAI = "https://api.openai.com/"


def chat_generator(url: str, model: str) -> dict[str, Any]:
    """Haystack's `OpenAIChatGenerator` for a server that speaks OpenAI's protocol.

    ```python
    from pipelines.generators import chat_generator
    from pipelines.loading import load_pipeline

    local = chat_generator("http://localhost:11434/v1", "llama3.2")
    load_pipeline("answer_hybrid", overrides={"generator.chat_generator": local})
    ```

    The key is read from the environment when the first answer is written: LEXARBOR_GENERATOR_KEY,
    or for OpenAI's own server OPENAI_API_KEY. For any other server an unset variable gets a
    placeholder, since a local server usually needs no key, but Haystack always does.

    Args:
        url: URL of the API, as "http://localhost:11434/v1".
        model: the model's name there.

    Raises:
        LoadingError: the URL is not an HTTP URL.
    """
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        address = re.sub(r"^\w*:/+|^https?/+|^/+", "", url) or "localhost:11434/v1"
        raise LoadingError(f"The generator's address '{url}': write it as http://{address}.")
    keys = [_KEY_VARIABLE]
    if url.startswith(_OPENAI):
        keys.append("OPENAI_API_KEY")
    else:
        os.environ.setdefault(_KEY_VARIABLE, "none")
    return {
        "type": "haystack.components.generators.chat.openai.OpenAIChatGenerator",
        "init_parameters": {
            "api_base_url": url,
            "model": model,
            "api_key": {"type": "env_var", "env_vars": keys, "strict": True},
            "timeout": 30.0,
            "max_retries": 1,
        },
    }


def with_generator(
    pipeline: str | None, url: str | None, model: str | None
) -> tuple[str | None, dict[str, Any]]:
    """The pipeline to load and its overrides, from the command line's flags.

    Args:
        pipeline: name or file; None means `answer_hybrid` if there is a generator.
        url: URL of the generator; None leaves the pipeline as it is.
        model: its name there.

    Raises:
        LoadingError: as `generator_overrides`.
    """
    if url is None or model is None:
        return pipeline, {}
    name = pipeline or "answer_hybrid"
    return name, generator_overrides(name, url, model)


def generator_overrides(pipeline: str | Path, url: str, model: str) -> dict[str, Any]:
    """Overrides for `load_pipeline` that make a server write a pipeline's answers.

    `timeout` and `max_retries` of a chat generator in the file are kept.

    Args:
        pipeline: name or file.
        url: URL of the API.
        model: its name there.

    Raises:
        LoadingError: there is no such pipeline, it writes no answers, or the URL is not HTTP.
    """
    path = pipeline_file(pipeline)
    for name, kind, parameters in components_in(read_pipeline_file(path)):
        if kind == _GENERATOR:
            generator = chat_generator(url, model)
            of_file = parameters.get("chat_generator")
            kept = of_file.get("init_parameters") if isinstance(of_file, dict) else None
            for key in ("timeout", "max_retries"):
                if isinstance(kept, dict) and key in kept:
                    generator["init_parameters"][key] = kept[key]
            return {f"{name}.chat_generator": generator}
    raise LoadingError(
        f"{path} has no {_GENERATOR.rsplit('.', 1)[1]} and writes no answers. "
        "Ask the pipeline answer_hybrid, or answer where the model has a ranker."
    )
