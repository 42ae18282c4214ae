"""Readers of imported (foreign) models, one class per model head.

A reader converts texts to prompts, and the model's output to predictions. It has a tokenizer and a config, no module.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.errors import InputError
from models.kind import TARGET, TEXT
from models.labs.foreign.reading import texts
from models.labs.foreign.reading.languages import Languages, TranslationPrompt, choice_of, languages_of
from models.labs.foreign.reading.templates import has_template
from models.labs.foreign.reading.texts import Encoded, Marked
from models.labs.foreign.running.positions import Answer, Result, no_losses, predict_tokens
from models.messages import N_, cut, listed, message
from models.prompt import Prompt, TargetPrompt, readable, trailing_space
from models.tasks.base import ROWS, HidesWords, Reader
from models.trace import Output, fixed

MAX_TOKENS = 512  # largest number of tokens of an input text, also for models that could read more


class TextReader(Reader):
    """The reader of a bare encoder, which has no predictions; pages show changes of its last hidden states."""

    title = N_("Vectors")
    auto = "AutoModel"  # the class of transformers that loads the model
    predicts_next = False
    settings: Mapping[str, Any] = {}  # further arguments of the model's forward
    separator = ""  # the token between two texts, for a model whose input is a pair
    examples: tuple[tuple[str, str], ...] = texts.PLAIN

    def __init__(self, name: str, folder: Path, config: Any, longest: int | None, trained_length: int) -> None:
        """Stores the arguments; files are read later."""
        self.name, self.config, self.folder = name, config, folder
        self.longest, self.trained_length = longest, trained_length
        self.limit = min(longest or MAX_TOKENS, MAX_TOKENS)

    @cached_property
    def tokenizer(self) -> Any:
        """The fast tokenizer of transformers; raises ForeignError if there is none."""
        return texts.tokenizer_of(self.folder, self.config.model_type)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The text of each token id."""
        return texts.pieces_of(self.tokenizer, self.vocabulary)

    @cached_property
    def vocabulary(self) -> int:  # type: ignore[override]  # known from the config
        """The number of rows of the embedding: token ids that the model can read."""
        halves: list[Any] = [getattr(self.config, name, None) for name in ("text_config", "encoder")]
        return int(next((half for half in halves if hasattr(half, "vocab_size")), self.config).vocab_size)

    @cached_property
    def without_token(self) -> list[int]:
        """The rows of the embedding without a token."""
        return texts.without_token(self.tokenizer, self.vocabulary)

    @property
    def controls(self) -> tuple[str, ...]:  # type: ignore[override]  # computed when it is first used
        """Words in a text that the tokenizer converts to control tokens."""
        return tuple(self.tokenizer.all_special_tokens)

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.pieces

    def read(self, text: str, limit: int | None = None) -> Prompt:
        encoded = self.encode(readable(text))
        return self.prompt(encoded, [-1] * len(encoded.ids), text, limit or self.limit)

    def encode(self, text: str) -> Encoded:
        """Returns the tokens with their positions, including the tokens that the tokenizer adds."""
        return texts.encode(self.tokenizer, text)

    def prompt(self, encoded: Encoded, targets: Sequence[int], text: str, limit: int) -> Prompt:
        """Returns the Prompt of a text; tokens over the limit are left out, those that the tokenizer added are kept."""
        first, last = encoded.body
        if first == last:
            raise InputError(message("Type a text"), 0, len(text))
        stop = max(first + 1, min(last, limit - (len(encoded.ids) - last)))
        kept = [*range(stop), *range(last, len(encoded.ids))]
        ids = tuple(encoded.ids[i] for i in kept)
        self._check_rows(encoded, kept)
        targets = self.targets(ids, tuple(targets[i] for i in kept))
        return Prompt(ids, self._tokens(encoded, kept), self.predict_at(ids), targets, last - stop,
                      encoded.stops[stop - 1], self._hints(encoded, range(first, stop), ids))

    def _check_rows(self, encoded: Encoded, kept: Sequence[int]) -> None:
        for i in kept:
            if encoded.ids[i] >= self.vocabulary:
                start, stop = encoded.starts[i], encoded.stops[i]
                raise InputError(message("“{word}” is token {id}, the model has {rows} embeddings: remove the word",
                                         word=encoded.text[start:stop], id=encoded.ids[i], rows=self.vocabulary),
                                 start, max(stop, start + 1))

    def _tokens(self, encoded: Encoded, kept: Sequence[int]) -> tuple[str, ...]:
        """Returns the kept tokens as strings; a ▁ that the visitor typed stays, although it means a space otherwise."""
        labels = texts.written_pieces(self.tokenizer, [encoded.ids[i] for i in kept], self.pieces)
        unknown = self.tokenizer.unk_token_id
        for place, i in enumerate(kept):
            typed = encoded.text[encoded.starts[i]:encoded.stops[i]]
            if encoded.ids[i] == unknown and typed and typed != labels[place]:
                labels[place] = f"{labels[place]} ({typed.strip()})"
            if "▁" in typed and not labels[place].strip():
                labels[place] = typed
        return tuple(labels)

    def _hints(self, encoded: Encoded, body: range, ids: Sequence[int]) -> str:
        """Returns hints about this text for the visitor, in one line."""
        special = set(self.tokenizer.all_special_ids) - {self.tokenizer.mask_token_id}
        typed = dict.fromkeys(encoded.text[encoded.starts[i]:encoded.stops[i]].strip() for i in body
                              if encoded.ids[i] in special)
        controls = set(self.tokenizer.all_special_tokens)
        known: list[str] = [message("“{token}” is read as a control token", token=token)
                            for token in typed if token in controls and token != self.separator]
        if unknown := [f"“{cut(word)}”" for word in typed if word and word not in controls]:
            known.append(message("not in the vocabulary: {words}", words=listed(unknown[:ROWS])))
        known += filter(None, [self.hint(ids), self.space_hint(encoded.text)])
        return listed(known, N_(" · ")) if len(known) > 1 else next(iter(known), "")

    def space_hint(self, text: str) -> str:
        """Returns a hint if a space at the end of the text changes the prediction; else an empty string."""
        return trailing_space(text) if self.writes else ""

    def predict_at(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Returns the positions for which a prediction is shown."""
        return ()

    def targets(self, ids: Sequence[int], hidden: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the target id of each position, -1 without a target; `hidden` are the targets of masked tokens."""
        return hidden

    def hint(self, ids: Sequence[int]) -> str:
        """Returns a suggestion for the visitor."""
        named = (self.config.architectures or [""])[0]
        if self.title != TextReader.title or re.search(r"(Model|Encoder|Tower|Backbone)$|^$", named):
            return ""
        return message("The prediction of {name} is not shown", name=named)

    def logits(self, output: Any) -> Tensor:
        """Returns the logits of a model's output, (B, N, V) or (B, classes)."""
        result: Tensor = output.logits
        return result

    def join(self, tokens: Sequence[str]) -> str:
        return texts.join(tokens, self.tokenizer)

    def bytes_of(self, ids: Sequence[int]) -> Mapping[int, str]:
        raw = (texts.partial_bytes(self.tokenizer, token) for token in self.tokenizer.convert_ids_to_tokens(list(ids)))
        return {place: part.hex(" ") for place, part in enumerate(raw) if part is not None}

    def is_text(self, ids: Sequence[int]) -> tuple[bool, ...]:
        around = set(self.tokenizer.all_special_ids) - {self.tokenizer.mask_token_id}
        return tuple(i not in around for i in ids)

    def inputs(self, prompt: Prompt) -> dict[str, Tensor]:
        """Returns the arguments of the model's forward."""
        ids = torch.tensor([prompt.ids])
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **self.settings}
        if getattr(self.config, "type_vocab_size", 0) > 1 and "token_type_ids" in self.tokenizer.model_input_names:
            # tokens after the first separator belong to the second of two texts
            ends = ids == (-1 if self.tokenizer.sep_token_id is None else self.tokenizer.sep_token_id)
            given["token_type_ids"] = (ends.cumsum(1) - ends.long()).clamp_max(1)
        return given

    def answer(self, prompt: Prompt, result: Result) -> Answer:
        """Returns the Answer of a forward pass over the prompt: here no predictions, and the last hidden states."""
        return Answer((), no_losses(prompt), fixed(result.output.last_hidden_state[0].float().numpy()))

    def rows(self, prompt: Prompt, written: Sequence[int]) -> Mapping[str, tuple[str, ...]]:
        """Returns name of a token sequence -> its tokens; `written` are the ids of the decoder's tokens."""
        return {TEXT: prompt.tokens}


class CausalReader(TextReader):
    """The reader of a causal language model, which predicts the next token after each token."""

    title = N_("Next token")
    auto = "AutoModelForCausalLM"
    predicts_next = True
    writes = True
    settings = {"use_cache": False}
    examples = texts.OPEN

    @cached_property
    def chats(self) -> bool:  # type: ignore[override]  # computed when it is first used
        """True if the tokenizer has a chat template."""
        return has_template(self.tokenizer)

    def predict_at(self, ids: Sequence[int]) -> tuple[int, ...]:
        return (len(ids) - 1,)

    def targets(self, ids: Sequence[int], hidden: tuple[int, ...]) -> tuple[int, ...]:
        return (*ids[1:], -1)

    def answer(self, prompt: Prompt, result: Result) -> Answer:
        return predict_tokens(prompt, result, self.labels)


class MaskedReader(HidesWords, TextReader):
    """The reader of a masked language model: `[word]` masks a word, `[MASK]` is a mask without a target."""

    title = N_("Hidden token")
    auto = "AutoModelForMaskedLM"
    hides = True
    examples = texts.HIDDEN

    def read(self, text: str, limit: int | None = None) -> Prompt:
        mask, unknown = self.tokenizer.mask_token_id, self.tokenizer.unk_token_id
        marked = texts.unmark(readable(text), self.tokenizer.mask_token, self.tokenizer.all_special_tokens)
        hidden = [marked.plain[begin:end] for begin, end in marked.hidden]
        marked, answers = self._cut_out(marked)
        encoded = self.encode(marked.plain)
        ids, targets = list(encoded.ids), [-1] * len(encoded.ids)
        for i in range(*encoded.body):
            start, stop = encoded.starts[i], encoded.stops[i]
            if mask is not None and ids[i] == mask:
                targets[i] = answers.get(start, -1)
            elif start < stop and marked.hides(start, stop):
                # an unknown word has no target, because no model can predict it
                ids[i], targets[i] = mask, -1 if encoded.ids[i] == unknown else encoded.ids[i]
        prompt = self.prompt(replace(encoded, ids=ids), targets, text, limit or self.limit)
        return replace(prompt, read_chars=marked.origin[prompt.read_chars],
                       hint=prompt.hint or self.brackets_hint(hidden))

    def _cut_out(self, marked: Marked) -> tuple[Marked, dict[int, int]]:
        """Masks hidden text that shares a token with visible text, such as the ½ of `2[½]` in BERT."""
        mask = self.tokenizer.mask_token or ""
        encoded = self.encode(marked.plain)
        shared = {span for i in range(*encoded.body) for span in marked.split_by(encoded.starts[i], encoded.stops[i])}
        cut: dict[tuple[int, int], Sequence[int]] = {}
        for begin, end in sorted(shared):
            alone = self.encode(marked.plain[begin:end])
            ids = alone.ids[slice(*alone.body)]
            # SentencePiece begins every text with a space
            after = len(ids) > 1 and not self.pieces[ids[0]].strip() and not marked.plain[begin].isspace()
            cut[begin, end] = ids[1:] if after else ids
        marked, starts = marked.replaced({span: mask * len(ids) for span, ids in cut.items()})
        return marked, {start + k * len(mask): answer for start, ids in zip(starts, cut.values(), strict=True)
                        for k, answer in enumerate(ids) if answer != self.tokenizer.unk_token_id}

    def predict_at(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(i for i, token in enumerate(ids) if token == self.tokenizer.mask_token_id)

    def hint(self, ids: Sequence[int]) -> str:
        if self.tokenizer.mask_token_id in ids:
            return ""
        return message("Nothing is hidden: write [MASK], or put a word in [brackets]")

    def answer(self, prompt: Prompt, result: Result) -> Answer:
        return predict_tokens(prompt, result, self.labels)


class Seq2SeqReader(TextReader):
    """The reader of an encoder-decoder, which generates a translation, a summary or an answer with its decoder."""

    title = N_("Written text")
    auto = "AutoModelForSeq2SeqLM"
    predicts_next = True

    @cached_property
    def languages(self) -> Languages:
        """The languages that can be selected at the start of a text."""
        return languages_of(self.tokenizer)

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override]  # by the languages
        return self.languages.examples or texts.TASKS

    def read(self, text: str, limit: int | None = None) -> Prompt:
        typed = readable(text)
        choice = choice_of(typed, self.languages)
        encoded = self.encode(typed[choice.start:])
        first, last = encoded.body
        ids = [choice.source if choice.source is not None and not first <= i < last and token in
               self.languages.ids.values() else token for i, token in enumerate(encoded.ids)]
        shifted = Encoded(ids, [start + choice.start for start in encoded.starts],
                          [stop + choice.start for stop in encoded.stops], encoded.body, typed)
        prompt = self.prompt(shifted, [-1] * len(ids), text, limit or self.limit)
        if choice.target is None:
            if not self.languages:
                return prompt
            code = self.languages.form.format(min(self.languages.ids))
            return replace(prompt, hint=message("Begin the text with a language, like {code}; the model has {codes}",
                                                code=code, codes=self.languages.some))
        return prompt if self.languages.inline else TranslationPrompt(**vars(prompt), first=choice.target)

    def first_token(self, prompt: Prompt, default: int | None) -> int | None:
        """Returns the id of the token with which the decoder must start; None if the first token is not forced."""
        if isinstance(prompt, TranslationPrompt):
            return prompt.first
        begun = prompt.target[1:2] if isinstance(prompt, TargetPrompt) and not self.languages.inline else ()
        return begun[0] if begun and begun[0] in self.languages.ids.values() else default

    def rows(self, prompt: Prompt, written: Sequence[int]) -> Mapping[str, tuple[str, ...]]:
        return {TEXT: prompt.tokens, TARGET: tuple(texts.written_pieces(self.tokenizer, written, self.pieces))}

    def headline(self, output: Output, token: str) -> str:
        return message("After “{token}”", token=token.strip()) if token.strip() else message("Next token")

    @property
    def target_vocabulary(self) -> int:
        """The number of rows of the decoder's embedding."""
        decoder: Any = getattr(self.config, "decoder", None) or self.config
        own: Any = getattr(decoder, "decoder_vocab_size", None) or getattr(decoder, "vocab_size", None)
        return int(own or self.vocabulary)

    def wrote(self, ids: Sequence[int]) -> str:
        """Returns the text of these token ids."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True)).strip()

    def answer_row(self, written: Sequence[int], logits: Tensor) -> tuple[Output, ...]:
        """Returns the predictions from logits (N, V) after each decoder token."""
        after = logits.softmax(-1).numpy()
        return tuple(Output(i, fixed(after[i].copy()), self.labels, written[i + 1] if i + 1 < len(written) else -1,
                            TARGET) for i in range(len(written)))
