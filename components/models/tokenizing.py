"""Cutting texts into passages with a model's own tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from components.models.errors import ModelError
from components.models.passages import Passages

_PROBE = "law"


class PassageTokenizer:
    """A model's tokenizer without its habits of cutting and padding, safe to share by threads.

    A Hugging Face tokenizer sets its length limit on each call, in the one object that all threads
    share; this is a private copy without any, and the cutting is done here.

    Args:
        tokenizer: The model's tokenizer.

    Attributes:
        fast: The copy; None where the model has a tokenizer in Python only.

    Raises:
        ModelError: It puts something else than special tokens in front and behind, or needs token
            types.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._slow = tokenizer
        self.fast: Tokenizer | None = None
        if getattr(tokenizer, "is_fast", False):
            self.fast = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
            self.fast.no_truncation()
            self.fast.no_padding()
        self.prefix, self.suffix = _special_tokens(tokenizer)
        pad = tokenizer.pad_token_id
        self.pad_id = int(pad) if pad is not None else 0

    @property
    def special_tokens(self) -> int:
        """Number of tokens that the model puts around every text."""
        return len(self.prefix) + len(self.suffix)

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, uncut, without special tokens."""
        if self.fast is not None:
            encodings = self.fast.encode_batch_fast(list(texts), add_special_tokens=False)
            return [encoding.ids for encoding in encodings]
        return [
            self._slow.encode(text, add_special_tokens=False, truncation=False, verbose=False)
            for text in texts
        ]

    def passages(
        self, texts: Sequence[str], *, passage_tokens: int, max_passages: int = 1, prompt: str = ""
    ) -> Passages:
        """Cut texts into passages of at most `passage_tokens` tokens, each complete in itself.

        Every passage carries the special tokens and the prompt. What lies beyond `max_passages`
        passages is left out, and counted in the result.

        Args:
            texts: What to encode.
            passage_tokens: Longest passage, special tokens and prompt included.
            max_passages: Passages a text may have.
            prompt: Written before each text.

        Raises:
            ModelError: Special tokens and prompt leave no room for a text.
        """
        prompt_ids, pooled_over = self._prompt(prompt)
        opening = [*self.prefix, *prompt_ids]
        room = passage_tokens - len(opening) - len(self.suffix)
        if room < 1:
            raise ModelError(
                f"passages of {passage_tokens} tokens leave no room beside the prompt {prompt!r} "
                f"and {self.special_tokens} special tokens. Take longer passages."
            )
        ids: list[int] = []
        starts = [0]
        per_text, text_tokens, kept_tokens = [], [], []
        for whole in self.token_ids([prompt + text for text in texts] if prompt else texts):
            body = whole[len(prompt_ids) :] if prompt_ids else whole
            kept = min(len(body), room * max_passages)
            for start in range(0, max(kept, 1), room):
                ids += opening
                ids += body[start : min(start + room, kept)]
                ids += self.suffix
                starts.append(len(ids))
            per_text.append(max(1, -(-kept // room)))
            text_tokens.append(len(body))
            kept_tokens.append(kept)
        return Passages(
            ids=np.array(ids, np.int32),
            starts=np.array(starts, np.int64),
            per_text=np.array(per_text, np.int64),
            text_tokens=np.array(text_tokens, np.int64),
            kept_tokens=np.array(kept_tokens, np.int64),
            prompt_tokens=pooled_over,
            pad_id=self.pad_id,
        )

    def _prompt(self, prompt: str) -> tuple[list[int], int]:
        """The prompt's ids in front of a text, and how many tokens pooling may leave out.

        A prompt's last token can merge with the text ("query: " ends in a space): only what a lone
        prompt and a prompt with a text have in common is repeated before each passage. Pooling
        without the prompt counts the lone one, as sentence-transformers does.
        """
        if not prompt:
            return [], 0
        alone, before_text = self.token_ids([prompt, prompt + _PROBE])
        shared = 0
        while shared < min(len(alone), len(before_text)) and alone[shared] == before_text[shared]:
            shared += 1
        return alone[:shared], len(self.prefix) + len(alone)


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    body = tokenizer.encode(_PROBE, add_special_tokens=False)
    encoded = tokenizer(_PROBE, return_token_type_ids=True)
    whole = list(encoded["input_ids"])
    if any(encoded.get("token_type_ids", ())):
        raise ModelError(
            f"{type(tokenizer).__name__} marks a single text with token types, which this encoder "
            "does not pass on. Choose a model of another kind (BERT, RoBERTa, MPNet, ...)."
        )
    for start in range(len(whole) - len(body) + 1):
        if whole[start : start + len(body)] == body:
            return whole[:start], whole[start + len(body) :]
    raise ModelError(
        f"{type(tokenizer).__name__} does more to a text than to put special tokens around it. "
        "Choose another model."
    )
