"""TolerantChatGenerator: a chat generator that may be missing, late or broken."""

import asyncio
import math
import threading
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import openai
from haystack import component, default_from_dict, default_to_dict, logging
from haystack.components.generators.chat.types import ChatGenerator
from haystack.dataclasses import ChatMessage

logger = logging.getLogger(__name__)

Outcome = dict[str, Any]


@component
class TolerantChatGenerator:
    """Asks a chat generator, and says so where that fails: what was retrieved is answered anyway.

    ```python
    from haystack.components.generators.chat import MockChatGenerator
    from haystack.dataclasses import ChatMessage

    from components.generators.tolerant import TolerantChatGenerator

    generator = TolerantChatGenerator(MockChatGenerator("Yes [1]."))
    generator.run([ChatMessage.from_user("May I?")])["replies"][0].text
    ```

    Nothing is generated without a generator, which is the default.
    """

    def __init__(
        self, chat_generator: ChatGenerator | None = None, time_limit: float = 60.0
    ) -> None:
        """Keep the parameters; nothing is connected.

        Args:
            chat_generator: Haystack's `OpenAIChatGenerator`, with `api_base_url` for Ollama, vLLM,
                a llama.cpp server or another that speaks its protocol; or any other chat generator
                of Haystack's. None generates nothing.
            time_limit: seconds that one reply may take in all, with retries.

        Raises:
            ValueError: the time limit is not above 0.
        """
        self.chat_generator = chat_generator
        self.time_limit = time_limit
        if not 0 < time_limit < math.inf:
            raise ValueError(
                f"TolerantChatGenerator.time_limit must be seconds above 0, got {time_limit}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(self, chat_generator=self.chat_generator, time_limit=self.time_limit)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "TolerantChatGenerator":
        """The component that `to_dict` described."""
        # The from_dict of a generator may change what it is given.
        return default_from_dict(cls, deepcopy(data))

    @component.output_types(replies=list[ChatMessage], failure=str)
    def run(self, messages: list[ChatMessage]) -> Outcome:
        """Ask the generator.

        Args:
            messages: what it is told; none asks nothing.

        Returns:
            `replies`: one at most, whole and not empty.
            `failure`: what went wrong, "" where nothing did.
        """
        generator = self.chat_generator
        if generator is None or not messages:
            return _outcome()
        return self._in_time(lambda: generator.run(messages=messages))

    @component.output_types(replies=list[ChatMessage], failure=str)
    async def run_async(self, messages: list[ChatMessage]) -> Outcome:
        """`run` without holding up the event loop."""
        generator = self.chat_generator
        if generator is None or not messages:
            return _outcome()
        if not hasattr(generator, "run_async"):
            return await asyncio.to_thread(self.run, messages)
        try:
            asked = generator.run_async(messages=messages)
            given = await asyncio.wait_for(asked, self.time_limit)
        except Exception as error:  # noqa: BLE001 - see run
            return self._failed(error)
        return _checked(given)

    def _in_time(self, ask: Callable[[], dict[str, Any]]) -> Outcome:
        """The outcome of asking, or that it took too long."""
        outcome: list[Outcome] = []

        def work() -> None:
            try:
                outcome.append(_checked(ask()))
            except Exception as error:  # noqa: BLE001 - no generator's fault may cost the articles
                outcome.append(self._failed(error))

        # A generator cannot be interrupted; a thread that nobody waits for does not hold up the end
        # of the process either.
        thread = threading.Thread(target=work, daemon=True, name="chat-generator")
        thread.start()
        thread.join(self.time_limit)
        return outcome[0] if outcome else self._failed(TimeoutError())

    def _failed(self, error: Exception) -> Outcome:
        # An error's own words may hold the question, or a key.
        logger.warning("The chat generator failed with {kind}.", kind=type(error).__name__)
        return _outcome(failure=self._described(error))

    def _described(self, error: Exception) -> str:
        if isinstance(error, (TimeoutError, openai.APITimeoutError)):
            return f"the generator did not reply in time ({self.time_limit:g} s)"
        if isinstance(error, openai.APIStatusError):
            return f"the generator refused or failed (HTTP status {error.status_code})"
        if isinstance(error, openai.APIConnectionError):
            return "the generator cannot be reached"
        return f"the generator failed ({type(error).__name__})"


def _checked(given: dict[str, Any]) -> Outcome:
    replies: list[ChatMessage] = given.get("replies") or []
    if not replies or not (replies[0].text or "").strip():
        return _outcome(failure="the generator's reply is empty")
    meta = replies[0].meta
    if "finish_reason" in meta and meta["finish_reason"] is None:
        return _outcome(failure="the generator's reply broke off")
    if meta.get("finish_reason") == "length":
        return _outcome(failure="the generator's reply was cut off at its longest length")
    return _outcome([replies[0]])


def _outcome(replies: list[ChatMessage] | None = None, failure: str = "") -> Outcome:
    return {"replies": replies or [], "failure": failure}
